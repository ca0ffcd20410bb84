/// @file
/// @brief Patterns that ranks find out together.
#pragma once

#include <span>

#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/pattern.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A pattern from the global indices that a rank needs; who owns them is found out.
///
/// Item i is `owned[i]`, slot j is `needed[j]`. An index may be needed repeatedly, on its owner
/// too.
///
///     rank 0 owns {0 1}, needs {3 2}      rank 0 sends {1} to 1, receives {slot 1, slot 0} from 1
///     rank 1 owns {2 3}, needs {1}        rank 1 sends {0 1} to 0, receives {slot 0} from 0
///
/// Owners are registered in a directory that is itself spread evenly over the ranks: three sparse
/// exchanges in all (register, ask the directory, ask the owner) and its answer in between.
/// @param owned   global indices >= 0, each owned by one rank only, in any order
/// @param needed  global indices
/// @par Collective
/// Yes; blocks.
/// @throws error(errc::index_out_of_range)  an index is negative, or needed but owned by no rank
/// @throws error(errc::invalid_argument)    an index is owned twice
/// @par Complexity
/// Time, memory and messages follow the number of runs of consecutive indices owned and of indices
/// needed, with those that the directory keeps for others; nothing is of size P.
pattern pattern_from_needed(const communicator& comm, std::span<const count_t> owned,
                            std::span<const count_t> needed);

/// @brief As above for a rank that owns `first_owned` … `first_owned + num_owned - 1`.
pattern pattern_from_needed(const communicator& comm, count_t first_owned, count_t num_owned,
                            std::span<const count_t> needed);

/// @brief Counts and displacements for `pattern_from_dist_graph`, in items, as MPI_Neighbor_alltoallv takes
/// them.
struct neighbor_counts {
    std::span<const count_t> send_counts;
    std::span<const count_t> send_displacements;
    std::span<const count_t> receive_counts;
    std::span<const count_t> receive_displacements;
    std::span<const count_t> send_ids = {};  ///< as in `neighbor_alltoallv_arguments`
};

/// @brief A pattern from a communicator with a distributed graph and what goes along its edges.
/// @param graph   made by MPI_Dist_graph_create or MPI_Dist_graph_create_adjacent
/// @param counts  entries in the order of MPI_Dist_graph_neighbors
/// @par Collective
/// No; asks MPI what it knows locally. An error is this rank's alone: pass the pattern on through a
/// collective call, or agree, before anybody waits.
/// @throws error(errc::invalid_argument)  the communicator has no distributed graph
/// @throws as `pattern_from_neighbor_alltoallv`
pattern pattern_from_dist_graph(MPI_Comm graph, const neighbor_counts& counts);

}  // namespace crossdock
