/// @file
/// @brief Collective ways to make a pattern, from needed indices or a distributed graph, and to write one to a file.
#pragma once

#include <span>
#include <string>

#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/pattern.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Makes a pattern from the global indices that each rank owns and needs; the ranks find the owners.
///
/// Item i is `owned[i]`, slot j is `needed[j]`. A rank may need an index several times, and may need its own.
///
///     rank 0 owns {0 1}, needs {3 2}      rank 0 sends {1} to 1, receives {slot 1, slot 0} from 1
///     rank 1 owns {2 3}, needs {1}        rank 1 sends {0 1} to 0, receives {slot 0} from 0
///
/// Ranks register what they own in a distributed directory, which is spread evenly over the ranks. Then they ask the
/// directory who owns what they need, get its answer, and ask the owners: three sparse exchanges and the answer.
/// @param owned   global indices >= 0 in any order; each is owned by one rank only
/// @param needed  global indices in any order
/// @par Collective
/// Yes; blocks.
/// @throws error(errc::index_out_of_range)  an index is negative, or needed but owned by no rank
/// @throws error(errc::invalid_argument)    an index is owned twice
/// @par Complexity
/// Time, memory and messages grow with the number of runs of consecutive owned indices and with the number of needed
/// indices; each rank also keeps its part of the directory. Nothing is of size P.
[[nodiscard]] pattern pattern_from_needed(const communicator& comm, std::span<const count_t> owned,
                                          std::span<const count_t> needed);

/// @brief As above, for a rank that owns `first_owned` … `first_owned + num_owned - 1`.
[[nodiscard]] pattern pattern_from_needed(const communicator& comm, count_t first_owned,
                                          count_t num_owned, std::span<const count_t> needed);

/// @brief Counts and displacements in items, in the order in which MPI_Neighbor_alltoallv takes them.
struct neighbor_counts {
    std::span<const count_t> send_counts;
    std::span<const count_t> send_displacements;
    std::span<const count_t> receive_counts;
    std::span<const count_t> receive_displacements;
    std::span<const count_t> send_ids = {};  ///< as in `neighbor_alltoallv_arguments`
};

/// @brief Makes a pattern from a communicator with a distributed graph, and the counts along its edges.
/// @param graph   made by MPI_Dist_graph_create or MPI_Dist_graph_create_adjacent
/// @param counts  entries in the order of MPI_Dist_graph_neighbors
/// @par Collective
/// No; it asks MPI only for what is known locally. An error is thrown on this rank alone: let a collective call check
/// the pattern, or agree, before any rank waits for another.
/// @throws error(errc::invalid_argument)  the communicator has no distributed graph
/// @throws as `pattern_from_neighbor_alltoallv`
[[nodiscard]] pattern pattern_from_dist_graph(MPI_Comm graph, const neighbor_counts& counts);

/// @brief Writes what all ranks send, for `crossdock try`, `analyze`, `explain`, `simulate`, `draw`, `export` and
/// `bench neighbor`.
///
/// `path` becomes a matrix in Matrix Market's format whose product y = A x exchanges these items, and the file beside
/// it with `.owners` in place of `.mtx` gets the rank of each row. The items that a rank sends to others are its rows,
/// in their order; what it sends to itself, and slots, are not written. A rank that sends nothing has one row.
///
///     rank 0: items [a b c], sends to 1: {a c}    2 ranks    halo.mtx: 3 rows, entries (3,1) and (3,2)
///     rank 1: sends nothing                                  halo.owners: 0 0 1
/// Both are written beside, with `.partial` behind their names, and get these when they are complete.
/// @param path        ends in .mtx; what rank 0 says counts, and rank 0 writes
/// @param item_bytes  bytes of an item, which `crossdock try` exchanges; what rank 0 says counts
/// @par Collective
/// Yes; blocks.
/// @throws error  on all ranks: errc::file_error if a file cannot be written; errc::invalid_argument if `path` ends
///         otherwise, or `item_bytes` is below 1; errc::size_mismatch if the pattern is another rank's, or of other
///         ranks; as `validate`
/// @par Complexity
/// Time on rank 0 is linear in the items that all ranks send. Its memory is that of one rank's, and three numbers for
/// each rank.
void write_pattern(const communicator& comm, const pattern& p, const std::string& path,
                   count_t item_bytes = sizeof(double));

}  // namespace crossdock
