/// @file
/// @brief What ranks say to each other while they set something up together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "../base/collective_mpi.hpp"
#include "../base/rank_fault_mpi.hpp"
#include "../base/word_message.hpp"
#include "../pattern/checked_pattern.hpp"
#include "crossdock/detail/base/equal_arguments.hpp"
#include "crossdock/topology.hpp"
#include "mailbox_mpi.hpp"

namespace crossdock {

/// @brief One conversation: rounds of messages between this rank's steps, which all ranks end well, or all throw.
///
///     setup_rounds rounds(comm, regions);
///     rounds.attempt([&] { to_send = ...; });
///     inbox = rounds.open(to_send, same);                  // arguments are right and equal, or all throw
///     rounds.attempt([&] { ... });
///     inbox = rounds.hear_anybody(to_send);                // any number of these
///     rounds.hear_partners([&] { inbox = rounds.next(to_send, num_sources); ... });
///     rounds.finish();                                     // all throw if any rank has failed
///
/// What a step throws is the rank's *fault*: it makes no further step, but takes part in every round, and says so. In
/// rounds with anybody its vote says so, and all throw at once. Between partners, who do not wait for others, it sends
/// all ranks an empty message with a tag of its own. They stop waiting, make no further step either, and throw in the
/// next round with anybody, or at the end.
///
/// Ranks that have no message for each other do not wait for each other in a round between partners; those that go on
/// to the next exchange but one must therefore have met, in a round with anybody or at the end. For the same reason a
/// round with anybody follows rounds between partners only if all ranks have met between those and the exchange before.
class setup_rounds final : private background_work {
  public:
    /// The most rounds between partners.
    static constexpr int max_rounds = 32;

    /// @param comm, regions  borrowed
    /// @param fault  what this rank has failed with before
    /// @param rank   that faults are of, if not the rank in `comm`
    setup_rounds(const communicator& comm, const topology& regions,
                 std::optional<error> fault = std::nullopt, rank_t rank = -1)
        : comm_(comm),
          regions_(regions),
          rank_(rank < 0 ? comm.rank() : rank),
          fault_(std::move(fault)) {}
    ~setup_rounds() { comm_.remove_work(this); }
    setup_rounds(const setup_rounds&) = delete;
    setup_rounds& operator=(const setup_rounds&) = delete;

    /// @brief A step of this rank, unless it or another one has failed.
    template <class Part>
    void attempt(Part&& part) noexcept {
        if (!has_stopped()) crossdock::attempt(rank_, fault_, part);
    }

    /// @brief The first round of a collective call, between ranks that do not know yet whether their arguments are
    /// right and equal.
    ///
    /// It travels along the topology of the last call on the communicator that went well, since even that of this one
    /// may differ. All calls of the library whose arguments include a topology begin so, and meet here.
    /// @param same  of all arguments that must be equal on all ranks, among them `regions`
    /// @param bits  of this rank; receives those that all ranks have
    /// @return what came, sorted by source; `regions` is the same on all ranks now
    /// @par Collective
    /// Yes; blocks. A sparse exchange; the first on a communicator takes one agreement more.
    /// @throws error  the fault of the lowest rank that has one; or error(errc::invalid_argument) where
    /// `same` differs; on all ranks
    std::vector<word_message> open(const std::vector<word_message>& to_send,
                                   const equal_arguments& same, std::uint32_t* bits = nullptr);

    /// @brief A round in which a rank may send to any other.
    /// @return what came, sorted by source
    /// @par Collective
    /// Yes; a sparse exchange.
    /// @throws error  the fault of the lowest rank that has one, on all ranks
    std::vector<word_message> hear_anybody(const std::vector<word_message>& to_send);

    /// @brief Calls `rounds()`, which calls `next` any number of times.
    /// @par Collective
    /// As `next`. Does not throw.
    template <class Rounds>
    void hear_partners(Rounds&& rounds) {
        begin_partners();
        try {
            if (!fault_ && !has_stopped()) rounds();
        } catch (const peer_stopped&) {
            take_leave();
        } catch (...) {
            fault_ = current_error_of(rank_);
        }
        if (fault_ && !has_stopped()) stop();
    }

    /// @brief The next round between partners; inside `hear_partners`.
    /// @param to_send      a message, empty or not, to each rank that expects one of this rank
    /// @param num_sources  how many ranks have one for this rank
    /// @return what came, sorted by source
    /// @par Collective
    /// Yes; waits for its sources, and until its messages have left.
    /// @throws peer_stopped  a rank has stopped
    /// @throws error(errc::invalid_state)  there were `max_rounds` rounds
    std::vector<word_message> next(std::vector<word_message> to_send, std::size_t num_sources);

    /// @brief Whether this rank makes no further step, because it or another one has failed between partners.
    bool has_stopped() const noexcept { return partners_ && partners_->has_stopped; }

    /// @brief What this rank has failed with; others may add to it until the end.
    std::optional<error>& fault() noexcept { return fault_; }

    /// @brief A round that is a collective operation of MPI; `begin` as in `run_collective`.
    /// @param is_spoiled  called afterwards: whether what came says that a rank had a fault; equal on all ranks
    /// @par Collective
    /// Yes; blocks.
    /// @throws error  the fault of the lowest rank that has one, on all ranks
    template <class Begin, class Spoiled>
    void run(Begin&& begin, Spoiled&& is_spoiled) {
        run_collective(comm_, begin);
        if (is_spoiled()) finish();
    }

    /// @brief The end: all throw if any rank has failed.
    /// @par Collective
    /// As `agree`.
    void finish();

  private:
    // What rounds between partners need.
    struct partner_rounds {
        partner_rounds(const communicator& comm, const topology& regions);

        int stop_tag;
        int first_tag;
        int num_rounds = 0;
        bool has_stopped = false;
        bool has_told = false;  // all others to stop
        byte_inbox arrivals;
        std::vector<word_message> to_send;  // under way
        mailbox mail;
    };

    void progress() override { discard_rounds(); }

    std::vector<word_message> exchange(const topology& regions,
                                       const std::vector<word_message>& to_send,
                                       const equal_arguments& same, std::uint32_t* bits);
    void begin_partners();
    bool is_told_to_stop() const;
    void tell_all() noexcept;
    void stop() noexcept;
    void clear_away() noexcept;
    void take_leave() noexcept;
    void discard_rounds() noexcept;
    template <class Meeting>
    void meet(Meeting&& meeting);

    const communicator& comm_;
    const topology& regions_;
    rank_t rank_;
    std::optional<error> fault_;
    std::unique_ptr<partner_rounds> partners_;  // from the first such round on
};

/// @brief Whether a rank's arguments fit together.
/// @throws error(errc::size_mismatch)  the topology, the pattern and the communicator disagree
/// @throws as `validate(pattern)`
void check_sizes(const communicator& comm, const topology& regions, const checked_pattern& p);

}  // namespace crossdock
