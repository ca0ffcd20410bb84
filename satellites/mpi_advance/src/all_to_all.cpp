#include "crossdock/mpi_advance/locality_aware.h"
#include "objects.hpp"

using crossdock::mpi_advance::required;

namespace {

// Completes a collective of MPI's own, with progress on what else is active.
template <class Start>
int complete(MPIL_Comm* comm, Start&& start) {
    return crossdock::mpi_advance::returned([&] {
        const auto& ranks = required(comm).where.comm();
        MPI_Request request = MPI_REQUEST_NULL;
        CROSSDOCK_MPI(start(ranks.get(), &request));
        ranks.wait(request);
    });
}

}  // namespace

int MPIL_Alltoall(const void* sendbuf, const int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcount, MPI_Datatype recvtype, MPIL_Comm* comm) {
    return complete(comm, [&](MPI_Comm ranks, MPI_Request* request) {
        return MPI_Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, ranks,
                             request);
    });
}

int MPIL_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                   const int rdispls[], MPI_Datatype recvtype, MPIL_Comm* comm) {
    return complete(comm, [&](MPI_Comm ranks, MPI_Request* request) {
        return MPI_Ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                              recvtype, ranks, request);
    });
}
