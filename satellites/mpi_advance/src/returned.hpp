/// @file
/// @brief How functions end that return MPI's error classes.
#pragma once

#include <string>

#include "crossdock/extend.hpp"

namespace crossdock::mpi_advance {

/// @brief Throws errc::invalid_argument where a pointer is null.
/// @param what  the argument's name, for the text
inline void require(const void* pointer, const char* what) {
    if (pointer == nullptr)
        throw error(errc::invalid_argument, std::string(what) + " is a null pointer");
}

/// @brief What MPI calls an error.
inline int error_class(const error& fault) {
    switch (fault.code()) {
        case errc::size_mismatch: return MPI_ERR_TRUNCATE;
        case errc::rank_out_of_range: return MPI_ERR_RANK;
        case errc::count_mismatch:
        case errc::count_overflow: return MPI_ERR_COUNT;
        case errc::invalid_argument:
        case errc::invalid_topology:
        case errc::unknown_route:
        case errc::invalid_route: return MPI_ERR_ARG;
        default: return MPI_ERR_OTHER;
    }
}

/// @brief Runs `body`; no exception leaves. `crossdock_last_error` then has its sentence. No error handler is called.
template <class Body>
int returned(Body&& body, int (*class_of)(const error&) = error_class) noexcept {
    int mpi_class = MPI_ERR_OTHER;
    try {
        try {
            body();
            return MPI_SUCCESS;
        } catch (const error& fault) {
            mpi_class = class_of(fault);
            throw;
        }
    } catch (...) {
        remember_error();
    }
    return mpi_class;
}

}  // namespace crossdock::mpi_advance
