#include "route_trace_steps.hpp"

#include <map>
#include <set>

#include "scaled.hpp"

namespace crossdock {

namespace {

// The steps of a stage, by how far the rank numbers are apart.
class step_collector {
  public:
    explicit step_collector(const rank_layout& layout) : layout_(layout) {}

    void add(const hop& at, count_t num_items) {
        const auto level = layout_.level_of(at.from, at.to);
        const auto [entry, is_new] = steps_.try_emplace(at.to - at.from, alike_steps{level});
        entry->second.num_items += num_items;
    }

    // `factor`: what is left of all items.
    traced_stage take(std::size_t num_ranks, double factor) const {
        traced_stage stage;
        for (const auto& [distance, one] : steps_) {
            const count_t num_items = scaled(one.num_items, factor);
            stage.steps.push_back({one.level, num_items});
            stage.num_items += num_items;
            if (one.level == locality_level::network) stage.num_network_items += num_items;
        }
        stage.num_ranks = num_ranks;
        return stage;
    }

  private:
    const rank_layout& layout_;
    std::map<rank_t, alike_steps> steps_;
};

}  // namespace

std::vector<traced_stage> follow_sends(const estimate_frame& frame, const route& r,
                                       int num_stages) {
    const leader_table none;
    const auto& destinations = frame.sends.ranks();
    std::vector<traced_stage> stages;
    std::vector<hop> hops(destinations.size(), {frame.here(), frame.here()});
    for (int t = 0; t < num_stages; ++t) {
        std::set<rank_t> senders;
        count_t num_asked = 0;
        for (std::size_t e = 0; e < hops.size(); ++e) {
            hops[e] = {hops[e].to, r.next_hop(hops[e].to, destinations[e], t, none)};
            if (hops[e].from == hops[e].to) continue;
            senders.insert(hops[e].from);
            num_asked += frame.sends.num_items(e);
        }
        step_collector steps(frame.layout);
        for (const auto& [at, num_items] : frame.sends.by_key(hops)) {
            if (at.from != at.to) steps.add(at, num_items);
        }
        stages.push_back(steps.take(senders.size(), 1));
        stages.back().num_asked = num_asked;
    }
    return stages;
}

std::vector<traced_stage> follow_receives(const estimate_frame& frame, const route& r,
                                          const std::vector<traced_stage>& sends) {
    const leader_table none;
    std::vector<traced_stage> stages;
    std::vector<rank_t> here = frame.receives.ranks();
    for (int t = 0; t < r.num_stages(); ++t) {
        std::set<rank_t> receivers;
        step_collector steps(frame.layout);
        count_t num_delivered = 0;
        for (std::size_t e = 0; e < here.size(); ++e) {
            const hop at{here[e], r.next_hop(here[e], frame.here(), t, none)};
            here[e] = at.to;
            const bool was_here = at.from == frame.here() && t > 0;
            if (at.to == frame.here() && !was_here) num_delivered += frame.receives.num_items(e);
            if (at.from == at.to) continue;
            steps.add(at, frame.receives.num_items(e));
            receivers.insert(at.to);
        }
        stages.push_back(steps.take(receivers.size(), sends[static_cast<std::size_t>(t)].kept()));
        stages.back().num_delivered = num_delivered;
    }
    return stages;
}

}  // namespace crossdock
