/// @file
/// @brief What the libraries for unchanged programs share.
#pragma once

#include <mpi.h>

#include <exception>
#include <string>

#include "crossdock/context.hpp"

namespace crossdock::drop_in {

/// @brief MPI's code of the exception in flight; MPI_Error_string has its sentence.
int current_code() noexcept;

/// @brief What MPI's code of a neighborhood collective is thrown as.
std::exception_ptr exception_of(int mpi_code) noexcept;

/// @brief A context with the regions that the environment names, if they are of so many ranks: it names one topology
/// for communicators of all sizes.
/// @param topology  names them in its place, unless empty
/// @par Collective
/// Yes; blocks.
context context_for(MPI_Comm comm, const std::string& topology = {});

}  // namespace crossdock::drop_in
