// The cheapest route for messages that go to all partners of every stage.
#pragma once

#include <memory>
#include <string_view>

#include "crossdock/machine.hpp"
#include "crossdock/route_choice.hpp"
#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief What travels to all partners; the same on all ranks.
struct all_partners_load {
    count_t message_bytes = 0;  ///< of a message, besides its items
    count_t num_items = 0;      ///< of a rank, as many for every rank
    count_t item_bytes = 8;
    double seconds_per_item = 0;  ///< that a core takes for each item that a rank receives, besides
};

/// @brief Prices routes on which every rank sends a message to every partner in every stage.
///
/// Messages that describe themselves go so: nobody has to be told who sends, because all do. What a
/// rank has for whom plays no part, so that ranks choose alike without communication.
///
/// The candidates are `direct`; `two_step`, `three_step` and `locality:n` where there are several
/// regions and one has several ranks, and `three_step:1` if ranks share cores; and `grid:n`. A rank
/// waits for all its partners of a stage before the next begins, so prices of stages add up; each is
/// that of the rank with most messages, by `stage_pricer`:
///
/// | route | messages of that rank, and how much of its items is in each; stage by stage |
/// |---|---|
/// | `direct` | S' - 1 inside and P - S' across, 1/P |
/// | `two_step` | S - 1 inside, 1/P, and R - 1 across, 1/R; S - 1 inside, 1/S |
/// | `three_step` | S - 1 inside, 1/S; (R - 1)/S' + 1 across, S/R; S - 1 inside, 1/S |
/// | `three_step:1` | S - 1 inside, 1/S; R - 1 across, S/R; S - 1 inside, 1/S |
/// | `locality:n` | K - 1 across, 1/K, for each of n dimensions; S - 1 inside, 1/S |
/// | `grid:n` | K - 1, 1/K, for each of n dimensions |
///
/// with R regions of S' to S ranks; where blocks or regions are uneven, a rank receives more than
/// it sends. Regions are nodes: across is `locality_level::network`. A grid's messages stay inside
/// where regions are blocks of S ranks and the grid's blocks fit into them, or they into the
/// grid's; elsewhere all are taken to go across. Where ranks share cores, a route takes no less
/// than the work of all ranks and a turn of each in every stage.
///
///     "4x4" on the machine shared_cores, where messages are work: three_step:1, which has fewest
///     "4x4" on generic_100g, where stages are time:                   locality:1, with one stage less
class all_partners_chooser {
  public:
    /// Complexity: Time O(R + log^2 P).
    explicit all_partners_chooser(const topology& regions);

    /// @brief All candidates with their prices.
    ///
    /// Prices are whole picoseconds; of equal ones the first in the order above is chosen.
    /// Complexity: Time O(log^2 P).
    route_choice choose(const machine& m, const all_partners_load& load = {}) const;

    /// @brief The price of one candidate, as `choose` finds it.
    /// @throws error(errc::unknown_route)  it is none
    double seconds(std::string_view route, const machine& m,
                   const all_partners_load& load = {}) const;

  private:
    struct candidates;

    std::shared_ptr<const candidates> all_;  // shared by copies
};

}  // namespace crossdock
