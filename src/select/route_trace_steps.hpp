/// @file
/// @brief What a rank knows of a route from its own items alone.
#pragma once

#include <vector>

#include "stage_cost.hpp"

namespace crossdock {

/// @brief A step of an item in a stage.
struct hop {
    rank_t from;
    rank_t to;

    friend auto operator<=>(const hop&, const hop&) = default;
};

/// @brief Steps of items in a stage that are alike: as far, in rank numbers.
struct alike_steps {
    locality_level level;
    count_t num_items = 0;
};

/// @brief The different steps of a rank's own items, or of the items for it, in a stage.
///
/// Each is taken to be a message of one rank, on which these items pass as others' items pass here.
/// Of the first stage's sends and the last stage's receives that is so.
struct traced_stage {
    std::vector<alike_steps> steps;
    count_t num_items = 0;          ///< of all steps
    count_t num_network_items = 0;  ///< of these, those that go to another node
    std::size_t num_ranks = 1;      ///< on which they are
    count_t num_asked = 0;          ///< the items, each for every destination that asks for it
    count_t num_delivered = 0;      ///< of those for the rank, those that reach it

    /// @brief What is left of the items when equal ones travel once.
    double kept() const noexcept {
        return num_asked == 0 ? 1 : static_cast<double>(num_items) / static_cast<double>(num_asked);
    }

    /// @brief The part of the items that is on one rank.
    double share() const noexcept {
        return num_ranks == 0 ? 1 : 1 / static_cast<double>(num_ranks);
    }
};

/// @brief What the rank sends in the stages [0, num_stages).
std::vector<traced_stage> follow_sends(const estimate_frame& frame, const route& r, int num_stages);

/// @brief What the rank receives in all stages.
/// @param sends  as `follow_sends` returns it: as many items of others are equal as of its own
std::vector<traced_stage> follow_receives(const estimate_frame& frame, const route& r,
                                          const std::vector<traced_stage>& sends);

}  // namespace crossdock
