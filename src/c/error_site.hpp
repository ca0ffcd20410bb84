// Which error handler of MPI's hears of an error.
#pragma once

#include <memory>

#include "crossdock/communicator.hpp"

namespace crossdock::c {

struct user_communicator;

/// @brief The communicator of the user's that a context was made of; what is made with the context has it, too.
class error_site {
  public:
    /// @param user  may be freed before this
    /// @param own   the library's duplicate of it, which then stands in for it
    /// @throws mpi_error
    error_site(MPI_Comm user, const communicator& own);

    /// @brief Calls the error handler that `user` has, or had when it was freed.
    void call_handler(int mpi_code) const noexcept;

  private:
    std::shared_ptr<const user_communicator> user_;
    communicator own_;
};

}  // namespace crossdock::c
