/// @file
/// @brief A distributed array's entries as an MPI window: the baseline `rma`.
#pragma once

#include "crossdock/array/array_engine_mpi.hpp"

namespace crossdock {

/// @brief Does batches by one MPI call for each request.
class array_window {
  public:
    /// @par Collective
    /// Yes; blocks.
    array_window(const communicator& comm, const block_partition& owners, std::byte* entries,
                 std::size_t item_bytes);

    /// @brief Does a batch whose arguments have been checked.
    /// @par Collective
    /// Yes; blocks.
    void run(const array_batch& batch);

    /// @throws error(errc::index_out_of_range)  an index is outside the array
    /// @throws error(errc::invalid_argument)    MPI has no operation for the changes
    void check(const array_batch& batch) const;

    /// @par Collective
    /// Yes; blocks.
    void close();

  private:
    void change(const array_changes& changes);
    void read(std::span<const count_t> indices, std::byte* out);

    const communicator& comm_;
    const block_partition& owners_;
    int item_bytes_;
    MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace crossdock
