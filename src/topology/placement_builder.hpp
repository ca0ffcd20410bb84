/// @file
/// @brief The one encoder of placements: what it returns depends on the regions only.
#pragma once

#include <algorithm>
#include <vector>

#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief Calls `visit(region, count)` for every run of `count` consecutive ranks, in rank order.
template <class Visit>
void for_each_run(const placement& code, Visit visit) {
    region_t offset = 0;
    for (rank_t left = code.num_ranks; left > 0;) {
        const rank_t count = std::min(left, code.run_length);
        visit(code.first_region + offset, count);
        left -= count;
        offset = (offset + 1) % code.num_regions;
    }
}

/// @brief Takes ranks 0, 1, … as runs of one region and encodes them greedily.
///
/// However a sequence of regions is cut into runs, the code is the same: adjacent runs of one
/// region are joined before they are encoded, and a joined run is never split.
class placement_builder {
  public:
    /// @brief The next `count` ranks belong to `region`.
    /// @throws error(errc::invalid_topology)  more ranks than rank_t can number
    void append(region_t region, rank_t count);

    /// @brief The next `code.num_ranks` ranks are placed as `code` says; its first rank is ignored.
    void append(const placement& code);

    /// @brief The code of all that was appended.
    std::vector<placement> finish() &&;

  private:
    void close_run();

    std::vector<placement> code_;
    rank_t num_ranks_ = 0;  // encoded in code_
    region_t open_region_ = 0;
    rank_t open_count_ = 0;  // the last run; it may still grow
};

}  // namespace crossdock
