#include "bench/array/combining_rate.hpp"

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "crossdock/distributed_array.hpp"

namespace crossdock::bench::array {

namespace {

using entry = std::uint32_t;
using small_array = distributed_array<entry>;

// The n of which m draws are expected to hit n (1 - (1 - 1/n)^m) = (1 - duplicates) m different ones.
count_t entries_for(count_t num_requests, double duplicates) {
    const auto m = static_cast<double>(num_requests);
    const auto expected_share = [&](double n) {
        return -n * std::expm1(m * std::log1p(-1 / n)) / m;
    };
    double least = 1 + 1e-9;
    double most = 1e6 * m;
    for (int halving = 0; halving < 100; ++halving) {
        const double middle = std::sqrt(least * most);
        (expected_share(middle) < 1 - duplicates ? least : most) = middle;
    }
    return std::max<count_t>(1, std::llround(most));
}

std::vector<count_t> draw(count_t num_requests, count_t num_entries, count_t stride) {
    std::mt19937_64 generator(1);
    std::vector<count_t> indices;
    for (count_t k = 0; k < num_requests; ++k) {
        indices.push_back(
            stride * static_cast<count_t>(generator() % static_cast<std::uint64_t>(num_entries)));
    }
    return indices;
}

count_t count_distinct(std::vector<count_t> indices) {
    std::sort(indices.begin(), indices.end());
    return std::unique(indices.begin(), indices.end()) - indices.begin();
}

// Entry i is i.
small_array make_array(const communicator& comm, count_t num_entries, combining strategy) {
    small_array result(context(comm, topology::one_region(comm.num_ranks())), num_entries,
                       {.combine = {strategy, true, true}});
    std::iota(result.local().begin(), result.local().end(), entry{0});
    return result;
}

}  // namespace

rate_result measure_combining(const communicator& comm, const std::vector<combining>& strategies,
                              const rate_options& options) {
    rate_result result;
    const count_t num_drawn_from = entries_for(options.num_requests, options.duplicates);
    result.num_entries = num_drawn_from * options.stride;
    const auto indices = draw(options.num_requests, num_drawn_from, options.stride);
    result.num_distinct = count_distinct(indices);
    const std::vector<entry> expected(indices.begin(), indices.end());
    std::vector<entry> out(indices.size());

    std::vector<small_array> arrays;
    for (const combining strategy : strategies) {
        arrays.push_back(make_array(comm, result.num_entries, strategy));
        arrays.back().read(indices, std::span(out));
        result.rates.push_back({strategy, out == expected, {}, {}});
        std::fill(out.begin(), out.end(), entry{0});
    }

    // The last contender is memcpy.
    const std::size_t num_contenders = arrays.size() + 1;
    std::vector<std::vector<double>> combine_seconds(arrays.size());
    const auto prepare = [](std::size_t) {};
    const auto run = [&](std::size_t c) {
        if (c == arrays.size()) {
            std::memcpy(out.data(), expected.data(), expected.size() * sizeof(entry));
        } else {
            arrays[c].read(indices, std::span(out));
            combine_seconds[c].push_back(arrays[c].statistics().seconds.combine_locally);
        }
    };
    stopwatch(comm, num_contenders, options.warm_ups).time_in_turn(prepare, run);
    for (auto& series : combine_seconds) series.clear();
    stopwatch reads(comm, num_contenders, options.iterations);
    reads.time_in_turn(prepare, run);

    const auto seconds = reads.slowest();
    result.memcpy_seconds = seconds.back();
    for (std::size_t c = 0; c < arrays.size(); ++c) {
        result.rates[c].combine_seconds =
            slowest_of(comm, combine_seconds[c], combine_seconds[c].size()).front();
        result.rates[c].read_seconds = seconds[c];
        arrays[c].close();
    }
    return result;
}

}  // namespace crossdock::bench::array
