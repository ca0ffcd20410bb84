#include "crossdock/select/route_estimate.hpp"

#include <algorithm>
#include <bit>

#include "crossdock/route/two_step.hpp"
#include "followed_regions.hpp"
#include "followed_steps.hpp"

namespace crossdock {

namespace {

constexpr int most_grid_dimensions = 4;

}  // namespace

std::vector<std::string> candidate_routes(const topology& regions) {
    std::vector<std::string> names{"direct"};
    const rank_t num_ranks = regions.num_ranks();
    const region_t num_regions = regions.num_regions();
    if (num_regions > 1 && num_regions < num_ranks) {
        names.insert(names.end(), {"two_step", "three_step"});
        // Fewer regions than these are no different in so many dimensions.
        if (num_regions > 4) names.push_back("locality:2");
        if (num_regions > 27) names.push_back("locality:3");
    }
    // As many dimensions as bits are the hypercube.
    const int num_bits = std::bit_width(static_cast<unsigned>(num_ranks - 1));
    for (int n = 2; n <= most_grid_dimensions && n < num_bits; ++n)
        names.push_back("grid:" + std::to_string(n));
    if (num_bits > 1) names.push_back("hypercube");
    return names;
}

class route_estimator::implementation {
  public:
    implementation(const rank_layout& layout, const pattern& p,
                   const std::vector<std::unique_ptr<route>>& candidates, const machine& m,
                   const estimate_options& options)
        : frame_{layout, p, m, options},
          candidates_(candidates),
          own_(summarize_member(frame_.regions(), p, options.deduplicate)),
          region_(frame_.regions(), frame_.regions().region_of(p.rank)) {
        for (const auto& candidate : candidates_) {
            const int num_stages = candidate->num_stages();
            auto& loads = loads_.emplace_back(frame_, num_stages);
            if (is_by_counterparts(*candidate)) {
                follow_sends(frame_, *candidate, 1, loads);
            } else if (!is_by_speakers(*candidate)) {
                const auto kept = follow_sends(frame_, *candidate, num_stages, loads);
                follow_receives(frame_, *candidate, kept, loads);
            }
            for (const auto& stage : loads.stages())
                own_.stages.push_back({stage.network_bytes_sent(), stage.network_bytes_received()});
        }
    }

    std::vector<word_message> send() const {
        const auto words = own_.to_words();
        const auto& regions = frame_.regions();
        const region_t region = regions.region_of(frame_.here());
        std::vector<word_message> outbox;
        for (rank_t local = 0; local < regions.region_size(region); ++local) {
            const rank_t member = regions.rank_at(region, local);
            if (member != frame_.here()) outbox.push_back({member, words});
        }
        return outbox;
    }

    void receive(const std::vector<word_message>& inbox) {
        region_.add(frame_.here(), own_);
        for (const auto& [member, words] : inbox)
            region_.add(member, member_summary::from_words(words));
        region_.finish();
        nodes_ = region_.stages();
        std::size_t first_stage = 0;
        for (std::size_t c = 0; c < candidates_.size(); ++c) {
            const auto& candidate = *candidates_[c];
            if (is_by_counterparts(candidate))
                follow_counterparts(frame_, region_, candidate, loads_[c]);
            if (is_by_speakers(candidate))
                follow_speakers(frame_, region_, loads_[c], nodes_[first_stage + 1]);
            first_stage += loads_[c].stages().size();
        }
    }

    std::vector<std::vector<stage_price>> prices() const {
        std::vector<std::vector<stage_price>> result;
        auto node = nodes_.begin();
        for (const auto& loads : loads_) {
            auto& prices = result.emplace_back();
            for (const auto& stage : loads.stages()) {
                prices.push_back(stage.price(std::max(node->sent, node->received)));
                ++node;
            }
        }
        return result;
    }

  private:
    static bool is_by_speakers(const route& r) { return r.is_balanced(); }
    static bool is_by_counterparts(const route& r) {
        return dynamic_cast<const two_step_route*>(&r) != nullptr;
    }

    const estimate_frame frame_;
    const std::vector<std::unique_ptr<route>>& candidates_;
    member_summary own_;
    region_summary region_;
    std::vector<stage_loads> loads_;  // by candidate
    std::vector<node_bytes> nodes_;   // of the stages of all candidates
};

route_estimator::route_estimator(const rank_layout& layout, const pattern& p,
                                 const std::vector<std::unique_ptr<route>>& candidates,
                                 const machine& m, const estimate_options& options)
    : state_(std::make_unique<implementation>(layout, p, candidates, m, options)) {}

route_estimator::~route_estimator() = default;

std::vector<word_message> route_estimator::send() const { return state_->send(); }

void route_estimator::receive(const std::vector<word_message>& inbox) { state_->receive(inbox); }

std::vector<std::vector<stage_price>> route_estimator::prices() const { return state_->prices(); }

}  // namespace crossdock
