/// @file
/// @brief The names that MPI Advance had before 2.0, for programs that are written for them, such as
/// hypre and Trilinos with MPI Advance: those of locality_aware.h with the prefix MPIX_, and some
/// more.
///
/// - What changed between versions may be written either way: an info is an `MPIX_Info*` or an
///   `MPI_Info`, and `MPIX_Comm_free`, `MPIX_Request_free` and `MPIX_Topo_free` take the object or a
///   pointer to it, which they set to null.
/// - Members of the objects cannot be reached.
/// - crossdock/mpix.h has other functions under some of the names. A file includes one of the two.
#ifndef CROSSDOCK_MPI_ADVANCE_H
#define CROSSDOCK_MPI_ADVANCE_H

#ifdef CROSSDOCK_MPIX_H
#error "mpi_advance.h and crossdock/mpix.h have different functions under the same names"
#endif

#include "locality_aware.h"

typedef MPIL_Comm MPIX_Comm;
typedef MPIL_Info MPIX_Info;
typedef MPIL_Topo MPIX_Topo;
typedef MPIL_Request MPIX_Request;

#define mpix_alltoall_implementation mpil_alltoall_implementation
#define mpix_alltoallv_implementation mpil_alltoallv_implementation
#define mpix_neighbor_alltoallv_implementation mpil_neighbor_alltoallv_implementation
#define mpix_neighbor_alltoallv_init_implementation mpil_neighbor_alltoallv_init_implementation
#define mpix_alltoall_crs_implementation mpil_alltoall_crs_implementation
#define mpix_alltoallv_crs_implementation mpil_alltoallv_crs_implementation

#define MPIX_Comm_init MPIL_Comm_init
#define MPIX_Comm_tag MPIL_Comm_tag
#define MPIX_Comm_topo_init MPIL_Comm_topo_init
#define MPIX_Comm_topo_free MPIL_Comm_topo_free
#define MPIX_Comm_leader_init MPIL_Comm_leader_init
#define MPIX_Comm_leader_free MPIL_Comm_leader_free
#define MPIX_Comm_win_init MPIL_Comm_win_init
#define MPIX_Comm_win_free MPIL_Comm_win_free
#define MPIX_Comm_device_init MPIL_Comm_device_init
#define MPIX_Comm_device_free MPIL_Comm_device_free
#define MPIX_Comm_req_resize MPIL_Comm_req_resize
#define update_locality MPIL_Comm_update_locality
#define MPIX_Info_init MPIL_Info_init
#define MPIX_Info_free MPIL_Info_free
#define MPIX_Topo_from_neighbor_comm MPIL_Topo_from_neighbor_comm
#define MPIX_Alltoall MPIL_Alltoall
#define MPIX_Alltoallv MPIL_Alltoallv
#define MPIX_Neighbor_alltoallv MPIL_Neighbor_alltoallv
#define MPIX_Neighbor_alltoallv_topo MPIL_Neighbor_alltoallv_topo
#define MPIX_Neighbor_topo_alltoallv MPIL_Neighbor_alltoallv_topo
#define MPIX_Start MPIL_Start
#define MPIX_Wait MPIL_Wait
#define MPIX_Request_reorder MPIL_Request_reorder
#define MPIX_Alltoall_crs MPIL_Alltoall_crs
#define MPIX_Alltoallv_crs MPIL_Alltoallv_crs
#define MPIX_Alloc MPIL_Alloc
#define MPIX_Free MPIL_Free

// An info of either kind, which is not used.
#define CROSSDOCK_ANY_INFO(info) ((void)(info), (MPIL_Info*)0)

#define MPIX_Topo_init(indegree, sources, sourceweights, outdegree, destinations, destweights, \
                       info, topo)                                                             \
    MPIL_Topo_init(indegree, sources, sourceweights, outdegree, destinations, destweights,     \
                   CROSSDOCK_ANY_INFO(info), topo)
#define MPIX_Dist_graph_create_adjacent(comm, indegree, sources, sourceweights, outdegree,        \
                                        destinations, destweights, info, reorder, result)         \
    MPIL_Dist_graph_create_adjacent(comm, indegree, sources, sourceweights, outdegree,            \
                                    destinations, destweights, CROSSDOCK_ANY_INFO(info), reorder, \
                                    result)

#define MPIX_Neighbor_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, \
                                     rdispls, recvtype, comm, info, request)                      \
    MPIL_Neighbor_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,     \
                                 rdispls, recvtype, comm, CROSSDOCK_ANY_INFO(info), request)
#define MPIX_Neighbor_alltoallv_init_topo(sendbuf, sendcounts, sdispls, sendtype, recvbuf,         \
                                          recvcounts, rdispls, recvtype, topo, comm, info,         \
                                          request)                                                 \
    MPIL_Neighbor_alltoallv_init_topo(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, \
                                      rdispls, recvtype, topo, comm, CROSSDOCK_ANY_INFO(info),     \
                                      request)
#define MPIX_Neighbor_topo_alltoallv_init MPIX_Neighbor_alltoallv_init_topo
#define MPIX_Neighbor_alltoallv_init_ext MPIL_Neighbor_alltoallv_init_ext
#define MPIX_Neighbor_alltoallv_init_ext_topo MPIL_Neighbor_alltoallv_init_ext_topo

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/// @name What aggregates by region, whatever algorithm is set
///
/// `part_locality`: aggregated, every value by itself. `locality`: values of equal index are equal,
/// as in `MPIL_Neighbor_alltoallv_init_ext`. A null `topo` stands for the communicator's neighbors.
/// @par Collective
/// Yes; block.
/// @{
int MPIX_Neighbor_part_locality_alltoallv(const void* sendbuf, const int sendcounts[],
                                          const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                          const int recvcounts[], const int rdispls[],
                                          MPI_Datatype recvtype, MPIX_Comm* comm);
int MPIX_Neighbor_locality_alltoallv(const void* sendbuf, const int sendcounts[],
                                     const int sdispls[], const long global_sindices[],
                                     MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                     const int rdispls[], const long global_rindices[],
                                     MPI_Datatype recvtype, MPIX_Comm* comm);
int crossdock_part_locality_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                 const int rdispls[], MPI_Datatype recvtype, MPIX_Topo* topo,
                                 MPIX_Comm* comm, MPIX_Info* info, MPIX_Request** request_ptr);
int crossdock_locality_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                            const long global_sindices[], MPI_Datatype sendtype, void* recvbuf,
                            const int recvcounts[], const int rdispls[],
                            const long global_rindices[], MPI_Datatype recvtype, MPIX_Topo* topo,
                            MPIX_Comm* comm, MPIX_Info* info, MPIX_Request** request_ptr);
/// @}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#define MPIX_Neighbor_part_locality_topo_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, \
                                                        recvbuf, recvcounts, rdispls, recvtype, \
                                                        topo, comm, info, request)              \
    crossdock_part_locality_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,   \
                                 rdispls, recvtype, topo, comm, CROSSDOCK_ANY_INFO(info), request)
#define MPIX_Neighbor_part_locality_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype,       \
                                                   recvbuf, recvcounts, rdispls, recvtype, comm, \
                                                   info, request)                                \
    MPIX_Neighbor_part_locality_topo_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype,      \
                                                    recvbuf, recvcounts, rdispls, recvtype,      \
                                                    (MPIX_Topo*)0, comm, info, request)
#define MPIX_Neighbor_locality_topo_alltoallv_init(sendbuf, sendcounts, sdispls, sindices,         \
                                                   sendtype, recvbuf, recvcounts, rdispls,         \
                                                   rindices, recvtype, topo, comm, info, request)  \
    crossdock_locality_init(sendbuf, sendcounts, sdispls, sindices, sendtype, recvbuf, recvcounts, \
                            rdispls, rindices, recvtype, topo, comm, CROSSDOCK_ANY_INFO(info),     \
                            request)
#define MPIX_Neighbor_locality_alltoallv_init(sendbuf, sendcounts, sdispls, sindices, sendtype,  \
                                              recvbuf, recvcounts, rdispls, rindices, recvtype,  \
                                              comm, info, request)                               \
    MPIX_Neighbor_locality_topo_alltoallv_init(sendbuf, sendcounts, sdispls, sindices, sendtype, \
                                               recvbuf, recvcounts, rdispls, rindices, recvtype, \
                                               (MPIX_Topo*)0, comm, info, request)

// What frees an object takes it or a pointer to it.
static inline int crossdock_free_mpix_comm(MPIX_Comm* object) { return MPIL_Comm_free(&object); }
static inline int crossdock_free_mpix_topo(MPIX_Topo* object) { return MPIL_Topo_free(&object); }
static inline int crossdock_free_mpix_request(MPIX_Request* object) {
    return MPIL_Request_free(&object);
}
#ifdef __cplusplus
inline int MPIX_Comm_free(MPIX_Comm* object) { return crossdock_free_mpix_comm(object); }
inline int MPIX_Comm_free(MPIX_Comm** object) { return MPIL_Comm_free(object); }
inline int MPIX_Topo_free(MPIX_Topo* object) { return crossdock_free_mpix_topo(object); }
inline int MPIX_Topo_free(MPIX_Topo** object) { return MPIL_Topo_free(object); }
inline int MPIX_Request_free(MPIX_Request* object) { return crossdock_free_mpix_request(object); }
inline int MPIX_Request_free(MPIX_Request** object) { return MPIL_Request_free(object); }
#else
#define MPIX_Comm_free(object) \
    _Generic((object), MPIX_Comm * : crossdock_free_mpix_comm, default : MPIL_Comm_free)(object)
#define MPIX_Topo_free(object) \
    _Generic((object), MPIX_Topo * : crossdock_free_mpix_topo, default : MPIL_Topo_free)(object)
#define MPIX_Request_free(object)                   \
    _Generic((object), MPIX_Request *               \
             : crossdock_free_mpix_request, default \
             : MPIL_Request_free)(object)
#endif

#endif
