#include "bench/exchange/problem.hpp"

namespace crossdock::bench::sparse {

namespace {

std::vector<count_t> sizes(const neighbor_list& list) {
    std::vector<count_t> result;
    for (std::size_t e = 0; e < list.size(); ++e)
        result.push_back(static_cast<count_t>(list[e].size()));
    return result;
}

std::vector<int> as_values(const std::vector<count_t>& counts) {
    std::vector<int> values;
    for (const count_t count : counts) values.push_back(checked_cast<int>(count));
    return values;
}

std::vector<count_t> columns_of(const std::vector<count_t>& indices,
                                const std::vector<count_t>& columns) {
    std::vector<count_t> result;
    for (const count_t index : indices) result.push_back(columns[static_cast<std::size_t>(index)]);
    return result;
}

// Messages that follow each other.
received_messages arrangement(std::vector<rank_t> sources, std::vector<count_t> counts) {
    std::vector<count_t> displacements;
    count_t end = 0;
    for (const count_t count : counts) {
        displacements.push_back(end);
        end += count;
    }
    return {std::move(sources), std::move(counts), std::move(displacements)};
}

}  // namespace

pattern_problem make_pattern_problem(const share& part) {
    const auto& asked = part.exchange.receives;
    const auto& asking = part.exchange.sends;
    return {asked.ranks,
            as_values(sizes(asked)),
            {arrangement(asking.ranks, std::vector<count_t>(asking.size(), 1)),
             as_values(sizes(asking))}};
}

indices_problem make_indices_problem(const share& part) {
    const auto& asked = part.exchange.receives;
    const auto& asking = part.exchange.sends;
    return {
        asked.ranks,
        sizes(asked),
        columns_of(asked.indices, part.slot_columns),
        {arrangement(asking.ranks, sizes(asking)), columns_of(asking.indices, part.item_columns)}};
}

}  // namespace crossdock::bench::sparse
