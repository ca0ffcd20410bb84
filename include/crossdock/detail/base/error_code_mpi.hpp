/// @file
/// @brief The library's errors as error codes of MPI's.
#pragma once

#include <string_view>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief An MPI error code of class MPI_ERR_OTHER; MPI_Error_string gives "crossdock: " and
/// the sentence, up to 150 characters in all.
///
/// There is one code for each errc, and its text is that of the last such error. MPI_ERR_OTHER where MPI has no more.
int error_code_of(errc code, std::string_view sentence) noexcept;

/// @brief Whether MPI is under way, and this thread may call it.
bool may_call_mpi() noexcept;

}  // namespace crossdock
