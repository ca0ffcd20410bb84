/// @file
/// @brief Progress of exchanges inside whatever MPI call a program waits in.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "crossdock/detail/base/memory_reserve.hpp"
#include "fiber.hpp"

namespace crossdock::drop_in {

/// @brief What is asked again and again until it is complete.
class watched {
  public:
    /// @brief Does what can be done without waiting; true if nothing is left to do. Must not throw.
    virtual bool advance() = 0;

  protected:
    ~watched() = default;
};

/// @brief Where a rank makes progress for others, as far as its program calls MPI at all; from least to most.
enum class progress_place {
    nowhere,    ///< exchanges are MPI's
    exchanges,  ///< in blocking exchanges, which end when this rank has done what others need from it
    intercepted,  ///< in all calls that wait and are intercepted
    anywhere,     ///< in all calls that wait: MPI calls back
};

/// @brief All exchanges of this process that are under way: functions that wait for other ranks, and what is watched.
///
/// Where MPI can call back, it calls `advance` from inside its blocking and testing functions: Open MPI by a callback
/// of its progress loop. A rank thereby forwards for others whatever its program waits for. Elsewhere intercepted
/// functions call it.
///
/// A function of several may block in MPI, in calls that have no nonblocking form. Two communicators whose ranks
/// blocked in different orders would wait for each other for ever, so the ranks of a communicator vote first; of those
/// that ask on one rank, the one with the least key has its turn.
/// @par Thread safety
/// A thread has `access` while it calls anything but `advance` and `run_until`, which take it themselves.
class progress_engine final : private suspension {
  public:
    /// @brief Whether MPI calls `advance`. MPICH holds a lock while it does, and would wait for it in what we call if
    /// there may be threads.
    static bool has_callback();

    /// @brief Where progress is made for what the calling thread makes; ranks may differ.
    ///
    /// Open MPI 4.1 now and then waits for ever if several threads make communicators at the same time, and set-ups
    /// make some.
    static progress_place place_here();

    static progress_engine& of_process();

    /// @brief One thread's right to change exchanges; the others wait for it, and `advance` does nothing meanwhile.
    /// @pre not `is_inside()`
    class access {
      public:
        access();
        ~access();
        access(const access&) = delete;
        access& operator=(const access&) = delete;

      private:
        progress_engine* engine_;
    };

    /// @brief Whether this thread has access: then it is the library that calls MPI, not the program.
    static bool is_inside() noexcept { return is_inside_; }

    /// @brief Runs `body` until it waits for the first time, and goes on with it inside MPI's calls.
    /// @param body            copied; must not throw
    /// @param is_nonblocking  other ranks may be in any call meanwhile, so that the body makes no communicators
    template <class Body>
    void start(const Body& body, bool is_nonblocking) {
        start_function(with_reserve([&] { return std::function<void()>(body); }), is_nonblocking);
    }

    /// @brief Advances `one` inside MPI's calls, until it is complete.
    /// @param one  borrowed
    void watch(watched& one);
    /// @brief No longer advances `one`.
    void forget(watched& one);

    /// @brief Leaves the body that runs until `condition` holds.
    template <class Condition>
    void wait_until(Condition&& condition) {
        while (!condition()) suspend();
    }

    /// @brief Waits until no rank of a graph sets something up in another call. It lasts until `end_blocking`, or the
    /// end of the body that runs.
    /// @pre all ranks are in the call: one that is not there yet may be busy with another that this rank makes only
    /// later
    /// @param key      the same on all ranks, and not that of another graph
    /// @param may_all  whether all ranks may, given whether this one may
    /// @par Collective
    /// Yes, over the ranks of `may_all`.
    void begin_blocking(std::int64_t key, const std::function<bool(bool)>& may_all);

    /// @brief The body that runs has set up what it needs, and blocks no more: others may.
    void end_blocking();

    /// @brief MPI need not call for what is started from now on: `run_until` sees it through.
    static void begin_finalizing() noexcept { is_finalizing_ = true; }
    static bool is_finalizing() noexcept { return is_finalizing_; }

    /// @brief Makes progress until `condition` holds; not to be called by a body.
    void run_until(const std::function<bool()>& condition);

    /// @brief While one is there, no body begins to block: other ranks may enter what this one's MPI waits for.
    ///
    /// For functions of MPI that make no progress but their own.
    class abstention {
      public:
        /// @brief Waits until no body of this rank blocks, or has voted to.
        abstention();
        ~abstention();
        abstention(const abstention&) = delete;
        abstention& operator=(const abstention&) = delete;
    };

    /// @brief One piece of everything that is under way; nothing if a thread has access.
    /// @return whether something has completed, or MPI has tested for it in vain
    bool advance();

    /// @brief MPI has tested a request in vain, and so made progress. Open MPI has yielded, too, as it does in its
    /// waits.
    void count_test() noexcept { has_tested_ = true; }

    /// @brief Whether `advance` has something to do.
    static bool is_any_under_way() noexcept {
        return num_under_way_.load(std::memory_order_relaxed) > 0;
    }

    /// @brief Whether the calling thread may block in MPI while it has access: nothing but `num_own` of its own is
    /// under way, and no other thread can begin anything.
    bool may_block(std::size_t num_own) const;

  private:
    struct running {
        fiber stack;
        bool is_nonblocking = false;
        std::int64_t wanted_key = no_key;  // of the communicator that it wants to block in
    };
    static constexpr std::int64_t no_key = -1;

    void start_function(std::function<void()> body, bool is_nonblocking);
    void suspend() override;
    void before_blocking(const communicator& comm) override;
    bool may_make_communicators() const override { return !current_->is_nonblocking; }
    bool may_vote_for(std::int64_t key) const;
    bool take_access() noexcept;
    void advance_all();
    void resume(running& one);
    void ask_mpi_to_call();
    void count_under_way();

    std::list<std::unique_ptr<running>> fibers_;
    std::list<std::unique_ptr<running>> idle_;  // whose bodies are done
    std::vector<watched*> watched_;
    std::atomic<bool> is_taken_ = false;
    running* current_ = nullptr;
    const running* voter_ = nullptr;  // which has voted to block, until its set-up ends
    bool is_asked_ = false;           // MPI calls
    bool has_tested_ = false;         // since all were advanced the last time
    int num_abstentions_ = 0;
    static inline bool is_finalizing_ = false;
    static inline constinit std::atomic<std::size_t> num_under_way_ = 0;
    static inline constinit thread_local bool is_inside_ [[gnu::tls_model("initial-exec")]] = false;
};

}  // namespace crossdock::drop_in
