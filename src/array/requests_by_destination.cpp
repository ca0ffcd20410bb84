#include "requests_by_destination.hpp"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "../base/reserve_allocator.hpp"

namespace crossdock {

namespace {

// Which of a stage's destinations a request for an owner goes to; their number if it stays.
class destination_finder {
  public:
    destination_finder(const batch_route& routing, std::size_t stage)
        : routing_(routing), stage_(stage) {}

    std::size_t num_destinations() const { return destinations().size(); }

    std::size_t of(rank_t owner) const {
        const rank_t here = routing_.here;
        const rank_t next = owner == here ? owner
                                          : routing_.r->next_hop(
                                                here, owner, static_cast<int>(stage_), no_leaders_);
        if (next == here) return num_destinations();
        const auto found = std::lower_bound(destinations().begin(), destinations().end(), next);
        return static_cast<std::size_t>(found - destinations().begin());
    }

  private:
    const std::vector<rank_t>& destinations() const { return routing_.stages[stage_].destinations; }

    const batch_route& routing_;
    std::size_t stage_;
    leader_table no_leaders_;
};

// Remembers them: in a table by owner where that is no longer than the requests.
class destination_table {
  public:
    destination_table(const destination_finder& finder, rank_t num_ranks, std::size_t num_requests)
        : finder_(finder) {
        const auto num_owners = static_cast<std::size_t>(num_ranks);
        if (num_owners <= num_requests) by_owner_.assign(num_owners, unknown);
    }

    position_t of(rank_t owner) {
        position_t& d = by_owner_.empty() ? some_.try_emplace(owner, unknown).first->second
                                          : by_owner_[static_cast<std::size_t>(owner)];
        if (d == unknown) d = static_cast<position_t>(finder_.of(owner));
        return d;
    }

  private:
    static constexpr position_t unknown = std::numeric_limits<position_t>::max();

    const destination_finder& finder_;
    std::vector<position_t> by_owner_;
    absl::flat_hash_map<rank_t, position_t, absl::Hash<rank_t>, std::equal_to<>,
                        reserve_allocator<std::pair<const rank_t, position_t>>>
        some_;
};

}  // namespace

void requests_by_destination::append(std::size_t d, const position_range& range) {
    auto& ranges = ranges_[d];
    if (!ranges.empty() && ranges.back().first + ranges.back().length == range.first) {
        ranges.back().length += range.length;
    } else {
        ranges.push_back(range);
    }
}

// An owner's entries are one stretch of what is sorted.
template <class Index>
requests_by_destination requests_by_destination::of_sorted(const batch_route& routing,
                                                           std::size_t stage,
                                                           std::span<const Index> indices) {
    const destination_finder finder(routing, stage);
    requests_by_destination result(finder.num_destinations());
    for (auto first = indices.begin(); first != indices.end();) {
        const rank_t owner = routing.owners.owner(static_cast<count_t>(*first));
        const count_t end = routing.owners.first(owner + 1);
        const auto last = std::partition_point(
            first, indices.end(), [&](Index index) { return static_cast<count_t>(index) < end; });
        result.append(finder.of(owner), {static_cast<std::size_t>(first - indices.begin()),
                                         static_cast<std::size_t>(last - first)});
        first = last;
    }
    return result;
}

template <class Index>
requests_by_destination requests_by_destination::group(const batch_route& routing,
                                                       std::size_t stage,
                                                       combined_requests<Index>& held,
                                                       std::pmr::memory_resource* memory) {
    const auto& indices = held.indices();
    const destination_finder finder(routing, stage);
    destination_table table(finder, routing.owners.num_ranks(), indices.size());
    raw_vector<position_t> positions(indices.size(), memory);
    std::vector<position_t> next(finder.num_destinations() + 1);
    // In two loops, so that neither waits for the other's chain.
    for (std::size_t i = 0; i < indices.size(); ++i)
        positions[i] =
            static_cast<position_t>(routing.owners.owner(static_cast<count_t>(indices[i])));
    for (position_t& position : positions) {
        position = table.of(static_cast<rank_t>(position));
        ++next[position];
    }
    requests_by_destination result(finder.num_destinations());
    position_t first = 0;
    for (std::size_t d = 0; d < next.size(); ++d) {
        const position_t length = next[d];
        if (length > 0) result.append(d, {first, length});
        next[d] = first;
        first += length;
    }
    for (position_t& position : positions) position = next[position]++;
    held.rearrange(std::move(positions));
    return result;
}

template requests_by_destination requests_by_destination::of_sorted(const batch_route&, std::size_t,
                                                                    std::span<const std::uint32_t>);
template requests_by_destination requests_by_destination::of_sorted(const batch_route&, std::size_t,
                                                                    std::span<const std::uint64_t>);
template requests_by_destination requests_by_destination::group(const batch_route&, std::size_t,
                                                                combined_requests<std::uint32_t>&,
                                                                std::pmr::memory_resource*);
template requests_by_destination requests_by_destination::group(const batch_route&, std::size_t,
                                                                combined_requests<std::uint64_t>&,
                                                                std::pmr::memory_resource*);

}  // namespace crossdock
