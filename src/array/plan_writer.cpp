#include "plan_writer.hpp"

#include <algorithm>
#include <numeric>

#include "entry_owner.hpp"

namespace crossdock {

namespace {

using position_list = std::vector<count_t>;  // of the plan: where values lie while it runs

constexpr count_t most_positions_per_delivery = 4;  // for a table of positions

// Slot s wants positions[s].
std::vector<delivery> unsorted_deliveries(const position_list& positions) {
    std::vector<delivery> deliveries;
    deliveries.reserve(positions.size());
    for (const count_t position : positions)
        deliveries.push_back({position, static_cast<count_t>(deliveries.size())});
    return deliveries;
}

// Sorted by position, in linear time unless most positions of a large part are of no request.
std::vector<delivery> deliveries_of(const position_list& positions, count_t num_positions) {
    auto deliveries = unsorted_deliveries(positions);
    const auto by_position = [](const auto& a, const auto& b) { return a.position < b.position; };
    if (num_positions > most_positions_per_delivery * std::ssize(deliveries)) {
        std::stable_sort(deliveries.begin(), deliveries.end(), by_position);
        return deliveries;
    }
    std::vector<std::size_t> next(static_cast<std::size_t>(num_positions) + 1);
    for (const count_t position : positions) ++next[static_cast<std::size_t>(position) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<delivery> sorted(deliveries.size());
    for (const auto& one : deliveries) sorted[next[static_cast<std::size_t>(one.position)]++] = one;
    return sorted;
}

// Walks from the owner's hop back to hop 0. Invariant: `of_held_` has the plan's position of the
// value for everything that is held at the hop behind, and the plan so far has `num_positions_`
// positions.
template <class Index>
class plan_writer {
  public:
    plan_writer(const batch_route& routing, std::span<const held_requests<Index>> hops)
        : routing_(routing),
          hops_(hops),
          owner_(routing.here, routing.owners.first(routing.here)),
          num_positions_(routing.owners.size(routing.here)) {}

    void write(plan::contents& result) {
        result.stages.resize(routing_.num_stages());
        for (std::size_t s = routing_.num_stages(); s-- > 0;)
            write_stage(s, result.stages[routing_.num_stages() - 1 - s]);
        result.deliveries = deliveries_of(positions_of(0, 0), num_positions_);
    }

  private:
    // What came from a source goes back there; what stayed or went to a destination comes from
    // there.
    void write_stage(std::size_t s, plan_stage& stage) {
        const auto& [destinations, sources] = routing_.stages[s];
        for (std::size_t i = 0; i < sources.size(); ++i) {
            auto positions = positions_of(s + 1, i + 1);
            if (!positions.empty()) stage.sends.push_back({sources[i], std::move(positions)});
        }
        const auto& hop = hops_[s];
        const auto stayed = positions_of(s + 1, 0);
        of_held_.assign(static_cast<std::size_t>(hop.held().size()), 0);
        auto next_stayed = stayed.begin();
        for_each_position(hop.outgoing().staying(), [&](count_t& of) { of = *next_stayed++; });
        for (std::size_t d = 0; d < destinations.size(); ++d) {
            const auto num_received = static_cast<count_t>(hop.num_requests(d));
            if (num_received == 0) continue;
            stage.receives.push_back({destinations[d], num_positions_, num_received});
            for_each_position(hop.outgoing().to(d), [&](count_t& of) { of = num_positions_++; });
        }
    }

    template <class Use>
    void for_each_position(std::span<const position_range> ranges, Use&& use) {
        for (const auto& [first, length] : ranges) {
            for (std::size_t k = 0; k < length; ++k) use(of_held_[first + k]);
        }
    }

    // Of the values for one list's requests.
    position_list positions_of(std::size_t h, std::size_t list) const {
        position_list positions;
        const auto indices = hops_[h].lists()[list].indices;
        positions.reserve(indices.size());
        if (h == routing_.num_stages()) {
            owner_.append_offsets(indices, positions);
            return positions;
        }
        hops_[h].held().for_each_stretch(list, indices,
                                         [&](std::size_t, std::span<const position_t> in_held) {
                                             for (const position_t position : in_held)
                                                 positions.push_back(of_held_[position]);
                                         });
        return positions;
    }

    const batch_route& routing_;
    std::span<const held_requests<Index>> hops_;
    entry_owner<Index> owner_;
    count_t num_positions_;
    position_list of_held_;
};

}  // namespace

template <class Index>
plan write_plan(const batch_route& routing, const request_traits& kind,
                std::span<const held_requests<Index>> hops) {
    plan::contents result;
    result.rank = routing.here;
    result.num_ranks = routing.regions.num_ranks();
    result.route_name = routing.r->name();
    result.is_deduplicated =
        kind.combine.strategy != combining::none && kind.combine.locally && kind.combine.on_the_way;
    result.num_items = routing.owners.size(routing.here);
    result.num_slots = hops.front().num_taken();
    plan_writer<Index>(routing, hops).write(result);
    return plan(std::move(result));
}

template plan write_plan(const batch_route&, const request_traits&,
                         std::span<const held_requests<std::uint32_t>>);
template plan write_plan(const batch_route&, const request_traits&,
                         std::span<const held_requests<std::uint64_t>>);

}  // namespace crossdock
