/// @file
/// @brief With whose times those of contenders are compared.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/common/stopwatch.hpp"
#include "tools/crossdock/round_ratio.hpp"

namespace crossdock::tool {

/// @brief The contender that others are compared with.
struct reference_time {
    std::string name;
    std::string which;  ///< among the contenders: "the fastest that uses MPI alone"
    bench::timing seconds;

    /// @brief "0.50": a median over this one's.
    std::string ratio(double median_seconds) const;
    /// @brief Compares the times of a contender that took turns with this one, round by round.
    round_ratio compare(const bench::timing& contender_seconds) const;
    /// @brief What a ratio is, for the lines above a table.
    std::string legend() const;
};

/// @brief The fastest of those that the others are compared with; the first contender where there is none.
/// @param seconds   of a standing: the times whose median counts
/// @param label_of  of a standing: what the table calls it
/// @param is_one    of a standing: whether others are compared with it
/// @param which     what these have in common, as "that uses MPI alone"
template <class Standing, class Label, class IsOne>
reference_time fastest_of(const std::vector<Standing>& standings, bench::timing Standing::*seconds,
                          Label label_of, IsOne is_one, const std::string& which) {
    const Standing* best = nullptr;
    for (const auto& one : standings) {
        if (std::invoke(is_one, one) &&
            (best == nullptr || (one.*seconds).median < (best->*seconds).median))
            best = &one;
    }
    const Standing& taken = best != nullptr ? *best : standings.front();
    return {std::invoke(label_of, taken),
            best != nullptr ? "the fastest " + which : "the first contender", taken.*seconds};
}

/// @brief Whether a contender uses MPI alone: its collectives, or requests written by hand.
bool uses_mpi_alone(const std::string& name);

/// @brief The fastest of those that use MPI alone, which are called by their names.
template <class Standing, class Label>
reference_time fastest_of_mpi(const std::vector<Standing>& standings,
                              bench::timing Standing::*seconds, Label label_of) {
    const auto is_one = [&](const Standing& one) {
        return uses_mpi_alone(std::invoke(label_of, one));
    };
    return fastest_of(standings, seconds, label_of, is_one, "that uses MPI alone");
}

}  // namespace crossdock::tool
