#include "operation_pricer.hpp"

#include <algorithm>

namespace crossdock {

std::uint32_t operation_pricer::add(const operation& what, std::span<const std::uint32_t>) {
    if (num_stages_ == 0) return 0;
    const bool is_message = what.kind != operation_kind::copy;
    auto& stage = ranks_.back().at(is_message ? static_cast<std::size_t>(what.tag - first_tag_)
                                              : std::size_t{0});
    if (is_message && what.is_hand_over) {
        what.kind == operation_kind::send
            ? stage.load.hand_over(what.copied_bytes, what.copied_items)
            : stage.load.take_over();
    } else if (is_message) {
        const auto here = static_cast<rank_t>(ranks_.size()) - 1;
        const auto level = layout_.level_of(here, what.peer);
        what.kind == operation_kind::send
            ? stage.load.send(level, what.message_bytes, what.copied_items)
            : stage.load.receive(level, what.message_bytes);
    }
    if (what.kind != operation_kind::send) {
        stage.copied_bytes += what.copied_bytes;
        stage.copied_items += what.copied_items;
    }
    return 0;
}

std::vector<std::vector<stage_price>> operation_pricer::prices() {
    struct node_traffic {
        count_t sent = 0;
        count_t received = 0;
    };
    const auto& nodes = layout_.nodes();
    std::vector<std::vector<stage_price>> prices(ranks_.size());
    for (std::size_t t = 0; t < num_stages_; ++t) {
        std::vector<node_traffic> traffic(static_cast<std::size_t>(nodes.num_regions()));
        const auto of_node = [&](std::size_t rank) -> node_traffic& {
            return traffic[static_cast<std::size_t>(nodes.region_of(static_cast<rank_t>(rank)))];
        };
        for (std::size_t p = 0; p < ranks_.size(); ++p) {
            auto& one = ranks_[p][t];
            one.load.copy(one.copied_bytes, one.copied_items);
            of_node(p).sent += one.load.network_bytes_sent();
            of_node(p).received += one.load.network_bytes_received();
        }
        for (std::size_t p = 0; p < ranks_.size(); ++p)
            prices[p].push_back(
                ranks_[p][t].load.price(std::max(of_node(p).sent, of_node(p).received)));
    }
    return prices;
}

}  // namespace crossdock
