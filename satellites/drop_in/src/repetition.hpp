/// @file
/// @brief Which calls of a communicator that are not persistent are worth a plan.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock::drop_in {

/// @brief Decides which plan a call goes along, alike on all ranks and without asking them in most calls.
///
/// Calls repeat with a period if each carries the lengths of the one so many calls before. Once all ranks found the
/// same period, as many plans take turns; a rank whose call has other lengths after all takes part as planned, and
/// sends the blocks that differ by themselves. The ranks ask each other
/// again after twice as many calls each time. If most calls of a rank differed, or MPI is faster, calls are left to
/// MPI, each time for longer, and then watched again.
class repetition {
  public:
    static constexpr int max_period = 8;
    static constexpr int no_slot = -1;

    /// @param is_always_planned  no call is MPI's: all go along one plan, which is made anew if most differ from it
    explicit repetition(bool is_always_planned);

    struct step {
        int slot = no_slot;  ///< which plan of the present period; `no_slot`: none
        int round =
            0;  ///< how many periods ended before the present one; plans of a former one are old
        bool is_asked = false;  ///< the ranks are to reduce `vote` by bitwise and, and `conclude`
    };

    /// @brief Whether the next call is MPI's, and nothing is asked; the same on all ranks.
    bool leaves_next() const noexcept { return num_left_ > 0; }

    /// @brief Counts a call for which `leaves_next` holds, whatever its lengths.
    void leave() noexcept { --num_left_; }

    /// @brief Whether `next` will name one of the slots of period `round`, of which there are `num_slots`, and not ask.
    bool goes_on(int round, std::size_t num_slots) const noexcept {
        return period_ > 0 && round == round_ && num_slots == static_cast<std::size_t>(period_) &&
               num_calls_ + 1 != asked_next_;
    }

    /// @pre `goes_on`
    std::size_t next_slot() const noexcept {
        return static_cast<std::size_t>(num_calls_ % period_);
    }

    /// @brief What becomes of the next call.
    /// @param sends, receives  how many bytes each edge of this rank carries
    step next(const std::vector<count_t>& sends, const std::vector<count_t>& receives);

    /// @brief The call that `next` was asked about differs on this rank from its plan, or can have none.
    void differed() noexcept { ++num_different_; }

    /// @brief This rank's answer for a step that asks.
    std::uint32_t vote() const noexcept;

    /// @param agreed  the answers of all ranks, by bitwise and
    void conclude(std::uint32_t agreed);

    /// @brief MPI is faster than the plan of the slot that `next` named. The same on all ranks.
    void lost();

  private:
    struct edge_lengths {
        std::vector<count_t> sends;
        std::vector<count_t> receives;

        friend bool operator==(const edge_lengths&, const edge_lengths&) = default;
    };

    void leave_more(std::int64_t at_least);
    void observe(edge_lengths lengths);

    bool is_always_planned_;
    int period_;  // 0: calls are left to MPI or watched
    int round_ = 0;
    int num_lost_ = 0;                // slots of this period
    std::int64_t num_calls_ = 0;      // since they are watched or planned
    std::int64_t asked_next_ = 0;     // at the call of this number, while planned
    std::int64_t num_left_ = 0;       // calls that are still left to MPI
    std::int64_t num_left_last_;      // how many were left the last time
    std::int64_t num_different_ = 0;  // calls on this rank since the last question
    std::int64_t num_since_asked_ = 0;
    std::vector<edge_lengths> history_;  // the last ones, most recent first
    std::array<int, max_period + 1>
        num_repeated_{};  // calls in a row that repeat the one so many before
};

}  // namespace crossdock::drop_in
