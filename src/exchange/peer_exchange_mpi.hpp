/// @file
/// @brief Words between ranks that expect each other, in rounds.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "../base/rank_fault_mpi.hpp"
#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/word_message.hpp"
#include "crossdock/topology.hpp"
#include "mailbox_mpi.hpp"

namespace crossdock {

class exchange_state;

/// @brief A few rounds in which everybody knows whom it hears from, and nobody needs to be found;
/// then a meeting.
///
///     peer_exchange rounds(comm, regions);
///     const auto fault = rounds.run(comm.rank(), [&] {
///         for (...) inbox = rounds.next(to_send, num_sources);
///     });
///     rounds.meet([&] { agree(comm, fault); });
///
/// Ranks that have no message for each other do not wait for each other; those that go on to the
/// next exchange but one must therefore have met. A rank that fails between two rounds stops: it
/// says so to all ranks, which stop waiting for it, and all of them throw at the meeting.
class peer_exchange final : private background_work {
  public:
    /// The most rounds of one object.
    static constexpr int max_rounds = 32;

    /// @param comm, regions  borrowed
    /// @par Collective
    /// Logically: every rank must make it in the same order. Does not communicate, unless it is the
    /// communicator's first exchange.
    peer_exchange(const communicator& comm, const topology& regions);
    ~peer_exchange() { comm_.remove_work(this); }
    peer_exchange(const peer_exchange&) = delete;
    peer_exchange& operator=(const peer_exchange&) = delete;

    /// @brief The next round; inside `run`.
    /// @param to_send       a message, empty or not, to each rank that expects one of this rank
    /// @param num_sources  how many ranks have one for this rank
    /// @return what came, sorted by source
    /// @par Collective
    /// Yes; waits for its sources, and until its messages have left.
    /// @throws peer_stopped  a rank has stopped
    /// @throws error(errc::invalid_state)  there were `max_rounds` rounds
    std::vector<word_message> next(std::vector<word_message> to_send, std::size_t num_sources);

    /// @brief Calls `rounds()` with any number of rounds. If this rank or another one stops there,
    /// nothing more happens but the meeting.
    /// @param rank   that errors are of
    /// @param fault  what this rank has failed with before: it stops at once
    /// @return the fault of this rank, for the meeting
    template <class Rounds>
    std::optional<error> run(rank_t rank, Rounds&& rounds,
                             std::optional<error> fault = std::nullopt) {
        try {
            if (!fault && !has_stopped_) rounds();
        } catch (const peer_stopped&) {
            take_leave();
        } catch (...) {
            fault = current_error_of(rank);
        }
        if (fault && !has_stopped_) stop();
        return fault;
    }

    /// @brief Whether this rank has stopped, for whatever reason.
    bool has_stopped() const noexcept { return has_stopped_; }

    /// @brief Calls `meeting()`, in which all ranks hear of all, and throw if any brings a fault.
    template <class Meeting>
    decltype(auto) meet(Meeting&& meeting) {
        try {
            return meeting();
        } catch (const error&) {
            renew_tags();  // there may be messages left
            throw;
        }
    }

  private:
    void progress() override { discard_rounds(); }

    bool is_told_to_stop() const;
    void stop() noexcept;
    void take_leave() noexcept;
    void discard_rounds() noexcept;
    void renew_tags() const;

    const communicator& comm_;
    exchange_state& state_;
    int stop_tag_;
    int first_tag_;
    int round_ = 0;
    bool has_stopped_ = false;
    byte_inbox arrivals_;
    std::vector<word_message> to_send_;  // under way
    mailbox mail_;
};

}  // namespace crossdock
