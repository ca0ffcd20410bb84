/// @file
/// @brief What goes wrong on one rank, until all ranks hear of it.
#pragma once

#include <exception>
#include <optional>

#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief Another rank has stopped: what this rank waits for does not come, and the next meeting of
/// all ranks says why.
struct peer_stopped : std::exception {};

/// @brief The current exception as this rank's error.
inline error current_error_of(rank_t rank) noexcept {
    const error found = current_error();
    return found.rank() < 0 ? error(found, rank) : found;
}

/// @brief Does a part of this rank's work between two communications, unless it has failed already.
/// @param fault  receives what `part` throws: the rank takes part in what follows, and says so. Nothing
/// if another rank has stopped, who says so itself
template <class Part>
void attempt(rank_t rank, std::optional<error>& fault, Part&& part) noexcept {
    if (fault) return;
    try {
        part();
    } catch (const peer_stopped&) {
        // The next meeting says why.
    } catch (...) {
        fault = current_error_of(rank);
    }
}

}  // namespace crossdock
