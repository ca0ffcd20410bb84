// When a stream has come to rest: a pure state machine, checked exhaustively in its test.
#pragma once

#include <cstdint>
#include <optional>

namespace crossdock {

/// @brief Decides from sums over all processes whether every item has been handled.
///
/// Processes add up, in one wave after another, how many items they have **sent** (given away by a
/// worker; counted before anybody else can see them) and how many they have **handled** (their
/// handler has returned, and whatever it pushed counts as sent already). Nothing is pushed but by
/// handlers once the waves have begun. Each process reads its counters at any time within a wave.
///
/// All is at rest if the items handled by one wave equal those sent by the next.
/// `docs/design/0013-termination.md` has the proof.
///
/// Source: Mattern 1987, "Algorithms for distributed termination detection" (four counters). Differs: items
/// are counted, not messages, so that buffers need no count of their own and combined items are
/// simply handled.
class termination_detector {
  public:
    /// @brief Takes the sums of one wave.
    /// @return whether everything is at rest; the detector then begins anew
    bool add_wave(std::int64_t sent, std::int64_t handled) noexcept {
        const bool is_at_rest = handled_before_ == sent;
        handled_before_ = handled;
        if (is_at_rest) handled_before_.reset();
        return is_at_rest;
    }

  private:
    std::optional<std::int64_t> handled_before_;
};

}  // namespace crossdock
