/// @file
/// @brief From which length on messages between nodes should be split into stripes.
#pragma once

#include "crossdock/machine.hpp"

namespace crossdock {

/// @brief The fewest bytes of a message that are worth a stripe of their own; 0 if none are.
///
/// A rank of a node moves a byte in beta, all its ranks together in 1/R_node. With k ranks that
/// send and S on the node a byte takes
///
///     max(beta, k / R_node)        each message on its own rank's way
///     max(k beta / S, k / R_node)  shared out over all ranks
///
/// and what that saves of one stripe must be more than what a stripe costs: a message more, and
/// telling another rank of it and back. Ranks that all send have nothing to share out. Stripes are
/// long messages: none is shorter than `rendezvous_bytes`.
/// @param ranks_per_node    S, at least 1
/// @param senders_per_node  k: ranks of a node that send long messages at a time, in [1, S]
/// @par Source
/// \cite gropp2016maxrate for the limit of a node.
count_t suggest_stripe_bytes(const machine& m, rank_t ranks_per_node, rank_t senders_per_node = 1);

}  // namespace crossdock
