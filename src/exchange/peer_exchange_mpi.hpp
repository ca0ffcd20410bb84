/// @file
/// @brief Words between ranks that expect each other, in rounds.
#pragma once

#include <cstddef>
#include <vector>

#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/word_message.hpp"
#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief A few rounds in which everybody knows whom it hears from, and nobody needs to be found.
///
///     peer_exchange rounds(comm, regions);
///     for (...) inbox = rounds.next(outbox, num_sources);
///     agree(comm, fault);
///
/// Ranks that have no message for each other do not wait for each other. After the last round all
/// ranks must therefore hear from all others before the communicator is used for the next exchange
/// but one; `agree` does it.
class peer_exchange {
  public:
    /// The most rounds of one object.
    static constexpr int max_rounds = 32;

    /// @param regions  borrowed
    /// @par Collective
    /// Logically: every rank must make it in the same order. Does not communicate, unless it is the
    /// communicator's first exchange.
    peer_exchange(const communicator& comm, const topology& regions);

    /// @brief The next round.
    /// @param outbox       a message, empty or not, to each rank that expects one of this rank
    /// @param num_sources  how many ranks have one for this rank
    /// @return what came, sorted by source
    /// @par Collective
    /// Yes; waits for its sources, and until its messages have left.
    /// @throws error(errc::invalid_state)  there were `max_rounds` rounds
    std::vector<word_message> next(const std::vector<word_message>& outbox,
                                   std::size_t num_sources);

  private:
    const communicator& comm_;
    const topology& regions_;
    int first_tag_;
    int round_ = 0;
};

}  // namespace crossdock
