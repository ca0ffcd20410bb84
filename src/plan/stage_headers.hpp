/// @file
/// @brief Items on their way while a plan is compiled, many at a time, and the headers of one stage.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "../base/word_message.hpp"
#include "crossdock/plan.hpp"

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

/// @brief A header read from the front.
///
/// A header is the number of receivers, the receivers, and then runs: a word with the source and
/// the number of targets, which is negative if there is not just one item; then how many there are;
/// and a word for each target with its destination and ordinal.
class header_reader {
  public:
    explicit header_reader(std::span<const std::int64_t> words) : words_(words) {}

    bool is_at_end() const noexcept { return words_.empty(); }
    std::int64_t word();

    /// @brief Source, number of items and number of targets of the next run.
    item_run run();
    run_target target();

  private:
    std::span<const std::int64_t> words_;
};

/// @brief The headers of one stage and the messages that they announce, one of each per next hop.
class stage_headers {
  public:
    /// @param shares_copies  items go once to a next hop, not once for each target
    explicit stage_headers(bool shares_copies) : shares_copies_(shares_copies) {}

    /// @brief Where what goes to `peer` is collected; makes the place.
    std::size_t place_of(rank_t peer);

    void add_receiver(std::size_t place, rank_t receiver) {
        entries_[place].receivers.push_back(receiver);
    }

    /// @brief Adds a target of the run that `send_run` is called with next.
    void add_target(std::size_t place, const run_target& target);

    /// @brief Sends the targets that were added, each to its place.
    /// @param item_positions  of the run's items; if empty, as the run says
    void send_run(const item_run& run, std::span<const count_t> item_positions);

    /// @brief Sends a rank's items at these positions to their only destination, to whom nothing
    /// was sent before.
    void send_list(rank_t source, rank_t destination, std::span<const count_t> positions);

    /// @brief All headers, sorted by rank; one without items announces no message.
    /// @param destinations  where the copies of own items go is appended, unless targets share them
    std::vector<word_message> take(std::vector<outgoing_message>& sends,
                                   std::vector<rank_t>& destinations);

  private:
    struct entry {
        rank_t peer;
        std::vector<count_t> positions = {};
        std::vector<rank_t> receivers = {};
        std::vector<rank_t> destinations = {};  // of the copies of own items, one for each
        item_runs runs = {};
    };

    template <class PositionOf>
    void add_positions(entry& to, count_t num_items, PositionOf&& position_of) const;
    void add_destinations(entry& to, count_t num_items) const;
    static std::vector<std::int64_t> header_of(const entry& from);

    bool shares_copies_;
    std::vector<entry> entries_;
    std::vector<std::size_t> open_;  // places that the present run has targets for
    std::unordered_map<rank_t, std::size_t> places_;
};

}  // namespace crossdock
