/// @file
/// @brief Who is whose neighbor on a communicator with a topology.
#pragma once

#include <mpi.h>

#include <optional>
#include <span>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock::drop_in {

/// @brief The neighbors of one side. Those that are MPI_PROC_NULL are left out.
struct neighbors {
    /// @param all  as the communicator names them
    explicit neighbors(std::vector<rank_t> all);

    /// @brief Renumbers them, and leaves out those that are no members.
    /// @param members  who have the numbers 0, 1, ... now, in ascending order
    void number_among(std::span<const rank_t> members);

    std::vector<rank_t> ranks;
    std::vector<int> entries;  ///< of each, where it stands among all that the communicator names
};

struct both_sides {
    neighbors sources;
    neighbors destinations;

    bool has_any() const noexcept { return !sources.ranks.empty() || !destinations.ranks.empty(); }
};

/// @brief The neighbors of a rank of a distributed graph, a graph or a grid.
///
/// Nothing for other communicators, and for grids in which a dimension wraps around after one or two ranks: which of
/// the two blocks for one neighbor then goes where differs between MPIs.
std::optional<both_sides> neighbors_of(MPI_Comm comm);

}  // namespace crossdock::drop_in
