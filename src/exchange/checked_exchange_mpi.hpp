/// @file
/// @brief The first round of a collective call, which also checks its arguments.
#pragma once

#include <optional>
#include <vector>

#include "../base/rank_fault_mpi.hpp"
#include "../pattern/checked_pattern.hpp"
#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"

namespace crossdock {

/// @brief Words between ranks that do not know yet whether their arguments are equal and right.
///
/// As `exchange_words`, whose `regions` would have to be equal on all ranks: this one travels along
/// those of the last call on the communicator that went well. All calls of the library whose
/// arguments include a topology begin with it, so that even different ones meet here, and fail.
/// @param regions  of this rank's arguments; part of `same`
/// @param fault    this rank's, if it has any
/// @param same     of all arguments that must be equal on all ranks
/// @param late, bits  as in `exchange_words`
/// @return what came, sorted by source; `regions` is the same on all ranks now
/// @par Collective
/// Yes; blocks. A sparse exchange; the first on a communicator takes one agreement more.
/// @throws error  the fault of the lowest rank that has one; or error(errc::invalid_argument) where
/// `same` differs; on all ranks
std::vector<word_message> exchange_checked_words(const communicator& comm, const topology& regions,
                                                 const std::vector<word_message>& to_send,
                                                 const std::optional<error>& fault,
                                                 const equal_arguments& same,
                                                 std::optional<error>* late = nullptr,
                                                 std::uint32_t* bits = nullptr);

/// @brief Whether a rank's arguments fit together.
/// @throws error(errc::size_mismatch)  the topology, the pattern and the communicator disagree
/// @throws as `validate(pattern)`
void check_sizes(const communicator& comm, const topology& regions, const checked_pattern& p);

}  // namespace crossdock
