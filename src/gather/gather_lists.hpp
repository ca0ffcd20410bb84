/// @file
/// @brief What a rank copies, combines and exchanges in a gather-scatter.
#pragma once

#include <optional>

#include "crossdock/detail/executor/copy_list.hpp"
#include "crossdock/pattern.hpp"
#include "id_groups.hpp"
#include "shared_ids_mpi.hpp"

namespace crossdock {

/// @brief Between a rank's places and its work array, which has one item for each id with several
/// copies.
struct place_lists {
    copy_list first;    ///< the first copy that gives, to the work array
    copy_list more;     ///< the others, which are combined there
    copy_list results;  ///< from the work array to the copies that get
};

/// @brief The lists and patterns of one rank.
///
/// The work array:
///
///     shared ids that it owns | other shared ids, by owner | ids of this rank alone | values of other holders
///
/// Ids in a part ascend.
struct gather_lists {
    /// @param with_holders  whether `between_holders` is asked for; then all holders are listed
    gather_lists(rank_t rank, rank_t num_ranks, count_t num_ids, const id_groups& groups,
                 const shared_ids& shared, bool with_holders);

    count_t num_ids = 0;
    count_t num_owned = 0;
    count_t num_work = 0;  ///< but for the values of other holders
    count_t num_other_values = 0;
    place_lists normal;
    std::optional<place_lists> own_transposed;  ///< unset where nothing is flagged here
    pattern to_holders;                         ///< from owners, items, to all other holders, slots
    pattern to_unflagged;  ///< from owners to other holders with copies that are not flagged
    /// From every holder to all others.
    pattern between_holders;
    copy_list merge;           ///< inside the work array: combines all holders' values, by rank
    copy_list merged_results;  ///< as `normal.results`, after `merge`

    const place_lists& places(bool transposed) const {
        return transposed && own_transposed ? *own_transposed : normal;
    }
};

}  // namespace crossdock
