/// @file
/// @brief Items on their way while a plan is compiled, many at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief Where the items of a run have to go.
struct run_target {
    rank_t destination = 0;
    /// Which of the items from the run's source to `destination` its first item is.
    std::uint32_t ordinal = 0;
    /// How far the copy for this target lies behind the item's position; 0 if all share one copy.
    std::uint32_t offset = 0;
};

/// @brief Items of one source for the same destinations, numbered consecutively for each of them.
///
///     rank 0 sends items 4 5 9 to 2 and 3, and 5 to 1 as well
///     runs: {4} to 2 from number 0, 3 from number 0;  {5} to 1, 2 and 3;  {9} to 2 from number 2, 3 from 2
struct item_run {
    rank_t source = 0;
    count_t num_items = 0;  ///< 0: neighbors that exchange nothing
    count_t first_position = 0;
    count_t stride = 0;  ///< from an item's position to the next one's
    std::size_t first_target = 0;
    std::size_t num_targets = 0;
};

/// @brief Runs in order, with their targets in one list.
class item_runs {
  public:
    const std::vector<item_run>& runs() const noexcept { return runs_; }
    bool is_empty() const noexcept { return runs_.empty(); }
    std::size_t num_targets() const noexcept { return targets_.size(); }
    std::span<const run_target> targets_of(const item_run& run) const {
        return std::span(targets_).subspan(run.first_target, run.num_targets);
    }

    /// @brief Adds a target of the run that `close` or `close_or_extend` adds next.
    void add_target(const run_target& target) { targets_.push_back(target); }
    std::span<const run_target> open_targets() const {
        return std::span(targets_).subspan(num_closed_targets_);
    }

    /// @brief Adds a run with the targets added since the last; none if there are no targets.
    void close(const item_run& run);

    /// @brief As `close`, but makes the last run longer where this one continues it.
    void close_or_extend(const item_run& run);

    /// @brief Makes the last run longer.
    void extend_last(count_t num_items) { runs_.back().num_items += num_items; }

  private:
    bool is_continued_by(rank_t source) const;

    std::vector<item_run> runs_;
    std::vector<run_target> targets_;
    std::size_t num_closed_targets_ = 0;
};

}  // namespace crossdock
