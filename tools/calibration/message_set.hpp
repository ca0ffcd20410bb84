/// @file
/// @brief Messages that are sent again and again.
#pragma once

#include <cstddef>
#include <vector>

#include "measuring.hpp"

namespace crossdock {

/// @brief A rank's part in messages of all ranks: persistent requests with buffers of their own.
class message_set {
  public:
    message_set() = default;
    message_set(const message_set&) = delete;
    message_set& operator=(const message_set&) = delete;
    message_set(message_set&& other) noexcept = default;
    message_set& operator=(message_set&&) = delete;
    ~message_set();

    void send_to(rank_t rank, std::size_t bytes, MPI_Comm comm);
    void receive_from(rank_t rank, std::size_t bytes, MPI_Comm comm);

    /// @brief Sends and receives all of them once.
    /// @return of this rank; `part` is the time of a core in the calls that send
    found_times exchange();

  private:
    std::vector<MPI_Request> receives_;
    std::vector<MPI_Request> sends_;
    std::vector<std::vector<std::byte>> buffers_;
};

}  // namespace crossdock
