/// @file
/// @brief What CROSSDOCK_WATCHDOG knows of this process: what it did last, and whether it has waited too long.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>

#include "crossdock/types.hpp"

namespace crossdock {

class exchange_watch;
struct watched_object;

enum class rank_act : unsigned char { nothing, made, started, ended, closes, tests, waits };

/// @brief Whom a wait is for, and to whom messages are under way, in ranks of MPI_COMM_WORLD.
struct wait_facts {
    int stage = -1;  ///< of what is awaited; -1 where it has none
    std::set<rank_t> awaited = {};
    std::set<rank_t> open_sends = {};
};

/// @brief A wait that may end by an exception: MPI uses no memory of its callers.
class leavable_wait {
  public:
    virtual ~leavable_wait() = default;
    virtual void describe(wait_facts&) const {}
};

/// @brief What a thread is in; nulls where it is in nothing of the kind.
struct wait_place {
    const exchange_watch* object = nullptr;
    const char* call = nullptr;  ///< such as "making a stream" or "crossdock_stream_create"
    const leavable_wait* wait = nullptr;
    bool has_met = false;  ///< the call has begun on all ranks
};

/// @brief A thread notes that nothing was done for the time that CROSSDOCK_WATCHDOG names. The next pause of whoever
/// waits then writes a line.
struct watchdog {
    inline static std::atomic<bool> is_on = false;
    // What was done last: read by the thread, so each word by itself.
    inline static std::atomic<const watched_object*> last_with = nullptr;
    inline static std::atomic<rank_act> last_act = rank_act::nothing;
    inline static std::atomic<count_t> last_object = 0;
    inline static std::atomic<count_t> last_exchange = 0;
    inline static std::atomic<std::uint64_t> num_acts = 1;
    /// `num_acts`, if the last one was too long ago; else another number.
    inline static std::atomic<std::uint64_t> overdue = 0;
    /// Writes the line, and throws where that is asked for and possible.
    inline static std::atomic<void (*)()> tell = nullptr;

    /// @brief Of this thread. Not inline, as `suspension::current`.
    static wait_place& here() noexcept;

    /// @brief Between two looks of a wait. Who knows nothing of it leaves the line to others.
    static void look() {
        if (overdue.load(std::memory_order_relaxed) == num_acts.load(std::memory_order_relaxed) &&
            (here().object || here().call)) [[unlikely]]
            tell.load()();
    }
    static void note(rank_act what, const watched_object* with, count_t object, count_t exchange) {
        if (!is_on) return;
        last_with = with;
        last_act = what;
        last_object = object;
        last_exchange = exchange;
        ++num_acts;
    }
    /// @brief A wait begins.
    static void note_wait() noexcept {
        if (is_on) ++num_acts;
    }
};

/// @brief As long as it lives, waits of this thread are in `call`, unless it is part of another, and are `wait`.
class watched_wait {
  public:
    explicit watched_wait(const char* call, const leavable_wait* wait = nullptr,
                          bool has_met = false)
        : kept_(watchdog::here()) {
        watchdog::here() = {kept_.object, kept_.call ? kept_.call : call, wait,
                            has_met || kept_.has_met};
    }
    ~watched_wait() { watchdog::here() = kept_; }
    watched_wait(const watched_wait&) = delete;
    watched_wait& operator=(const watched_wait&) = delete;

  protected:
    bool is_part() const noexcept { return kept_.has_met; }

  private:
    wait_place kept_;
};

inline const leavable_wait any_leavable_wait;

}  // namespace crossdock
