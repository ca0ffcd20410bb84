#include <memory>

#include "crossdock/mpi_advance/locality_aware.h"
#include "objects.hpp"

using crossdock::mpi_advance::required;
using crossdock::mpi_advance::returned;

namespace {

const char* name_of(AlltoallCRSMethod method) {
    switch (method) {
        case ALLTOALL_CRS_RMA: return "rma";
        case ALLTOALL_CRS_NONBLOCKING: return "nonblocking";
        case ALLTOALL_CRS_NONBLOCKING_LOC: return "locality_nonblocking";
        case ALLTOALL_CRS_PERSONALIZED: return "personalized";
        case ALLTOALL_CRS_PERSONALIZED_LOC: return "locality_personalized";
        default: return "auto";
    }
}

const char* name_of(AlltoallvCRSMethod method) {
    switch (method) {
        case ALLTOALLV_CRS_NONBLOCKING: return "nonblocking";
        case ALLTOALLV_CRS_NONBLOCKING_LOC: return "locality_nonblocking";
        case ALLTOALLV_CRS_PERSONALIZED: return "personalized";
        case ALLTOALLV_CRS_PERSONALIZED_LOC: return "locality_personalized";
        default: return "auto";
    }
}

// Calls a function of crossdock.h with the algorithm.
template <class Call>
int with_options(MPIL_Comm* comm, const char* algorithm, Call&& call) {
    return returned([&] {
        const std::unique_ptr<crossdock_context, crossdock_status (*)(crossdock_context*)> where(
            crossdock::new_handle_of(required(comm).where), crossdock_context_free);
        crossdock_exchange_options options = CROSSDOCK_EXCHANGE_OPTIONS_INIT;
        options.algorithm = algorithm;
        return call(where.get(), &options);
    });
}

}  // namespace

int MPIL_Alltoall_crs(const int send_nnz, const int* dest, const int sendcount,
                      MPI_Datatype sendtype, const void* sendvals, int* recv_nnz, int** src_ptr,
                      int recvcount, MPI_Datatype recvtype, void** recvvals_ptr, MPIL_Info*,
                      MPIL_Comm* xcomm) {
    return with_options(xcomm, name_of(mpil_alltoall_crs_implementation),
                        [&](const crossdock_context* where, const auto* options) {
                            return crossdock_sparse_exchange_alloc_int(
                                where, send_nnz, dest, sendcount, sendtype, sendvals, recv_nnz,
                                src_ptr, recvcount, recvtype, recvvals_ptr, options);
                        });
}

int MPIL_Alltoallv_crs(const int send_nnz, const int send_size, const int* dest,
                       const int* sendcounts, const int* sdispls, MPI_Datatype sendtype,
                       const void* sendvals, int* recv_nnz, int* recv_size, int** src_ptr,
                       int** recvcounts_ptr, int** rdispls_ptr, MPI_Datatype recvtype,
                       void** recvvals_ptr, MPIL_Info*, MPIL_Comm* comm) {
    return with_options(comm, name_of(mpil_alltoallv_crs_implementation),
                        [&](const crossdock_context* where, const auto* options) {
                            return crossdock_sparse_exchange_v_alloc_int(
                                where, send_nnz, send_size, dest, sendcounts, sdispls, sendtype,
                                sendvals, recv_nnz, recv_size, src_ptr, recvcounts_ptr, rdispls_ptr,
                                recvtype, recvvals_ptr, options);
                        });
}
