/// @file
/// @brief The sparse exchange of words by which planning talks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "../base/word_message.hpp"
#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"

namespace crossdock {

/// @brief Words in place of bytes, as planning talks: for the machine of the communicator, since
/// that of a rank's context is an argument that need not be right.
/// @param fault  this rank's, as in `bytes_to_send`; so is `same`
/// @param late   receives what this rank failed with when all had agreed that nobody has, so that it
/// can say so the next time; without `late` it is thrown on this rank alone
/// @param bits   of this rank; receives those that all ranks have, or none where no message of the
/// algorithm can tell: all of "auto" can
/// @return what came, sorted by source
/// @par Collective
/// As `exchange_bytes`.
std::vector<word_message> exchange_words(const communicator& comm, const topology& regions,
                                         const std::vector<word_message>& to_send,
                                         const std::optional<error>& fault = std::nullopt,
                                         const equal_arguments& same = {},
                                         std::optional<error>* late = nullptr,
                                         std::uint32_t* bits = nullptr);

}  // namespace crossdock
