/// @file
/// @brief The store-and-forward algorithm as its study describes it.
#pragma once

#include <span>

#include "crossdock/pattern.hpp"
#include "crossdock/route.hpp"
#include "crossdock/schedule.hpp"

namespace crossdock::bench {

/// @brief What the algorithm sends besides items.
struct submessage_costs {
    count_t item_bytes = 8;
    count_t header_bytes = 8;  ///< of each submessage: its destination and its length
};

/// @brief The schedule of Algorithm 1 of \cite selvitopi2019vpt.
///
/// What a rank has for another is a submessage, which keeps its header on its way. A rank puts its own
/// submessages into the buffers of the dimensions one by one. In each stage it forms a message for every
/// neighbor that it has submessages for, waits for all messages of the stage, and puts their submessages
/// one by one into the buffers of later stages. In the end it gathers those that are for itself. Each
/// time a submessage is moved counts as one piece that is copied.
///
///     hypercube, 4 ranks, 0 to 3:   0 appends, forms a message for 2; 2 scatters it, forms a
///                                   message for 3; 3 scatters it, gathers
///
/// The receives of a stage are posted when it begins, for exactly the messages that come: how the study's
/// ranks know of these is not in its text.
/// @param way  not balanced
schedule store_and_forward(std::span<const pattern> patterns, const route& way,
                           const submessage_costs& costs);

}  // namespace crossdock::bench
