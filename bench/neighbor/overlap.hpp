/// @file
/// @brief How much of an exchange hides behind computation.
#pragma once

#include <vector>

#include "bench/common/stopwatch.hpp"
#include "bench/neighbor/contender.hpp"

namespace crossdock::bench {

/// @brief An exchange, a computation that takes about as long, and both at once.
///
///     |---- exchange ----|
///     |---- compute -----|            hidden = exchange + compute - together
///     |---- together -----------|     efficiency = hidden / exchange
struct overlap {
    timing exchange_seconds;
    timing compute_seconds;
    timing together_seconds;  ///< computing between start and wait

    /// @brief Of the medians; negative where both at once take longer than one after the other.
    double hidden_seconds() const noexcept;

    /// @brief 1 where all of the exchange is hidden, 0 where nothing is.
    double efficiency() const noexcept;
};

/// @brief Times contenders in turn as a `stopwatch` does, each with a computation of its own length.
/// @param exchange_seconds  how long each contender's exchange takes; those of rank 0 count
/// @param has_tests  whether the computation is interrupted by tests
/// @return for every contender; means nothing but on rank 0
/// @par Collective
/// Yes; blocks.
std::vector<overlap> measure_overlap(const communicator& comm,
                                     const std::vector<contender*>& contenders,
                                     std::vector<double> exchange_seconds, int iterations,
                                     bool has_tests);

}  // namespace crossdock::bench
