#include "crossdock/mpi_advance/locality_aware.h"
#include "crossdock/mpix.h"
#include "objects.hpp"

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

// Calls a function of mpix.h with its objects.
template <class Call>
int with_mpix(const MPIL_Comm* comm, const char* algorithm, Call&& call) {
    if (comm == nullptr) return call(nullptr, nullptr);
    MPIX_Comm* ranks = nullptr;
    MPIX_Info* info = nullptr;
    crossdock_exchange_options options = CROSSDOCK_EXCHANGE_OPTIONS_INIT;
    options.algorithm = algorithm;
    crossdock_context* where = nullptr;
    int result = returned([&] { where = crossdock::new_handle_of(comm->where); });
    if (result == MPI_SUCCESS) result = MPIX_Comm_from_context(&ranks, where);
    if (result == MPI_SUCCESS) result = MPIX_Info_from_options(&info, &options);
    if (result == MPI_SUCCESS) result = call(info, ranks);
    MPIX_Info_free(&info);
    MPIX_Comm_free(&ranks);
    crossdock_context_free(where);
    return result;
}

}  // namespace

int MPIL_Alltoall_crs(const int send_nnz, const int* dest, const int sendcount,
                      MPI_Datatype sendtype, const void* sendvals, int* recv_nnz, int** src_ptr,
                      int recvcount, MPI_Datatype recvtype, void** recvvals_ptr, MPIL_Info*,
                      MPIL_Comm* xcomm) {
    return with_mpix(xcomm, name_of(mpil_alltoall_crs_implementation),
                     [&](const MPIX_Info* info, const MPIX_Comm* ranks) {
                         return MPIX_Alltoall_crs_alloc(send_nnz, dest, sendcount, sendtype,
                                                        sendvals, recv_nnz, src_ptr, recvcount,
                                                        recvtype, recvvals_ptr, info, ranks);
                     });
}

int MPIL_Alltoallv_crs(const int send_nnz, const int send_size, const int* dest,
                       const int* sendcounts, const int* sdispls, MPI_Datatype sendtype,
                       const void* sendvals, int* recv_nnz, int* recv_size, int** src_ptr,
                       int** recvcounts_ptr, int** rdispls_ptr, MPI_Datatype recvtype,
                       void** recvvals_ptr, MPIL_Info*, MPIL_Comm* comm) {
    return with_mpix(comm, name_of(mpil_alltoallv_crs_implementation),
                     [&](const MPIX_Info* info, const MPIX_Comm* ranks) {
                         return MPIX_Alltoallv_crs_alloc(
                             send_nnz, send_size, dest, sendcounts, sdispls, sendtype, sendvals,
                             recv_nnz, recv_size, src_ptr, recvcounts_ptr, rdispls_ptr, recvtype,
                             recvvals_ptr, info, ranks);
                     });
}
