/// @file
/// @brief Circuit set-up as one rank's state machine; `compile` and `compile_mpi` carry its
/// messages.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "crossdock/base/word_message.hpp"
#include "crossdock/pattern/pattern.hpp"
#include "crossdock/plan/compile.hpp"
#include "crossdock/plan/plan.hpp"
#include "crossdock/plan/speaker_agreement.hpp"
#include "crossdock/route/route.hpp"

namespace crossdock {

/// @brief Compiles one rank's plan, in rounds in which all ranks take part.
///
/// | state | legal call | next |
/// |---|---|---|
/// | round k < num_rounds() | `send()`, then `receive()` with what came | round k + 1 |
/// | round num_rounds() | `finish()` | finished |
///
/// A rank starts with its items and their destination sets. In a stage it asks the route for the
/// next hop of every destination, groups by it, and sends one header per next hop: for every item
/// its source and its remaining destinations. What it sent and what came are noted, and become the
/// plan. Balanced routes first agree on who speaks for a region, in two more rounds.
///
/// Holds nothing of size P: memory and time follow what passes through this rank.
class plan_compiler {
  public:
    /// @param regions  borrowed until `finish()`, as are `p` and `r`
    /// @pre `validate(p)` passes
    /// @throws error(errc::count_overflow)  2^32 items or more for one destination
    plan_compiler(const topology& regions, const pattern& p, const route& r,
                  const compile_options& options);
    plan_compiler(plan_compiler&&) = default;

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
    // Where an item has to go, and which of the items from its source to there it is.
    struct target {
        rank_t destination;
        std::uint32_t ordinal;
    };
    // An item on its way through this rank; its targets are consecutive in a list.
    struct held_item {
        count_t position;
        rank_t source;
        std::size_t first_target;
        std::size_t num_targets;
    };
    struct held_items {
        std::vector<held_item> items;
        std::vector<target> targets;

        void append(count_t position, rank_t source, std::span<const target> item_targets);
        std::span<const target> targets_of(const held_item& item) const {
            return std::span(targets).subspan(item.first_target, item.num_targets);
        }
    };
    // The slots this rank expects from a source, and what came so far.
    struct expected_source {
        std::vector<count_t> slots;
        count_t num_arrived = 0;
    };
    class stage_outbox;

    int agreement_rounds() const noexcept { return route_.is_balanced() ? 2 : 0; }
    void expect_slots();
    void hold_own_items();
    std::vector<region_volume> volumes_by_region() const;
    std::vector<word_message> send_stage(int stage);
    void receive_stage(const std::vector<word_message>& inbox);
    void receive_item(rank_t source, std::span<const target> targets);
    void deliver(count_t position, rank_t source, std::uint32_t ordinal);
    void check_counts() const;

    const topology& regions_;
    const pattern& pattern_;
    const route& route_;
    compile_options options_;
    speaker_agreement agreement_;
    int round_ = 0;
    count_t num_positions_;
    held_items held_;
    std::unordered_map<rank_t, expected_source> expected_;
    rank_t last_source_ = -1;  // the source of the last delivery, and its entry
    expected_source* last_expected_ = nullptr;
    plan::contents plan_;
};

}  // namespace crossdock
