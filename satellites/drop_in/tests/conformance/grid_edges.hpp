/// @file
/// @brief How the MPI pairs the two edges of a periodic dimension of one or two ranks.
#pragma once

#include "functions.hpp"

namespace conformance {

/// Calls one of the five, in the form that is asked for, and completes it.
inline int invoke_form(const functions& mpi, form how, call which, const arguments<int, int>& sent,
                       const arguments<int, int>& received, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    if (how == form::blocking) {
        code = invoke(mpi.small.blocking, which, sent, received, comm);
    } else if (how == form::nonblocking) {
        code = invoke(mpi.small.nonblocking, which, sent, received, comm, &request);
    } else {
        code = invoke(mpi.small.persistent, which, sent, received, comm, MPI_INFO_NULL, &request);
        // MPICH returns success after an error that a handler of the program's own has seen.
        if (request != MPI_REQUEST_NULL) mpi.start(&request);
    }
    if (code != MPI_SUCCESS) return code;
    mpi.wait(&request, MPI_STATUS_IGNORE);
    if (request != MPI_REQUEST_NULL) mpi.request_free(&request);
    return code;
}

/// Whether what a rank sends upwards arrives from below, as MPI 4 says, also if both neighbors are the same rank. The
/// nonblocking and persistent calls of Open MPI 4.1 pair such edges as they come, up with up, the blocking ones do not.
inline bool pairs_as_mpi4(form how) {
    static const auto ask = [](form asked) {
        const int length = 1;
        const int is_periodic = 1;
        MPI_Comm grid = MPI_COMM_NULL;
        PMPI_Cart_create(MPI_COMM_SELF, 1, &length, &is_periodic, 0, &grid);
        int sent[] = {1, 2};
        int received[] = {0, 0};
        const MPI_Datatype type = MPI_INT;
        invoke_form(twin_functions, asked, call::alltoall,
                    {sent, 1, nullptr, nullptr, nullptr, &type},
                    {received, 1, nullptr, nullptr, nullptr, &type}, grid);
        PMPI_Comm_free(&grid);
        return received[0] == 2;
    };
    static const bool answers[] = {ask(form::blocking), ask(form::nonblocking),
                                   has_persistent() && ask(form::persistent)};
    return answers[static_cast<int>(how)];
}

}  // namespace conformance
