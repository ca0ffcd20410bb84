// What a rank copies, combines and exchanges in a gather-scatter.
#pragma once

#include <optional>

#include "crossdock/detail/executor/copy_list.hpp"
#include "crossdock/pattern.hpp"
#include "shared_ids_mpi.hpp"

namespace crossdock {

/// @brief Between the copies of an id on one rank. Its *first* copy, of those that are not flagged
/// before the others, stands for all of them: values of others meet there.
struct place_lists {
    copy_list first;    ///< the first copy that gives, to itself
    copy_list more;     ///< the others that give, to the first
    copy_list results;  ///< from the first copy to all that get
};

/// @brief The lists and patterns of one rank.
///
/// Items and slots are numbered as the rank's ids are, and are the same array: the user's, or a work
/// array of its length where several arrays are combined or copies are flagged. Values of other
/// holders have an array of their own.
struct gather_lists {
    /// @brief Those of a rank that has failed to make them.
    explicit gather_lists(const error& why) : fault(why) {}

    /// @param with_holders  whether `between_holders` is asked for; then all holders are listed
    gather_lists(rank_t rank, rank_t num_ranks, count_t num_ids, const id_groups& groups,
                 const shared_ids& shared, bool with_holders);

    std::optional<error> fault;  ///< told to all ranks in the first round on one of the patterns
    count_t num_ids = 0;
    count_t num_other_values = 0;
    place_lists normal;
    std::optional<place_lists> own_transposed;  ///< unset where nothing is flagged here
    pattern to_holders;                         ///< from owners, items, to all other holders, slots
    /// From owners to other holders with copies that are not flagged; empty if all holders have such copies.
    pattern to_unflagged;
    /// From every holder to all others, whose slots are in the array of other values.
    pattern between_holders;
    /// Combines the values of all holders by rank, in the place of the lowest one's value: what
    /// comes before this rank's value, that, and what comes after it. The last step is from slots
    /// to the first copies where this rank is the lowest holder, and elsewhere between slots.
    copy_list others_before, own_value, others_after, others_after_own;
    copy_list merged;  ///< from slots to the first copies, where another rank is the lowest holder

    const place_lists& places(bool transposed) const {
        return transposed && own_transposed ? *own_transposed : normal;
    }
};

}  // namespace crossdock
