/// @file
/// @brief Communication patterns: which items a rank sends to whom, and receives from whom.
#pragma once

#include <span>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Neighbors and, for each, a list of indices, in compressed rows (CSR).
///
/// Entry e belongs to rank `ranks[e]` and lists `indices[offsets[e]] … indices[offsets[e+1]-1]`. If a rank has several
/// entries, their lists in a row are its list.
struct neighbor_list {
    std::vector<rank_t> ranks;
    std::vector<count_t> offsets{0};
    std::vector<count_t> indices;

    std::size_t size() const noexcept { return ranks.size(); }
    std::span<const count_t> operator[](std::size_t entry) const {
        return std::span(indices).subspan(
            static_cast<std::size_t>(offsets[entry]),
            static_cast<std::size_t>(offsets[entry + 1] - offsets[entry]));
    }
    /// @brief Appends an entry.
    void append(rank_t rank, std::span<const count_t> entry_indices);

    friend bool operator==(const neighbor_list&, const neighbor_list&) = default;
};

/// @brief One rank's part of a communication pattern: the items that it sends, and the slots that it receives into.
///
/// An *item* is one value of the local array, named by its index. A *slot* is a place in the output
/// array. The k-th item that s lists for d fills the k-th slot that d lists for s. An item that is
/// listed for several destinations, or twice for one, is ONE item with several destinations.
///
///     rank 0: items [a b c], sends to 1: {a c}    rank 1: slots [. .], receives from 0: {1 0}
///     after an exchange rank 1 holds [c a]
struct pattern {
    rank_t rank = 0;
    rank_t num_ranks = 1;
    count_t num_items = 0;   ///< length of the local array
    count_t num_slots = 0;   ///< length of the output array
    neighbor_list sends;     ///< destinations and item indices in [0, num_items)
    neighbor_list receives;  ///< sources and slot indices in [0, num_slots), each at most once

    friend bool operator==(const pattern&, const pattern&) = default;
};

/// @brief Checks one rank's pattern, as far as the rank can without asking others.
/// @throws error(errc::rank_out_of_range)   a neighbor is outside [0, num_ranks)
/// @throws error(errc::index_out_of_range)  an item or a slot is outside its array
/// @throws error(errc::invalid_argument)    offsets decrease, or a slot is filled twice
/// @throws error(errc::size_mismatch)       `ranks`, `offsets` and `indices` disagree in length
/// @par Complexity
/// Time linear in the number of items sent and received. Memory of one bit for each slot, unless slots ascend.
void validate(const pattern& p);

/// @brief The arguments of MPI_Neighbor_alltoallv, in items; arrays may be null where counts are 0.
struct neighbor_alltoallv_arguments {
    std::span<const rank_t> destinations;
    std::span<const count_t> send_counts;
    std::span<const count_t> send_displacements;
    std::span<const rank_t> sources;
    std::span<const count_t> receive_counts;
    std::span<const count_t> receive_displacements;
    /// Optional: an id for each position of the send buffer, up to the largest displacement + count. Positions with
    /// equal ids hold the same value and are one item; deduplication needs to know that.
    std::span<const count_t> send_ids = {};
};

/// @brief Makes a pattern from the arguments of MPI_Neighbor_alltoallv.
///
/// Item i is position i of the send buffer; slot j is position j of the receive buffer. An exchange leaves gaps between
/// displacements as they are.
/// @throws error(errc::size_mismatch)     arrays of one side differ in length, or `send_ids` is too short
/// @throws error(errc::invalid_argument)  a count or displacement is negative
/// @throws as `validate`
/// @par Source
/// \cite collom2023neighbor, which extends MPI_Neighbor_alltoallv by the ids.
[[nodiscard]] pattern pattern_from_neighbor_alltoallv(
    rank_t rank, rank_t num_ranks, const neighbor_alltoallv_arguments& arguments);

/// @brief Columns as they are numbered in an array of what a rank owns, with its ghosts behind.
///
///     4 columns, rank 1 owns 2 and 3     columns of its rows   2 1 3 3 0
///                                        ghosts                0 1
///     array: 2 3 | 0 1                   columns, local        0 3 1 1 2
struct local_columns {
    std::vector<count_t> ghosts;   ///< global columns of other ranks, each once, ascending
    std::vector<count_t> columns;  ///< in the order of the global ones; ghost j is `num_owned` + j
};

/// @brief Finds the ghosts of a rank's rows, and renumbers all columns.
///
/// The ghosts are what `pattern_from_needed` takes: item i of its pattern is owned column i, slot j is ghost j, so that
/// an exchange of the first `num_owned` entries of an array fills those behind.
/// @param first_owned, num_owned  the columns that the rank owns, which it need not use
/// @param columns  the global column of each entry of the rank's rows, as CSR has them, in any order
/// @par Collective
/// No. An error is thrown on this rank alone: agree before any rank waits for another.
/// @throws error(errc::index_out_of_range)  a column is negative
/// @throws error(errc::invalid_argument)    `first_owned` or `num_owned` is negative
/// @par Complexity
/// n entries and g ghosts take a time of O(n log g), and of the entries of ghosts O(m log m).
[[nodiscard]] local_columns renumber_columns(count_t first_owned, count_t num_owned,
                                             std::span<const count_t> columns);

}  // namespace crossdock
