/// @file
/// @brief Memory that the processes of a node share.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace crossdock {

/// @brief A piece of memory of each process of a node, which all of them can read and write.
///
/// The system gives it back when the last process ends, however it ends. The destructor does not
/// communicate: a window that was not freed is left to MPI_Finalize.
class shared_window {
  public:
    static constexpr std::size_t alignment = 64;

    shared_window() = default;

    /// @brief Allocates this process's piece, and finds those of the others.
    /// @param node   processes that can share memory, with MPI_ERRORS_RETURN
    /// @param bytes  may differ between processes
    ///
    /// The memory is taken from the system at once, not where it is first written to.
    /// @throws error(errc::out_of_memory)  the system has not so much left, or MPI cannot allocate
    /// it; on all processes of the node
    /// @par Collective
    /// Yes, over `node`; blocks.
    shared_window(MPI_Comm node, std::size_t bytes);

    /// @brief The pieces of all processes, in the order of their ranks in `node`; aligned.
    const std::vector<std::byte*>& pieces() const noexcept { return pieces_; }

    /// @brief Gives the memory back.
    /// @par Collective
    /// Yes, over the node; blocks.
    void free();

  private:
    MPI_Win window_ = MPI_WIN_NULL;
    std::vector<std::byte*> pieces_;
};

}  // namespace crossdock
