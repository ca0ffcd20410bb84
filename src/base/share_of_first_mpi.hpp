/// @file
/// @brief What rank 0 has, for all ranks.
#pragma once

#include <cstdint>

#include "collective_mpi.hpp"
#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief What `make()` gives on rank 0, on all ranks or on none.
/// @param make  called on rank 0 alone; returns a string, or a vector of what is copied byte by byte
/// @par Collective
/// Yes; makes progress on all work meanwhile. Two broadcasts and two agreements.
template <class Make>
auto share_of_first(const communicator& comm, Make&& make) -> decltype(make()) {
    using values = decltype(make());
    constexpr auto value_bytes = static_cast<int>(sizeof(typename values::value_type));
    auto result = on_all_or_none(comm, [&] { return comm.rank() == 0 ? make() : values(); });
    auto size = static_cast<std::int64_t>(result.size());
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Ibcast(&size, 1, MPI_INT64_T, 0, comm.get(), request);
    });
    const int num_bytes = on_all_or_none(comm, [&] {
        result.resize(static_cast<std::size_t>(size));
        return checked_cast<int>(size * value_bytes);
    });
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Ibcast(result.data(), num_bytes, MPI_BYTE, 0, comm.get(), request);
    });
    return result;
}

}  // namespace crossdock
