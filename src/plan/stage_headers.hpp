/// @file
/// @brief The headers of one stage, while they are written.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "crossdock/detail/base/word_message.hpp"
#include "crossdock/plan.hpp"
#include "item_runs.hpp"

namespace crossdock {

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
    std::vector<word_message> take(std::vector<outgoing_message>& sends);

  private:
    struct entry {
        rank_t peer;
        std::vector<count_t> positions = {};
        std::vector<rank_t> receivers = {};
        item_runs runs = {};
    };

    template <class PositionOf>
    void add_positions(entry& to, count_t num_items, PositionOf&& position_of) const;
    static std::vector<std::int64_t> header_of(const entry& from);

    bool shares_copies_;
    std::vector<entry> entries_;
    std::vector<std::size_t> open_;  // places that the present run has targets for
    std::unordered_map<rank_t, std::size_t> places_;
};

}  // namespace crossdock
