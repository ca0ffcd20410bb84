/// @file
/// @brief A text for all ranks.
#pragma once

#include <string>

#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief The text that rank 0 brings, on all ranks.
/// @par Collective
/// Yes; blocks. Two broadcasts.
inline std::string broadcast_text(const communicator& comm, std::string text) {
    int length = checked_cast<int>(text.size());
    CROSSDOCK_MPI(MPI_Bcast(&length, 1, MPI_INT, 0, comm.get()));
    text.resize(static_cast<std::size_t>(length));
    CROSSDOCK_MPI(MPI_Bcast(text.data(), length, MPI_CHAR, 0, comm.get()));
    return text;
}

}  // namespace crossdock
