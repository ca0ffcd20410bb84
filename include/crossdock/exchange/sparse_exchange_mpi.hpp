/// @file
/// @brief A sparse data exchange: ranks know whom they send to, not who sends to them.
#pragma once

#include <vector>

#include "crossdock/base/communicator_mpi.hpp"
#include "crossdock/base/word_message.hpp"

namespace crossdock {

/// @brief Delivers messages to ranks that do not expect them.
///
/// Nonblocking consensus: synchronous sends are complete when they are matched, and a nonblocking
/// barrier that every rank enters once its own are complete tells that no message is under way. Up
/// to 16 ranks, every rank sends every other a message, empty or not, and needs no consensus.
/// @param comm    all of its ranks take part
/// @param tag     from `comm.reserve_tags`; two exchanges that follow each other need different
/// tags
/// @param outbox  at most one message per rank; one to itself is delivered too
/// @return what came, sorted by source
/// @par Collective
/// Yes; waits for all ranks. Waiting yields the core.
/// @par Complexity
/// Messages and memory follow what this rank sends and receives, plus O(log P) for the barrier.
/// @throws error(errc::count_overflow)  a message of 2^31 words or more; the caller must rule that
/// out
/// @par Source
/// \cite hoefler2010nbx.
std::vector<word_message> sparse_exchange(const communicator& comm, int tag,
                                          std::vector<word_message> outbox);

}  // namespace crossdock
