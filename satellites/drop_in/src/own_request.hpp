/// @file
/// @brief Requests of MPI's that this library completes.
#pragma once

#include <mpi.h>

#include "crossdock/communicator.hpp"

namespace crossdock::drop_in {

/// @brief A request that the user holds: a receive of nothing from this rank itself.
///
/// When its exchange is complete, the rank sends the message that completes it, so that whatever MPI does with requests
/// that it knows to be active works with this one, too.
class own_request {
  public:
    own_request();
    ~own_request();
    own_request(const own_request&) = delete;
    own_request& operator=(const own_request&) = delete;

    /// @param function  MPI_Irecv or MPI_Recv_init
    template <class Receive>
    MPI_Request receive_by(Receive&& function) {
        CROSSDOCK_MPI(function(nullptr, 0, MPI_BYTE, 0, tag_, messages(), &handle_));
        return handle_;
    }
    MPI_Request handle() const noexcept { return handle_; }

    /// @brief Completes the request. After a failure the message is too long, and MPI's wait returns an error.
    void complete(bool has_failed) const;

    /// @brief A communicator of this rank alone.
    static MPI_Comm messages();

  private:
    int tag_;
    MPI_Request handle_ = MPI_REQUEST_NULL;
};

}  // namespace crossdock::drop_in
