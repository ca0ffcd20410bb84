#include "route_estimate.hpp"

#include <algorithm>

namespace crossdock {

namespace {

// A step of an item in a stage.
struct hop {
    rank_t from;
    rank_t to;

    friend auto operator<=>(const hop&, const hop&) = default;
};

// Steps of items in a stage that are alike: as far, in rank numbers.
struct alike_steps {
    locality_level level;
    count_t num_items = 0;
};

// The different steps of a rank's own items, or of the items for it, in a stage.
//
// Each is taken to be a message of one rank, on which these items pass as others' items pass here.
// Of the first stage's sends and the last stage's receives that is so.
struct traced_stage {
    std::vector<alike_steps> steps;
    count_t num_items = 0;          // of all steps
    count_t num_network_items = 0;  // of these, those that go to another node
    std::size_t num_ranks = 1;      // on which they are
    count_t num_asked = 0;          // the items, each for every destination that asks for it
    count_t num_delivered = 0;      // of those for the rank, those that reach it

    // What is left of the items when equal ones travel once.
    double kept() const noexcept {
        return num_asked == 0 ? 1 : static_cast<double>(num_items) / static_cast<double>(num_asked);
    }

    // The part of the items that is on one rank.
    double share() const noexcept {
        return num_ranks == 0 ? 1 : 1 / static_cast<double>(num_ranks);
    }
};

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

// What the rank sends in the stages [0, num_stages).
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

// What the rank receives in all stages.
// @param sends  as `follow_sends` returns it: as many items of others are equal as of its own
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

bool is_by_leaders(const route& r) { return r.trace() == cost_trace::leaders; }
bool is_by_counterparts(const route& r) { return r.trace() == cost_trace::counterparts; }

stage_items network_items(const traced_stage& sends, const traced_stage& receives) {
    return {{scaled(sends.num_network_items, sends.share()),
             scaled(receives.num_network_items, receives.share())},
            {sends.num_network_items, receives.num_network_items}};
}

}  // namespace

std::vector<std::string> candidate_routes(const topology& regions, const machine& m) {
    std::vector<std::string> names;
    for (const auto& entry : registered_routes()) {
        if (entry.candidates == nullptr) {
            names.push_back(entry.example);
            continue;
        }
        for (auto& name : entry.candidates(regions, m.num_cores > 0))
            names.push_back(std::move(name));
    }
    return names;
}

// A candidate, stage by stage; empty where the members of the region know it together only.
struct route_estimator::route_trace {
    std::vector<traced_stage> sends;
    std::vector<traced_stage> receives;
    receives_by_rank by_counterpart;
};

route_estimator::route_estimator(const rank_layout& layout, const pattern& p,
                                 const std::vector<std::unique_ptr<route>>& candidates,
                                 const machine& m, const estimate_options& options)
    : frame_(layout, p, m, options),
      candidates_(candidates),
      own_(summarize_member(frame_)),
      region_(frame_.regions(), p.rank) {
    for (const auto& candidate : candidates_) {
        const auto& followed = trace_.emplace_back(follow(*candidate));
        for (std::size_t t = 0; t < followed.sends.size(); ++t)
            own_.stages.push_back(network_items(followed.sends[t], followed.receives[t]));
    }
}

route_estimator::~route_estimator() = default;

// Members of the only region have nothing to tell each other.
std::vector<word_message> route_estimator::send() const {
    const auto& regions = frame_.regions();
    std::vector<word_message> to_send;
    if (regions.num_regions() == 1) return to_send;
    const region_t region = regions.region_of(frame_.here());
    auto told = own_;
    for (rank_t local = 0; local < regions.region_size(region); ++local) {
        const rank_t member = regions.rank_at(region, local);
        if (member == frame_.here()) continue;
        told.forwarded.clear();
        for (std::size_t c = 0; c < candidates_.size(); ++c) {
            if (!is_by_counterparts(*candidates_[c])) continue;
            const auto found = trace_[c].by_counterpart.find(member);
            const bool has_some = found != trace_[c].by_counterpart.end();
            told.forwarded.push_back(has_some ? found->second : std::vector<counted_items>{});
        }
        to_send.push_back({member, told.to_words()});
    }
    return to_send;
}

void route_estimator::receive(const std::vector<word_message>& inbox) {
    region_.add(frame_.here(), own_);
    for (const auto& [member, words] : inbox)
        region_.add(member, member_summary::from_words(words));
    region_.close();
    std::size_t first_stage = 0;
    std::size_t next_counterparts = 0;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
        if (is_by_leaders(*candidates_[c])) region_.share_out(candidates_[c]->max_leaders());
        if (is_by_counterparts(*candidates_[c])) region_.take_forwarded(next_counterparts++);
        prices_.push_back(price(c, first_stage));
        first_stage += trace_[c].sends.size();
    }
}

route_estimator::route_trace route_estimator::follow(const route& r) const {
    const auto num_stages = static_cast<std::size_t>(r.num_stages());
    route_trace followed;
    if (is_by_counterparts(r)) {
        followed.sends = follow_sends(frame_, r, 1);
        followed.by_counterpart = receives_by_counterpart(frame_, r);
    } else if (!is_by_leaders(r)) {
        followed.sends = follow_sends(frame_, r, r.num_stages());
        followed.receives = follow_receives(frame_, r, followed.sends);
    }
    followed.sends.resize(num_stages);
    followed.receives.resize(num_stages);
    return followed;
}

// The stages of a candidate, which begin at `first_stage` of all; `part_of` says which part of
// a stage's items counts.
template <class PartOf>
std::vector<stage_price> route_estimator::price(std::size_t candidate, std::size_t first_stage,
                                                node_items stage_items::*of_node,
                                                PartOf&& part_of) const {
    const route& r = *candidates_[candidate];
    const auto& [sends, receives, by_counterpart] = trace_[candidate];
    stage_cost loads(frame_, r.num_stages());
    std::vector<node_items> nodes;
    for (std::size_t t = 0; t < sends.size(); ++t) {
        const int stage = static_cast<int>(t);
        for (const auto& [level, num_items] : sends[t].steps)
            loads.add_send(stage, level, scaled(num_items, part_of(sends[t])));
        for (const auto& [level, num_items] : receives[t].steps)
            loads.add_receive(stage, level, scaled(num_items, part_of(receives[t])));
        loads.add_deliveries(stage, receives[t].num_delivered);
        nodes.push_back(region_.stages()[first_stage + t].*of_node);
    }
    if (is_by_leaders(r)) {
        follow_leaders(frame_, region_, loads, nodes[1]);
    } else if (is_by_counterparts(r)) {
        follow_counterparts(frame_, region_, by_counterpart, loads, nodes[0]);
    }
    std::vector<stage_price> prices;
    for (std::size_t t = 0; t < nodes.size(); ++t)
        prices.push_back(
            loads.price(static_cast<int>(t), std::max(nodes[t].sent, nodes[t].received)));
    return prices;
}

// Members of a region together know their part in routes by region: it is no different alone.
estimated_route route_estimator::price(std::size_t candidate, std::size_t first_stage) const {
    const auto together = price(candidate, first_stage, &stage_items::together,
                                [](const traced_stage&) { return 1.0; });
    const route& r = *candidates_[candidate];
    if (is_by_leaders(r) || is_by_counterparts(r)) return {together, together};
    return {price(candidate, first_stage, &stage_items::alone,
                  [](const traced_stage& stage) { return stage.share(); }),
            together};
}

}  // namespace crossdock
