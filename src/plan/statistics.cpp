#include "crossdock/plan.hpp"

#include <algorithm>
#include <numeric>

namespace crossdock {

namespace {

traffic_summary summarize_traffic(std::span<const traffic> per_rank) {
    const auto field = [&](count_t traffic::*member) {
        std::vector<count_t> values;
        values.reserve(per_rank.size());
        for (const auto& rank : per_rank) values.push_back(rank.*member);
        return summarize(values);
    };
    return {field(&traffic::messages), field(&traffic::items),
            field(&traffic::inter_region_messages), field(&traffic::inter_region_items)};
}

}  // namespace

traffic& traffic::operator+=(const traffic& other) {
    messages += other.messages;
    items += other.items;
    inter_region_messages += other.inter_region_messages;
    inter_region_items += other.inter_region_items;
    return *this;
}

traffic stage_traffic(const topology& regions, const plan& sender, std::size_t stage) {
    const region_t own_region = regions.region_of(sender.rank());
    traffic sum;
    for (const auto& message : sender.stages()[stage].sends) {
        const auto num_items = static_cast<count_t>(message.positions.size());
        const bool is_inter_region = regions.region_of(message.destination) != own_region;
        sum += {1, num_items, is_inter_region ? 1 : 0, is_inter_region ? num_items : 0};
    }
    return sum;
}

traffic total_traffic(const topology& regions, const plan& sender) {
    traffic sum;
    for (std::size_t t = 0; t < sender.stages().size(); ++t)
        sum += stage_traffic(regions, sender, t);
    return sum;
}

count_t buffer_items(const plan& p) {
    count_t sum = p.num_positions() - p.num_items();
    for (const auto& stage : p.stages()) {
        for (const auto& message : stage.sends)
            sum += static_cast<count_t>(message.positions.size());
    }
    return sum;
}

summary summarize(std::span<const count_t> per_rank) {
    if (per_rank.empty()) return {};
    const count_t total = std::accumulate(per_rank.begin(), per_rank.end(), count_t{0});
    return {total, *std::max_element(per_rank.begin(), per_rank.end()),
            static_cast<double>(total) / static_cast<double>(per_rank.size())};
}

plan_statistics analyze(const topology& regions, std::span<const plan> plans) {
    plan_statistics result;
    std::vector<traffic> totals(plans.size());
    const std::size_t num_stages = plans.empty() ? 0 : plans.front().stages().size();
    for (std::size_t t = 0; t < num_stages; ++t) {
        std::vector<traffic> in_stage(plans.size());
        for (std::size_t p = 0; p < plans.size(); ++p) {
            in_stage[p] = stage_traffic(regions, plans[p], t);
            totals[p] += in_stage[p];
        }
        result.stages.push_back(summarize_traffic(in_stage));
    }
    result.total = summarize_traffic(totals);
    std::vector<count_t> buffers;
    for (const auto& p : plans) buffers.push_back(buffer_items(p));
    result.buffer_items = summarize(buffers);
    return result;
}

}  // namespace crossdock
