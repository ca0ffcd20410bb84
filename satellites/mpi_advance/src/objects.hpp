/// @file
/// @brief What is behind the names of MPI Advance.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "neighbor_call.hpp"
#include "returned.hpp"
#include "src/context/shared_context_mpi.hpp"

struct MPIL_Comm {
    explicit MPIL_Comm(std::shared_ptr<crossdock::shared_context> given)
        : shared(std::move(given)),
          where(shared->where),
          errors(where.comm().get(), where.comm()) {}

    std::shared_ptr<crossdock::shared_context> shared;
    crossdock::context where;  // perhaps with other regions
    crossdock::c::error_site
        errors;  // calls no handler of the program's: these functions return codes
    std::optional<MPIL_Topo> neighbors;
    crossdock::mpi_advance::recent_exchanges recent;
    int next_tag = 0;
};

namespace crossdock::mpi_advance {

/// @throws error(errc::invalid_argument)  `comm` is null
inline MPIL_Comm& required(MPIL_Comm* comm) {
    c::require(comm, "comm");
    return *comm;
}

}  // namespace crossdock::mpi_advance
