/// @file
/// @brief What one rank sends and receives on a route, stage by stage.
#pragma once

#include <vector>

#include "crossdock/detail/select/route_estimate.hpp"
#include "item_groups.hpp"

namespace crossdock {

/// @brief What all routes of one estimate have in common.
struct estimate_frame {
    estimate_frame(const rank_layout& l, const pattern& own, const machine& on,
                   const estimate_options& o)
        : layout(l),
          p(own),
          m(on),
          options(o),
          sends(own.sends, o.deduplicate),
          receives(own.receives, false) {}

    const rank_layout& layout;
    const pattern& p;
    const machine& m;
    const estimate_options options;
    mutable sent_items sends;  // counting leaves marks
    sent_items receives;

    const topology& regions() const noexcept { return layout.regions(); }
    rank_t here() const noexcept { return p.rank; }
    locality_level level_to(rank_t other) const { return layout.level_of(p.rank, other); }
};

/// @brief The stages of one rank on one route, filled message by message.
class stage_cost {
  public:
    stage_cost(const estimate_frame& frame, int num_stages)
        : frame_(frame), stages_(static_cast<std::size_t>(num_stages), stage_pricer(frame.m)) {}

    void add_send(int stage, locality_level level, count_t num_items) {
        if (frame_.options.travel.hands_over(level))
            return at(stage).hand_over(bytes_of(num_items), num_items);
        at(stage).send(level, bytes_of(num_items), num_items);
    }

    void add_receive(int stage, locality_level level, count_t num_items) {
        if (frame_.options.travel.hands_over(level)) return at(stage).take_over();
        at(stage).receive(level, bytes_of(num_items));
    }

    /// @brief Another rank of the node waits for the message, and this one for what it forwards of
    /// it.
    void await(int stage, locality_level level, count_t num_items) {
        at(stage).await(level, bytes_of(num_items));
    }

    /// @brief Items that come for the rank itself are copied to its slots, and perhaps combined there.
    void add_deliveries(int stage, count_t num_items) {
        const count_t num_copies = num_items * frame_.options.passes_over_slots;
        at(stage).copy(bytes_of(num_copies), num_copies);
    }

    /// @param num_node_items  what the rank's node sends to others or gets from them, whichever is
    /// more
    stage_price price(int stage, count_t num_node_items) const {
        return stages_[static_cast<std::size_t>(stage)].price(bytes_of(num_node_items));
    }

  private:
    count_t bytes_of(count_t num_items) const {
        return num_items * frame_.options.travel.item_bytes;
    }

    stage_pricer& at(int stage) { return stages_[static_cast<std::size_t>(stage)]; }

    const estimate_frame& frame_;
    std::vector<stage_pricer> stages_;
};

}  // namespace crossdock
