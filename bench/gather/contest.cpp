#include "bench/gather/contest.hpp"

#include <numeric>
#include <unordered_map>

#include "bench/common/all_ranks.hpp"

namespace crossdock::bench::gather {

namespace {

std::vector<double> values_of(rank_t rank, std::size_t size) {
    std::vector<double> values(size);
    for (std::size_t i = 0; i < size; ++i)
        values[i] = static_cast<double>((31 * i + 17 * static_cast<std::size_t>(rank)) % 1009 + 1);
    return values;
}

// This rank's results, from the ids of all.
std::vector<double> sums_of(const communicator& comm, std::span<const count_t> ids) {
    const auto num_ranks = static_cast<std::size_t>(comm.num_ranks());
    std::vector<int> counts(num_ranks), places(num_ranks);
    const int size = checked_cast<int>(ids.size());
    CROSSDOCK_MPI(MPI_Allgather(&size, 1, MPI_INT, counts.data(), 1, MPI_INT, comm.get()));
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    std::vector<count_t> all(static_cast<std::size_t>(places.back() + counts.back()));
    CROSSDOCK_MPI(MPI_Allgatherv(ids.data(), size, MPI_INT64_T, all.data(), counts.data(),
                                 places.data(), MPI_INT64_T, comm.get()));
    std::unordered_map<count_t, double> sums;
    auto id = all.begin();
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
        for (const double value :
             values_of(static_cast<rank_t>(rank), static_cast<std::size_t>(counts[rank])))
            sums[*id++] += value;
    }
    std::vector<double> results;
    for (const count_t own : ids) results.push_back(sums.at(own));
    return results;
}

}  // namespace

std::vector<standing> contest(const context& where, std::span<const count_t> ids,
                              const std::vector<entrant>& entrants,
                              const contest_options& options) {
    const auto& comm = where.comm();
    const auto given = values_of(where.rank(), ids.size());
    const auto expected = sums_of(comm, ids);
    std::vector<standing> standings;
    std::vector<std::unique_ptr<contender>> contenders(entrants.size());
    std::vector<double> values;
    for (const auto& [name, is_baseline, set_up] : entrants) {
        const auto one = set_up(where, ids);
        bool is_right = true;
        do {
            values = given;
            one->combine(values);
            is_right = is_true_on_all(comm, values == expected) && is_right;
        } while (!one->is_settled());
        standings.push_back({name, is_baseline, "", {is_right, {}}, {}, {}});
    }

    const auto restore = [&](std::size_t) { values = given; };
    stopwatch setups(comm, entrants.size(), options.setups);
    setups.time_in_turn(
        [&](std::size_t c) {
            restore(c);
            contenders[c].reset();
        },
        [&](std::size_t c) {
            contenders[c] = entrants[c].set_up(where, ids);
            contenders[c]->combine(values);
        });
    for (const auto& one : contenders)
        while (!one->is_settled()) one->combine(values = given);
    const auto combine = [&](std::size_t c) { contenders[c]->combine(values); };
    stopwatch(comm, entrants.size(), options.warm_ups).time_in_turn(restore, combine);
    stopwatch operations(comm, entrants.size(), options.iterations, options.in_a_row);
    operations.time_in_turn(restore, combine);

    const auto setup_seconds = setups.slowest();
    const auto combine_seconds = operations.slowest();
    for (std::size_t c = 0; c < standings.size(); ++c) {
        const auto sent = contenders[c]->sent();
        const auto sums = sum_over_ranks(
            comm, {sent.messages, sent.items, sent.inter_region_messages, sent.inter_region_items});
        standings[c].found.sent = {sums[0], sums[1], sums[2], sums[3]};
        standings[c].choice = contenders[c]->choice();
        standings[c].setup_seconds = setup_seconds[c];
        standings[c].combine_seconds = combine_seconds[c];
    }
    return standings;
}

}  // namespace crossdock::bench::gather
