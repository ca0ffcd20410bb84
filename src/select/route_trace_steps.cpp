#include "route_trace_steps.hpp"

#include <algorithm>

#include "scaled.hpp"

namespace crossdock {

namespace {

// The steps of a stage, by how far the rank numbers are apart.
class step_collector {
  public:
    explicit step_collector(const rank_layout& layout) : layout_(layout) {}

    void add(const hop& at, count_t num_items) { added_.push_back({at, num_items}); }

    // `factor`: what is left of all items.
    traced_stage take(double factor) {
        const auto distance_of = [](const step& one) { return one.at.to - one.at.from; };
        std::ranges::stable_sort(added_, {}, distance_of);
        traced_stage stage;
        for (auto next = added_.begin(); next != added_.end();) {
            const step& first = *next;
            alike_steps alike{layout_.level_of(first.at.from, first.at.to)};
            for (; next != added_.end() && distance_of(*next) == distance_of(first); ++next)
                alike.num_items += next->num_items;
            alike.num_items = scaled(alike.num_items, factor);
            stage.steps.push_back(alike);
            stage.num_items += alike.num_items;
            if (alike.level == locality_level::network) stage.num_network_items += alike.num_items;
        }
        return stage;
    }

  private:
    struct step {
        hop at;
        count_t num_items;
    };

    const rank_layout& layout_;
    std::vector<step> added_;
};

std::size_t count_different(std::vector<rank_t>& ranks) {
    std::ranges::sort(ranks);
    return ranks.size() - std::ranges::unique(ranks).size();
}

}  // namespace

std::vector<traced_stage> follow_sends(const estimate_frame& frame, const route& r,
                                       int num_stages) {
    const leader_table none;
    const auto& destinations = frame.sends.ranks();
    std::vector<traced_stage> stages;
    std::vector<hop> hops(destinations.size(), {frame.here(), frame.here()});
    for (int t = 0; t < num_stages; ++t) {
        std::vector<rank_t> senders;
        count_t num_asked = 0;
        for (std::size_t e = 0; e < hops.size(); ++e) {
            hops[e] = {hops[e].to, r.next_hop(hops[e].to, destinations[e], t, none)};
            if (hops[e].from == hops[e].to) continue;
            senders.push_back(hops[e].from);
            num_asked += frame.sends.num_items(e);
        }
        step_collector steps(frame.layout);
        for (const auto& [at, num_items] : frame.sends.by_key(hops)) {
            if (at.from != at.to) steps.add(at, num_items);
        }
        stages.push_back(steps.take(1));
        stages.back().num_ranks = count_different(senders);
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
        std::vector<rank_t> receivers;
        step_collector steps(frame.layout);
        count_t num_delivered = 0;
        for (std::size_t e = 0; e < here.size(); ++e) {
            const hop at{here[e], r.next_hop(here[e], frame.here(), t, none)};
            here[e] = at.to;
            const bool was_here = at.from == frame.here() && t > 0;
            if (at.to == frame.here() && !was_here) num_delivered += frame.receives.num_items(e);
            if (at.from == at.to) continue;
            steps.add(at, frame.receives.num_items(e));
            receivers.push_back(at.to);
        }
        stages.push_back(steps.take(sends[static_cast<std::size_t>(t)].kept()));
        stages.back().num_ranks = count_different(receivers);
        stages.back().num_delivered = num_delivered;
    }
    return stages;
}

}  // namespace crossdock
