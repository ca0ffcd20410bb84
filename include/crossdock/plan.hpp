/// @file
/// @brief Plans: the messages of one rank in an exchange, as data; how they are compiled, verified and counted.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/route.hpp"
#include "crossdock/topology.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A message that a rank sends in a stage, and the positions whose items it holds.
struct outgoing_message {
    rank_t destination = 0;
    std::vector<count_t> positions;

    friend bool operator==(const outgoing_message&, const outgoing_message&) = default;
};

/// @brief A message that a rank receives in a stage. Its items take consecutive positions.
struct incoming_message {
    rank_t source = 0;
    count_t first_position = 0;
    count_t num_items = 0;

    friend bool operator==(const incoming_message&, const incoming_message&) = default;
};

/// @brief The messages of one stage, which may travel at the same time; both lists are sorted by rank.
struct plan_stage {
    std::vector<outgoing_message> sends;
    std::vector<incoming_message> receives;

    friend bool operator==(const plan_stage&, const plan_stage&) = default;
};

/// @brief A copy at an item's destination, from `position` to `slot`.
struct delivery {
    count_t position = 0;
    count_t slot = 0;

    friend bool operator==(const delivery&, const delivery&) = default;
};

/// @brief One rank's plan of an exchange: which messages it sends and receives. Immutable data, without MPI.
///
/// A *position* names a value that the rank holds: 0 … num_items-1 are its own items. The items that it receives
/// follow, in the order of stages and, within a stage, of sources. Messages carry items and no headers: the plan says
/// which item is where, and where it goes next.
///
///     4 ranks, "2x2", two_step, rank 0's item a to ranks 2 and 3 (num_items 1 at rank 0, else 0):
///         rank 0  stage 0: sends to 2 {0}
///         rank 2  stage 0: receives from 0 at 0;  stage 1: sends to 3 {0};  delivers 0 -> slot 0
///         rank 3  stage 1: receives from 2 at 0;  delivers 0 -> slot 0
class plan {
  public:
    /// @brief The fields of a plan, named as the accessors are.
    struct contents {
        rank_t rank = 0;
        rank_t num_ranks = 1;
        std::string route_name;
        bool is_deduplicated = true;
        count_t num_items = 0;
        count_t num_slots = 0;
        std::vector<plan_stage> stages;
        std::vector<delivery> deliveries;
        std::vector<rank_t> item_destinations = {};

        friend bool operator==(const contents&, const contents&) = default;
    };

    /// @throws error(errc::invalid_plan)  a rank, position or slot is out of range; a position is sent before it is
    /// received; a message has no items; receives do not take consecutive positions; or there are destinations, but not
    /// one for each own item that is sent
    /// @par Complexity
    /// Linear in the plan.
    explicit plan(contents data);

    rank_t rank() const noexcept { return data_.rank; }
    rank_t num_ranks() const noexcept { return data_.num_ranks; }
    const std::string& route() const noexcept { return data_.route_name; }
    bool is_deduplicated() const noexcept { return data_.is_deduplicated; }
    /// @brief Length of the local array, which the items are in.
    count_t num_items() const noexcept { return data_.num_items; }
    /// @brief Length of the output array.
    count_t num_slots() const noexcept { return data_.num_slots; }
    const std::vector<plan_stage>& stages() const noexcept { return data_.stages; }
    /// @brief Ascending by position.
    const std::vector<delivery>& deliveries() const noexcept { return data_.deliveries; }
    /// @brief Of each own item in a message, in the order of stages and messages, the rank that it is for. In reverse,
    /// what comes back is combined in the order of these. Empty where one item may be for several ranks.
    const std::vector<rank_t>& item_destinations() const noexcept {
        return data_.item_destinations;
    }

    /// @brief The number of positions: own items and received ones.
    count_t num_positions() const noexcept;

    friend bool operator==(const plan&, const plan&) = default;

  private:
    contents data_;
};

/// @brief The plan as text for people, a few lines for each stage.
std::string to_string(const plan& p);

/// @brief The plan as JSON text, schema "crossdock.plan/1".
std::string to_json(const plan& p);

/// @brief Reads what `to_json` wrote. The result is equal to the plan that was written.
/// @throws error(errc::parse_error)   the text is not JSON or has another schema; a field is missing, unknown or of
/// another type; or a number does not fit
/// @throws error(errc::invalid_plan)  as the constructor
[[nodiscard]] plan plan_from_json(const std::string& text);

/// @brief Options for compiling plans; equal on all ranks.
struct compile_options {
    /// Whether an item is sent once to a next hop that several of its destinations share, or once for each.
    bool deduplicate = true;
};

/// @brief Compiles the patterns of all ranks offline. Rank p's result is identical to what the overload with a context
/// gives on rank p.
/// @param regions   P ranks
/// @param patterns  P patterns, entry p for rank p
/// @param r         a route made for `regions`
/// @return P plans, entry p for rank p; no reference to the arguments remains
/// @throws error(errc::size_mismatch)   there are not P patterns, or their `num_ranks` is not P
/// @throws error(errc::count_mismatch)  a sender and its receiver disagree; the text names both ranks
/// @throws as `validate(pattern)`
/// @par Complexity
/// Time and memory O(H n) for H = r.num_stages() and n pairs of an item and a destination. Headers hold runs of items,
/// and for each run its source and destinations once.
/// @par Source
/// One scheme for the three steps of \cite collom2023neighbor and the stages of \cite selvitopi2019vpt.
[[nodiscard]] std::vector<plan> compile(const topology& regions, std::span<const pattern> patterns,
                                        const route& r, const compile_options& options = {});

/// @brief Verifies symbolically that the plans bring every item to each slot that needs it, exactly once.
///
/// It follows the identity of every value, its source and item, stage by stage through all positions. The rank that a
/// message names must receive it in the same stage, with the same number of items. Each slot that a pattern receives
/// into must be filled once, by the item that its source lists for it; no other slot may be filled.
/// @param plans     P plans, entry p for rank p
/// @param patterns  the P patterns that they were compiled from
/// @throws error(errc::invalid_plan)   the plans do something else; the text names the rank, and the stage, message or
/// slot
/// @throws error(errc::size_mismatch)  there are not as many plans as patterns
/// @par Complexity
/// Time and memory linear in the positions and slots of all plans.
void verify(std::span<const plan> plans, std::span<const pattern> patterns);

/// @brief The messages and items that one rank sends: all of them, and those that leave its region.
struct traffic {
    count_t messages = 0;
    count_t items = 0;
    count_t inter_region_messages = 0;
    count_t inter_region_items = 0;

    traffic& operator+=(const traffic& other);
    friend bool operator==(const traffic&, const traffic&) = default;
};

/// @brief The messages and items that `sender` sends in one stage.
/// @pre `stage` < `sender.stages().size()`
traffic stage_traffic(const topology& regions, const plan& sender, std::size_t stage);

/// @brief The messages and items that `sender` sends in all stages.
traffic total_traffic(const topology& regions, const plan& sender);

/// @brief The number of items that a rank needs buffers for: those that it sends and receives in all stages. An item
/// that the rank forwards counts twice, as it takes space in the message that arrives and in the one that leaves.
/// @par Source
/// \cite selvitopi2019vpt counts the buffers for sending, receiving, and storing and forwarding.
count_t buffer_items(const plan& p);

/// @brief Sum, maximum and mean of a number over all ranks.
struct summary {
    count_t total = 0;
    count_t max = 0;
    double mean = 0;

    friend bool operator==(const summary&, const summary&) = default;
};

/// @brief The fields of `traffic`, each summarized over all ranks.
struct traffic_summary {
    summary messages;
    summary items;
    summary inter_region_messages;
    summary inter_region_items;
};

/// @brief The messages and items of all ranks on one route.
struct plan_statistics {
    std::vector<traffic_summary> stages;
    traffic_summary total;
    summary buffer_items;
};

/// @brief Counts the messages and items of all ranks' plans.
/// @pre the plans are of one route, entry p for rank p
/// @par Complexity
/// Linear in the messages of all plans.
[[nodiscard]] plan_statistics analyze(const topology& regions, std::span<const plan> plans);

/// @brief Sum, maximum and mean of a number that each rank has.
summary summarize(std::span<const count_t> per_rank);

}  // namespace crossdock
