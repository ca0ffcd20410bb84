/// @file
/// @brief Cores that ranks take turns on.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "crossdock/block_partition.hpp"
#include "crossdock/simulate.hpp"

namespace crossdock {

/// @brief Cores that serve ranks in turn. Consecutive ranks are on a core, as launchers place them.
///
/// A rank that has nothing to do looks, and gives its core up after `slice`; one that has something
/// does all of it after that. So a rank waits until the time slice comes round to it, also on a
/// core that does nothing else:
///
///     1 core, 4 ranks; rank 2 has something to do from x on
///     looks  0 1 2 3 0 1 2    x = during 0: starts after 2's look
///                  x     ^
class shared_cores {
  public:
    /// @brief When a rank's time slice comes.
    struct next_slice {
        rank_t rank;
        picoseconds start;
    };

    /// @param num_cores  0: every rank has its own, and nothing else is called
    shared_cores(int num_cores, rank_t num_ranks, picoseconds slice);

    /// @brief A rank that is not working has something to do.
    /// @return its time slice, if that is the core's next; an earlier answer of the core is void
    /// then
    std::optional<next_slice> want(rank_t rank, picoseconds now);

    /// @brief Whether a time slice that was announced comes; its rank is working then.
    bool begin(rank_t rank, picoseconds now);

    /// @brief The working rank has nothing to do any more.
    /// @return the next time slice of its core, if a rank wants one
    std::optional<next_slice> give_up(rank_t rank, picoseconds now);

  private:
    struct core {
        std::uint32_t num_ranks = 0;
        std::uint32_t place = 0;  // whose look begins at `time`
        picoseconds time = 0;
        std::set<std::uint32_t> wanting;
        bool is_busy = false;
        std::uint32_t num_looks = 0;  // until the next time slice; 0: none is announced
    };

    core& core_of(rank_t rank) { return cores_[static_cast<std::size_t>(blocks_.owner(rank))]; }
    std::uint32_t place_of(rank_t rank) const {
        return static_cast<std::uint32_t>(rank - blocks_.first(blocks_.owner(rank)));
    }
    next_slice announce(rank_t rank, core& c, std::uint32_t num_looks) const;
    void pass_looks(core& c, picoseconds now) const;

    block_partition blocks_;
    std::vector<core> cores_;
    picoseconds slice_;
};

}  // namespace crossdock
