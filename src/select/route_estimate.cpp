#include "crossdock/detail/select/route_estimate.hpp"

#include <algorithm>

#include "region_trace.hpp"
#include "route_trace_steps.hpp"
#include "scaled.hpp"

namespace crossdock {

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

class route_estimator::implementation {
  public:
    implementation(const rank_layout& layout, const pattern& p,
                   const std::vector<std::unique_ptr<route>>& candidates, const machine& m,
                   const estimate_options& options)
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

    // Members of the only region have nothing to tell each other.
    std::vector<word_message> send() const {
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

    void receive(const std::vector<word_message>& inbox) {
        region_.add(frame_.here(), own_);
        for (const auto& [member, words] : inbox)
            region_.add(member, member_summary::from_words(words));
        region_.count_different();
        std::size_t first_stage = 0;
        std::size_t next_counterparts = 0;
        for (std::size_t c = 0; c < candidates_.size(); ++c) {
            if (is_by_leaders(*candidates_[c])) region_.share_out(candidates_[c]->max_leaders());
            if (is_by_counterparts(*candidates_[c])) region_.take_forwarded(next_counterparts++);
            prices_.push_back(price(c, first_stage));
            first_stage += trace_[c].sends.size();
        }
    }

    const std::vector<estimated_route>& prices() const { return prices_; }

  private:
    // A candidate, stage by stage; empty where the members of the region know it together only.
    struct route_trace {
        std::vector<traced_stage> sends;
        std::vector<traced_stage> receives;
        receives_by_rank by_counterpart;
    };

    static bool is_by_leaders(const route& r) { return r.trace() == cost_trace::leaders; }
    static bool is_by_counterparts(const route& r) { return r.trace() == cost_trace::counterparts; }

    static stage_items network_items(const traced_stage& sends, const traced_stage& receives) {
        return {{scaled(sends.num_network_items, sends.share()),
                 scaled(receives.num_network_items, receives.share())},
                {sends.num_network_items, receives.num_network_items}};
    }

    route_trace follow(const route& r) const {
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

    // Members of a region together know their part in routes by region: it is no different alone.
    estimated_route price(std::size_t candidate, std::size_t first_stage) const {
        const auto together = price(candidate, first_stage, &stage_items::together,
                                    [](const traced_stage&) { return 1.0; });
        const route& r = *candidates_[candidate];
        if (is_by_leaders(r) || is_by_counterparts(r)) return {together, together};
        return {price(candidate, first_stage, &stage_items::alone,
                      [](const traced_stage& stage) { return stage.share(); }),
                together};
    }

    // The stages of a candidate, which begin at `first_stage` of all; `part_of` says which part of
    // a stage's items counts.
    template <class PartOf>
    std::vector<stage_price> price(std::size_t candidate, std::size_t first_stage,
                                   node_items stage_items::*of_node, PartOf&& part_of) const {
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

    const estimate_frame frame_;
    const std::vector<std::unique_ptr<route>>& candidates_;
    member_summary own_;
    region_summary region_;
    std::vector<route_trace> trace_;  // by candidate, as are prices
    std::vector<estimated_route> prices_;
};

route_estimator::route_estimator(const rank_layout& layout, const pattern& p,
                                 const std::vector<std::unique_ptr<route>>& candidates,
                                 const machine& m, const estimate_options& options)
    : state_(std::make_unique<implementation>(layout, p, candidates, m, options)) {}

route_estimator::~route_estimator() = default;

std::vector<word_message> route_estimator::send() const { return state_->send(); }

void route_estimator::receive(const std::vector<word_message>& inbox) { state_->receive(inbox); }

const std::vector<estimated_route>& route_estimator::prices() const { return state_->prices(); }

}  // namespace crossdock
