/// @file
/// @brief What competes in the array benchmark.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "crossdock/distributed_array.hpp"
#include "tools/inputs/array/rank_program.hpp"

namespace crossdock::bench::array {

/// @brief An array of `value_t` over all ranks, in blocks.
class contender {
  public:
    contender() = default;
    virtual ~contender() = default;
    contender(const contender&) = delete;
    contender& operator=(const contender&) = delete;

    /// @brief This rank's entries.
    virtual std::span<value_t> entries() = 0;

    /// @brief Does what all ranks ask for.
    /// @param replies  as long as the batch, if it reads
    /// @par Collective
    /// Yes; blocks.
    virtual void run(const request_batch& batch, std::span<value_t> replies) = 0;

    /// @brief What the last batch cost this rank; zeros where nobody counted.
    virtual array_statistics statistics() const { return {}; }

    /// @par Collective
    /// Yes; may block.
    virtual void close() {}
};

/// @brief A contender and what is known of it before it starts.
struct entrant {
    std::string name;
    std::optional<std::string> route;    ///< the library's
    std::optional<std::string> combine;  ///< the library's strategy
    bool is_counted = false;             ///< whether it says what its batches cost
    /// Collective over the communicator it was made for.
    std::function<std::unique_ptr<contender>(count_t num_entries)> make;
};

/// @brief The library's baseline: MPI_Alltoallv for requests, and again for replies.
/// @param comm  borrowed, as is `regions` by all
entrant plain(const communicator& comm, const topology& regions);

/// @brief The library's baseline: MPI_Get and MPI_Accumulate, request by request.
entrant rma(const communicator& comm, const topology& regions);

/// @brief The library.
/// @param name   how the contender is called
/// @param route  as `make_route` takes it
entrant crossdock_route(const communicator& comm, const topology& regions, const std::string& name,
                        const std::string& route, const combining_options& combine);

/// @brief Where entries are, as PetscSF wants to know it.
struct located_entries {
    std::vector<rank_t> owners;
    std::vector<count_t> offsets;  ///< in the owner's part
};

located_entries locate(const block_partition& owners, std::span<const count_t> indices);

/// @brief PetscSF: a star forest is made anew for every batch.
entrant petsc_forest(const communicator& comm);

/// @brief Why PetscSF's contenders cannot take part; empty if they can.
std::string petsc_obstacle();

}  // namespace crossdock::bench::array
