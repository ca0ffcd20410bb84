#include "bench/array/prepared.hpp"

#include <algorithm>

#include "bench/common/all_ranks.hpp"

namespace crossdock::bench::array {

namespace {

std::vector<value_t> expected_values(const rank_work& work) {
    const auto indices = ends_of(work.edges);
    std::vector<value_t> values(indices.size());
    std::transform(indices.begin(), indices.end(), values.begin(), first_value);
    return values;
}

std::optional<traffic> sent_by_all(const communicator& comm, const std::optional<traffic>& sent) {
    if (!sent) return std::nullopt;
    const auto sums = sum_over_ranks(
        comm, {sent->messages, sent->items, sent->inter_region_messages, sent->inter_region_items});
    return traffic{sums[0], sums[1], sums[2], sums[3]};
}

}  // namespace

std::vector<prepared_standing> contest_prepared(const communicator& comm, const rank_work& work,
                                                const std::vector<prepared_entrant>& entrants,
                                                const contest_options& options) {
    const auto expected = expected_values(work);
    std::vector<value_t> out(expected.size());
    std::vector<std::unique_ptr<prepared_contender>> contenders;
    std::vector<prepared_standing> standings;
    for (const auto& who : entrants) {
        contenders.push_back(who.make(work));
        std::fill(out.begin(), out.end(), value_t{0});
        contenders.back()->set_up();
        contenders.back()->read(out);
        standings.push_back(
            {who,
             {is_true_on_all(comm, out == expected), sent_by_all(comm, contenders.back()->sent())},
             {},
             {}});
    }

    const auto clear = [&](std::size_t c) { contenders[c]->clear(); };
    const auto keep = [](std::size_t) {};
    const auto read = [&](std::size_t c) { contenders[c]->read(out); };
    const auto set_up = [&](std::size_t c) {
        contenders[c]->set_up();
        read(c);
    };
    stopwatch setups(comm, contenders.size(), options.setups);
    setups.time_in_turn(clear, set_up);
    stopwatch(comm, contenders.size(), options.warm_ups).time_in_turn(keep, read);
    stopwatch reads(comm, contenders.size(), options.iterations);
    reads.time_in_turn(keep, read);

    const auto setup_seconds = setups.slowest();
    const auto read_seconds = reads.slowest();
    for (std::size_t c = 0; c < standings.size(); ++c) {
        contenders[c]->close();
        standings[c].setup_seconds = setup_seconds[c];
        standings[c].read_seconds = read_seconds[c];
    }
    return standings;
}

}  // namespace crossdock::bench::array
