/// @file
/// @brief Who needs which items of whom, as one rank knows it.
#pragma once

#include <span>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Neighbors and, for each, a list of indices (compressed rows).
///
/// Entry e belongs to rank `ranks[e]` and lists `indices[offsets[e]] … indices[offsets[e+1]-1]`.
/// A rank may appear in several entries; their lists are then one list, in order.
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

/// @brief What one rank sends and receives: items of its local array, slots of its output array.
///
/// An *item* is one value of the local array, named by its index. A *slot* is a place in the output
/// array. The k-th item that s lists for d fills the k-th slot that d lists for s. An item listed
/// for several destinations (or twice for one) is ONE item with several destinations.
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

/// @brief Checks what one rank can check alone.
/// @throws error(errc::rank_out_of_range)   a neighbor is outside [0, num_ranks)
/// @throws error(errc::index_out_of_range)  an item or a slot is outside its array
/// @throws error(errc::invalid_argument)    offsets decrease, or a slot is filled twice
/// @throws error(errc::size_mismatch)       `ranks`, `offsets` and `indices` disagree in length
/// @par Complexity
/// Linear in the number of items sent and received; one bit per slot unless slots ascend.
void validate(const pattern& p);

/// @brief The arguments of MPI_Neighbor_alltoallv, in items; arrays may be null where counts are 0.
struct neighbor_alltoallv_arguments {
    std::span<const rank_t> destinations;
    std::span<const count_t> send_counts;
    std::span<const count_t> send_displacements;
    std::span<const rank_t> sources;
    std::span<const count_t> receive_counts;
    std::span<const count_t> receive_displacements;
    /// Optional, as long as the send buffer (its largest displacement + count): positions with an
    /// equal id hold the same value and are one item, which is what deduplication needs.
    std::span<const count_t> send_ids = {};
};

/// @brief A pattern from the arguments of MPI_Neighbor_alltoallv.
///
/// Item i is position i of the send buffer, slot j position j of the receive buffer; gaps between
/// displacements stay untouched.
/// @throws error(errc::size_mismatch)     arrays of one side differ in length, or `send_ids` is
/// short
/// @throws error(errc::invalid_argument)  a negative count or displacement
/// @throws as `validate`
/// @par Source
/// \cite collom2023neighbor (the ids are its extension of MPI_Neighbor_alltoallv).
pattern pattern_from_neighbor_alltoallv(rank_t rank, rank_t num_ranks,
                                        const neighbor_alltoallv_arguments& arguments);

}  // namespace crossdock
