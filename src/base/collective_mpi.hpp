/// @file
/// @brief Collective operations that a rank takes part in even if MPI refuses at first.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

#include "crossdock/communicator.hpp"

namespace crossdock {

/// How often a call of MPI is made that others wait for, if MPI refuses it.
inline constexpr int most_attempts = 4;

/// @brief Whether a call that MPI has refused may be made again. Not one that tells of a request that has failed:
/// MPI would tell of it once.
inline bool may_try_again(int mpi_code) {
    int error_class = MPI_ERR_OTHER;
    MPI_Error_class(mpi_code, &error_class);
    return error_class != MPI_ERR_IN_STATUS && error_class != MPI_ERR_TRUNCATE;
}

/// @brief Makes a call of MPI, and again if MPI refuses: for what other ranks wait for.
/// @param statuses  that it fills: the first error in them is thrown in place of MPI_ERR_IN_STATUS
/// @param call      returns what MPI returns
/// @throws mpi_error  MPI has refused `most_attempts` times
template <class Call>
void insist(std::span<const MPI_Status> statuses, Call&& call) {
    for (int attempt = 1;; ++attempt) {
        const int code = call();
        if (code == MPI_SUCCESS) return;
        for (const auto& one : statuses) {
            if (code == MPI_ERR_IN_STATUS && one.MPI_ERROR != MPI_SUCCESS &&
                one.MPI_ERROR != MPI_ERR_PENDING)
                throw mpi_error(one.MPI_ERROR, "a message");
        }
        if (attempt == most_attempts || !may_try_again(code))
            throw mpi_error(code, "a call of MPI");
    }
}
template <class Call>
void insist(Call&& call) {
    insist({}, call);
}

/// @brief As `insist`, for a destructor: what MPI does not free even so, stays until MPI_Finalize.
template <class Call>
void insist_quietly(Call&& call) noexcept {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        if (call() == MPI_SUCCESS) return;
    }
}

/// @brief Takes part in a collective operation, as all other ranks expect, and waits for it.
/// @param begin  calls MPI's nonblocking operation with the request it gets, and returns what it
/// returns
/// @par Collective
/// Yes; makes progress on all work meanwhile.
template <class Begin>
void run_collective(const communicator& comm, Begin&& begin) {
    MPI_Request request = MPI_REQUEST_NULL;
    insist([&] { return begin(&request); });
    comm.wait(request);
}

/// @brief Reduces `count` values of all ranks in place.
/// @par Collective
/// As `run_collective`.
inline void allreduce(const communicator& comm, void* values, std::size_t count, MPI_Datatype type,
                      MPI_Op operation) {
    const int number = checked_cast<int>(count);
    run_collective(comm, [&](MPI_Request* reduction) {
        return MPI_Iallreduce(MPI_IN_PLACE, values, number, type, operation, comm.get(), reduction);
    });
}

/// @brief Receives a matched message and keeps nothing of it, so that its sender is done with it.
///
/// It is received whole: Intel MPI with the MPI-5 ABI ends a program that cuts a message, whatever the error handler.
inline void discard_message(const communicator& comm, MPI_Message& message, int num_bytes) noexcept
    try {
    const std::unique_ptr<std::byte[]> bytes(new (std::nothrow)
                                                 std::byte[static_cast<std::size_t>(num_bytes)]);
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Imrecv(bytes.get(), bytes ? num_bytes : 0, MPI_BYTE, &message, request);
    });
} catch (...) {
    // It was cut, as there was no memory, or MPI does not work any more.
}

/// @brief Until all ranks are here.
/// @par Collective
/// Yes; makes progress on all work meanwhile.
inline void meet_all(const communicator& comm) {
    run_collective(comm, [&](MPI_Request* barrier) { return MPI_Ibarrier(comm.get(), barrier); });
}

}  // namespace crossdock
