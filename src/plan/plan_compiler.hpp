/// @file
/// @brief Hop-by-hop set-up as one rank's state machine; the overloads of `compile` carry its
/// messages.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../base/word_message.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/route.hpp"
#include "leader_agreement.hpp"
#include "stage_headers.hpp"

namespace crossdock {

/// @brief Compiles one rank's plan, in rounds in which all ranks take part.
///
/// | state | legal call | next |
/// |---|---|---|
/// | round k < num_rounds() | `send()`, then `receive()` with what came | round k + 1 |
/// | round num_rounds() | `finish()` | finished |
///
/// A rank starts with its items and their destination sets. In a stage it asks the route for the
/// next hop of every destination, groups by it, and sends one header per next hop: for every run of
/// items their source and their remaining destinations. What it sent and what came are noted, and
/// become the plan. Balanced routes first agree on who speaks for a region, in two more rounds. Where
/// a route has one stage, a list of ascending items is a message as it stands, and no item is looked at.
///
/// Holds nothing of size P: memory and time follow what passes through this rank.
class plan_compiler {
  public:
    /// @param regions  borrowed until `finish()`, as are `p` and `r`
    /// @pre `validate(p)` passes
    /// @throws error(errc::count_overflow)  2^32 items or more for one destination
    plan_compiler(const topology& regions, const pattern& p, const route& r,
                  const compile_options& options);

    /// @brief How many rounds there are; equal on all ranks.
    int num_rounds() const noexcept;

    /// @brief This round's messages, at most one per rank, none to itself.
    std::vector<word_message> send();

    /// @brief Takes what came in this round, sorted by source.
    void receive(const std::vector<word_message>& inbox);

    /// @throws error(errc::count_mismatch)  a source sends another number of items than is expected
    /// @throws error(errc::internal)        the route left an item on the way
    plan finish();

  private:
    // An item and one of the places it is for.
    struct own_item {
        count_t item;
        rank_t destination;
        std::uint32_t ordinal;
    };
    // The slots this rank expects from a source, and what came so far.
    struct expected_source {
        std::span<const count_t> slots;
        std::vector<count_t> joined_slots;  // if there are several entries for it
        count_t num_arrived = 0;
    };
    class known_hops;

    int agreement_rounds() const noexcept { return route_.is_balanced() ? 2 : 0; }
    void expect_slots();
    bool sends_lists() const;
    std::vector<own_item> own_items(bool for_itself) const;
    void hold_own_items();
    std::vector<region_volume> volumes_by_region() const;
    std::span<const count_t> own_positions_of(const item_run& run) const;
    std::vector<word_message> send_stage(int stage);
    void receive_stage(const std::vector<word_message>& inbox);
    void receive_run(item_run run, header_reader& header);
    void deliver(const item_run& run, std::span<const run_target> targets);
    void check_counts() const;

    const topology& regions_;
    const pattern& pattern_;
    const route& route_;
    compile_options options_;
    leader_agreement agreement_;
    int round_ = 0;
    count_t num_positions_;
    std::vector<count_t> own_positions_;  // of the items of all own runs, one after the other
    item_runs held_;
    bool sends_lists_;  // nothing of its own is held
    std::unordered_map<rank_t, expected_source> expected_;
    std::vector<run_target> arrived_;  // those of the present run that are here
    plan::contents plan_;
};

}  // namespace crossdock
