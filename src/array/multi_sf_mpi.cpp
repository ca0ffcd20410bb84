#include <algorithm>
#include <numeric>

#include "crossdock/detail/array/array_engine_mpi.hpp"
#include "crossdock/sparse_exchange.hpp"

namespace crossdock {

namespace {

// Who wants which entries of this rank, requests in the order of their ranks.
received<count_t> tell_owners(const array_engine& array, const neighbor_list& by_owner,
                              std::span<const count_t> indices) {
    std::vector<count_t> counts;
    std::vector<count_t> wanted;
    for (std::size_t e = 0; e < by_owner.size(); ++e) {
        counts.push_back(static_cast<count_t>(by_owner[e].size()));
        for (const count_t request : by_owner[e])
            wanted.push_back(indices[static_cast<std::size_t>(request)]);
    }
    const variable_messages<count_t> messages{by_owner.ranks, counts, {}, wanted};
    return sparse_exchange(array.where(), messages);
}

neighbor_list group_by_owner(const block_partition& owners, std::span<const count_t> indices) {
    std::vector<count_t> requests(indices.size());
    std::iota(requests.begin(), requests.end(), count_t{0});
    const auto owner_of = [&](count_t request) {
        return owners.owner(indices[static_cast<std::size_t>(request)]);
    };
    std::stable_sort(requests.begin(), requests.end(),
                     [&](count_t a, count_t b) { return owner_of(a) < owner_of(b); });
    neighbor_list result;
    for (auto first = requests.begin(); first != requests.end();) {
        const rank_t owner = owner_of(*first);
        const auto last = std::find_if(first, requests.end(),
                                       [&](count_t request) { return owner_of(request) != owner; });
        result.append(owner, std::span(first, last));
        first = last;
    }
    return result;
}

// By entry, where the positions of its requests begin.
std::vector<count_t> count_by_entry(const std::vector<count_t>& wanted, count_t first_entry,
                                    count_t num_entries) {
    std::vector<count_t> offsets(static_cast<std::size_t>(num_entries) + 1);
    for (const count_t index : wanted) ++offsets[static_cast<std::size_t>(index - first_entry) + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    return offsets;
}

// What came from every source in its order takes the next positions of its entries.
pattern make_pattern(const array_engine& array, neighbor_list&& by_owner,
                     const received<count_t>& came, std::vector<count_t> next_position) {
    const rank_t rank = array.comm().rank();
    pattern result;
    result.rank = rank;
    result.num_ranks = array.comm().num_ranks();
    result.num_items = by_owner.offsets.back();
    result.num_slots = static_cast<count_t>(came.values.size());
    result.sends = std::move(by_owner);
    const count_t first_entry = array.owners().first(rank);
    std::size_t k = 0;
    for (std::size_t m = 0; m < came.sources.size(); ++m) {
        std::vector<count_t> positions;
        for (count_t i = 0; i < came.counts[m]; ++i, ++k)
            positions.push_back(
                next_position[static_cast<std::size_t>(came.values[k] - first_entry)]++);
        result.receives.append(came.sources[m], positions);
    }
    return result;
}

}  // namespace

multi_sf plan_uncombined(const array_engine& array, std::span<const count_t> indices) {
    const rank_t rank = array.comm().rank();
    auto by_owner = group_by_owner(array.owners(), indices);
    const auto came = tell_owners(array, by_owner, indices);
    auto offsets =
        count_by_entry(came.values, array.owners().first(rank), array.owners().size(rank));
    const auto p = make_pattern(array, std::move(by_owner), came, offsets);
    return {std::move(offsets), neighbor_exchange(array.where(), p, array.exchange_options())};
}

}  // namespace crossdock
