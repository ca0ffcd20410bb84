// A distributed array's entries as an MPI window: the baseline `rma`.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "crossdock/detail/array/array_engine_mpi.hpp"

namespace crossdock {

/// @brief Entries that others reach, as long as they have a window.
struct exposed_entries {
    std::shared_ptr<std::byte[]> entries;
    MPI_Win window = MPI_WIN_NULL;

    /// @brief Frees the window, if there is one.
    /// Collective; blocks.
    void free();
};

/// @brief The windows of a communicator's arrays: those that are left when it closes are freed
/// then, in the order in which they were made, which is that of all ranks.
class array_windows final : public communicator_resource {
  public:
    explicit array_windows(const communicator&) {}

    /// @brief Keeps the entries until their window is freed.
    void add(std::shared_ptr<exposed_entries> exposed);
    void close() override;

    /// @brief Which of MPI's operations it does right.
    std::map<std::pair<MPI_Datatype, MPI_Op>, bool> are_right;

  private:
    std::vector<std::shared_ptr<exposed_entries>> all_;
};

/// @brief Does batches by one MPI call for each request.
class array_window {
  public:
    array_window(const communicator& comm, const block_partition& owners,
                 std::shared_ptr<std::byte[]> entries, std::size_t item_bytes);

    /// @brief Makes the window.
    /// Collective; blocks.
    void open();

    /// @brief Does a batch whose arguments have been checked.
    /// Collective; blocks.
    void run(const array_batch& batch);

    /// @throws error(errc::index_out_of_range)  an index is outside the array
    /// @throws error(errc::invalid_argument)    writes by another rule than any
    void check(const array_batch& batch) const;

    /// Collective; blocks.
    void close() { exposed_->free(); }

  private:
    template <class Part>
    void access(Part&& part);
    /// Collective; blocks.
    bool is_mpis(const array_changes& changes);
    void accumulate(const array_changes& changes);
    void apply(const array_changes& changes);
    void read(std::span<const count_t> indices, std::byte* out);

    const communicator& comm_;
    const block_partition& owners_;
    int item_bytes_;
    std::shared_ptr<exposed_entries> exposed_;
};

}  // namespace crossdock
