/// @file
/// @brief Values of an MPI datatype, in and out of the bytes of a sparse data exchange.
#pragma once

#include <span>
#include <vector>

#include "../base/datatype_mpi.hpp"
#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"

namespace crossdock {

/// @brief The values of one message, in the array they are sent from.
struct addressed_values {
    rank_t destination = 0;
    count_t first = 0;
    count_t count = 0;
};

/// @brief Adds messages to `to_send`, whose shape has the packer's `item_bytes`.
/// @param values  one extent after the other; may be null if there are none
/// @param packed  receives the values of a datatype with gaps, and must live as long as `to_send`
void add_values(bytes_to_send& to_send, std::vector<std::byte>& packed,
                std::span<const addressed_values> messages, const void* values,
                const datatype_packer& packer);

/// @brief Writes what came, one extent after the other; gaps stay untouched.
/// @param to  room for `bytes_of_values`
void copy_values(const byte_inbox& inbox, const datatype_packer& packer, void* to);

/// @brief The memory that values take, one extent after the other.
/// @throws error(errc::invalid_argument)  a value reaches before its address
count_t bytes_of_values(count_t num_values, const datatype_layout& layout);

}  // namespace crossdock
