#include "tools/inputs/array/counts.hpp"

#include <algorithm>

namespace crossdock::bench::array {

namespace {

count_t sum_of_stages(const array_statistics& rank, count_t request_stage::*field) {
    count_t sum = 0;
    for (const auto& stage : rank.stages) sum += stage.*field;
    return sum;
}

}  // namespace

void add(array_statistics& total, const array_statistics& batch) {
    total.requests += batch.requests;
    total.combined_locally += batch.combined_locally;
    total.arrived += batch.arrived;
    total.seconds += batch.seconds;
    total.stages.resize(std::max(total.stages.size(), batch.stages.size()));
    for (std::size_t s = 0; s < batch.stages.size(); ++s) {
        total.stages[s].sent += batch.stages[s].sent;
        total.stages[s].received += batch.stages[s].received;
        total.stages[s].combined += batch.stages[s].combined;
        total.stages[s].empty_messages += batch.stages[s].empty_messages;
    }
}

workload_counts count_with(std::size_t num_stages,
                           const std::function<summary(const count_of&)>& over_ranks) {
    using rank = const array_statistics&;
    workload_counts result;
    result.requests = over_ranks([](rank r) { return r.requests; });
    result.combined_locally = over_ranks([](rank r) { return r.combined_locally; });
    result.combined_on_the_way =
        over_ranks([](rank r) { return sum_of_stages(r, &request_stage::combined); });
    result.received = over_ranks([](rank r) { return sum_of_stages(r, &request_stage::received); });
    result.arrived = over_ranks([](rank r) { return r.arrived; });
    for (std::size_t s = 0; s < num_stages; ++s) {
        const auto sent = [&](count_t traffic::*field) {
            return over_ranks([=](rank r) { return r.stages[s].sent.*field; });
        };
        result.stages.push_back(
            {{sent(&traffic::messages), sent(&traffic::items),
              sent(&traffic::inter_region_messages), sent(&traffic::inter_region_items)},
             over_ranks([=](rank r) { return r.stages[s].empty_messages; }),
             over_ranks([=](rank r) { return r.stages[s].received; }),
             over_ranks([=](rank r) { return r.stages[s].combined; })});
    }
    return result;
}

workload_counts count(std::span<const array_statistics> of_ranks) {
    return count_with(of_ranks.front().stages.size(), [&](const count_of& number) {
        std::vector<count_t> per_rank;
        for (const auto& rank : of_ranks) per_rank.push_back(number(rank));
        return summarize(per_rank);
    });
}

}  // namespace crossdock::bench::array
