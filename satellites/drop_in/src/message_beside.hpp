/// @file
/// @brief Messages between the two ends of an edge, of the library's own.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "crossdock/types.hpp"
#include "own_functions.hpp"

namespace crossdock::drop_in {

/// @brief Values in memory, as MPI is told of them.
struct typed_values {
    void* at;
    value_count count;
    MPI_Datatype type;
};

/// @brief Where messages go, and the first of their tags.
struct tagged_comm {
    MPI_Comm comm;
    int tag;
};

/// @brief The ends of a message, and its tag.
struct message_place {
    MPI_Comm comm;
    int peer;
    int tag;
};

/// @brief A message under way.
///
/// What is received is looked at first: Open MPI 4.1 writes beyond the end of memory that is too short for a long
/// message.
class message_beside {
  public:
    /// @param block, is_again  as the functions of the same names return them
    message_beside(const message_place& where, std::size_t block, bool is_again)
        : where_(where), block_(block), is_again_(is_again) {}
    ~message_beside();
    message_beside(const message_beside&) = delete;
    message_beside& operator=(const message_beside&) = delete;

    /// @brief Of which block it is.
    std::size_t block() const noexcept { return block_; }
    /// @brief Whether the plan brings the block, too.
    bool is_again() const noexcept { return is_again_; }
    const message_place& where() const noexcept { return where_; }
    /// @brief Memory of its own, for values as MPI packs them.
    std::vector<std::byte> packed;
    typed_values packed_values();
    /// @brief Whether its length is known.
    bool is_found() const noexcept { return num_bytes_ >= 0; }
    /// @brief How many bytes have come.
    count_t num_bytes() const noexcept { return num_bytes_; }

    void send(const typed_values& values);
    /// @brief Whether one that was sent is complete.
    bool is_sent();
    /// @brief Whether it has come.
    /// @param place  gives memory for so many bytes
    template <class Place>
    bool has_come(Place&& place) {
        if (num_bytes_ < 0 && !(find() && begin(place(num_bytes_)))) return false;
        return is_sent();
    }

  private:
    bool find();
    bool begin(const typed_values& values);

    message_place where_;
    std::size_t block_;
    bool is_again_;
    count_t num_bytes_ = -1;  // not yet known
    MPI_Message found_ = MPI_MESSAGE_NULL;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

using messages_beside = std::vector<std::unique_ptr<message_beside>>;

}  // namespace crossdock::drop_in
