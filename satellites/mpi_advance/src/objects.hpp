/// @file
/// @brief What is behind the names of MPI Advance.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "neighbor_call.hpp"
#include "returned.hpp"

struct MPIL_Comm {
    explicit MPIL_Comm(std::shared_ptr<crossdock::shared_context> given)
        : shared(std::move(given)), where(shared->where) {}

    std::shared_ptr<crossdock::shared_context> shared;
    crossdock::context where;  // perhaps with other regions
    std::optional<MPIL_Topo> neighbors;
    crossdock::mpi_advance::recent_exchanges recent;
    int next_tag = 0;
};

namespace crossdock::mpi_advance {

/// @throws error(errc::invalid_argument)  `comm` is null
inline MPIL_Comm& required(MPIL_Comm* comm) {
    require(comm, "comm");
    return *comm;
}

}  // namespace crossdock::mpi_advance
