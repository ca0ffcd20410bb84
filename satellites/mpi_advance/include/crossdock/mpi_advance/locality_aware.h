/// @file
/// @brief The names of MPI Advance 2.0 and some that its later versions add, for C and C++: a program
/// written for them compiles with this header in place of MPI Advance's, and links with libcrossdock_mpi_advance.
///
/// The header lies in a folder of its own, which a program may search for "locality_aware.h".
/// docs/mpi-advance.md says of every name what runs on what.
///
/// - Functions return MPI_SUCCESS or an MPI error class, whatever the error handler of the
///   communicator; `crossdock_last_error()` of crossdock.h has the sentence. Nothing is printed.
/// - A function that blocks collectively returns the same on all ranks; only where the
///   communicator itself is a null pointer does a rank fail alone. `MPIL_Alltoall` and
///   `MPIL_Alltoallv` return what MPI returns on each rank, which gets their arguments as they are.
/// - Which algorithm a function takes is set for the whole process, and must be equal on all ranks.
///   Until a program sets one, crossdock chooses.
/// - Infos, weights and `reorder` are accepted and not used.
#ifndef CROSSDOCK_LOCALITY_AWARE_H
#define CROSSDOCK_LOCALITY_AWARE_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MPIL_Comm MPIL_Comm;        ///< ranks, where they live, and neighbors if it has any
typedef struct MPIL_Info MPIL_Info;        ///< says nothing
typedef struct MPIL_Topo MPIL_Topo;        ///< from whom a rank receives, and to whom it sends
typedef struct MPIL_Request MPIL_Request;  ///< a neighborhood collective, to be started repeatedly

/// @brief All are MPI's own MPI_Alltoall.
enum AlltoallMethod {
    ALLTOALL_PAIRWISE,
    ALLTOALL_NONBLOCKING,
    ALLTOALL_HIERARCHICAL_PAIRWISE,
    ALLTOALL_HIERARCHICAL_NONBLOCKING,
    ALLTOALL_MULTILEADER_PAIRWISE,
    ALLTOALL_MULTILEADER_NONBLOCKING,
    ALLTOALL_NODE_AWARE_PAIRWISE,
    ALLTOALL_NODE_AWARE_NONBLOCKING,
    ALLTOALL_LOCALITY_AWARE_PAIRWISE,
    ALLTOALL_LOCALITY_AWARE_NONBLOCKING,
    ALLTOALL_MULTILEADER_LOCALITY_PAIRWISE,
    ALLTOALL_MULTILEADER_LOCALITY_NONBLOCKING,
    ALLTOALL_PMPI
};

/// @brief All are MPI's own MPI_Alltoallv.
enum AlltoallvMethod {
    ALLTOALLV_PAIRWISE,
    ALLTOALLV_NONBLOCKING,
    ALLTOALLV_BATCH,
    ALLTOALLV_BATCH_ASYNC,
    ALLTOALLV_PMPI
};

/// @brief The routes `direct`, `three_step`, `direct` and `auto`.
enum NeighborAlltoallvMethod {
    NEIGHBOR_ALLTOALLV_STANDARD,
    NEIGHBOR_ALLTOALLV_LOCALITY,
    NEIGHBOR_ALLTOALLV_COLL_A2A,
    CROSSDOCK_NEIGHBOR_ALLTOALLV_AUTO
};

/// @brief The same for requests. All that do not join messages are `direct`.
enum NeighborAlltoallvInitMethod {
    NEIGHBOR_ALLTOALLV_INIT_STANDARD,
    NEIGHBOR_ALLTOALLV_INIT_LOCALITY,
    NEIGHBOR_ALLTOALLV_INIT_COLL_A2A,
    NEIGHBOR_ALLTOALLV_INIT_RMA,
    NEIGHBOR_ALLTOALLV_INIT_PSCW,
    CROSSDOCK_NEIGHBOR_ALLTOALLV_INIT_AUTO
};

/// @brief The algorithms `rma`, `nonblocking`, `locality_nonblocking`, `personalized`,
/// `locality_personalized` and `auto`.
enum AlltoallCRSMethod {
    ALLTOALL_CRS_RMA,
    ALLTOALL_CRS_NONBLOCKING,
    ALLTOALL_CRS_NONBLOCKING_LOC,
    ALLTOALL_CRS_PERSONALIZED,
    ALLTOALL_CRS_PERSONALIZED_LOC,
    CROSSDOCK_ALLTOALL_CRS_AUTO
};

/// @brief Those of them that carry messages of any size.
enum AlltoallvCRSMethod {
    ALLTOALLV_CRS_NONBLOCKING,
    ALLTOALLV_CRS_NONBLOCKING_LOC,
    ALLTOALLV_CRS_PERSONALIZED,
    ALLTOALLV_CRS_PERSONALIZED_LOC,
    CROSSDOCK_ALLTOALLV_CRS_AUTO
};

#pragma GCC visibility push(default)

/// @name The algorithms that are set
/// @{
extern enum AlltoallMethod mpil_alltoall_implementation;
extern enum AlltoallvMethod mpil_alltoallv_implementation;
extern enum NeighborAlltoallvMethod mpil_neighbor_alltoallv_implementation;
extern enum NeighborAlltoallvInitMethod mpil_neighbor_alltoallv_init_implementation;
extern enum AlltoallCRSMethod mpil_alltoall_crs_implementation;
extern enum AlltoallvCRSMethod mpil_alltoallv_crs_implementation;

/// @return MPI_ERR_ARG if there is no such algorithm; the one that was set then stays
int MPIL_Set_alltoall_algorithm(enum AlltoallMethod algorithm);
int MPIL_Set_alltoallv_algorithm(enum AlltoallvMethod algorithm);
int MPIL_Set_alltoallv_neighbor_algorithm(enum NeighborAlltoallvMethod algorithm);
int MPIL_Set_alltoallv_neighbor_init_algorithm(enum NeighborAlltoallvInitMethod algorithm);
int MPIL_Set_alltoall_crs(enum AlltoallCRSMethod algorithm);
int MPIL_Set_alltoallv_crs(enum AlltoallvCRSMethod algorithm);

/// @brief The same two as 2.0 spells them.
int MPIL_Set_alltoallv_neighbor_alogorithm(enum NeighborAlltoallvMethod algorithm);
int MPIL_Set_alltoallv_neighbor_init_alogorithm(enum NeighborAlltoallvInitMethod algorithm);
/// @}

/// @name Communicators
/// @{

/// @brief Ranks of a communicator. Objects of one communicator share a duplicate of it.
/// @par Collective
/// Yes, over `global_comm`; blocks.
/// @return MPI_ERR_ARG if `global_comm` is MPI_COMM_NULL or an intercommunicator
int MPIL_Comm_init(MPIL_Comm** xcomm_ptr, MPI_Comm global_comm);

/// @brief Frees the object, with the last one also the duplicate, and sets the pointer to null; a
/// null pointer is nothing to free. Requests of it must have been freed.
/// @par Collective
/// Yes; may block.
int MPIL_Comm_free(MPIL_Comm** xcomm_ptr);

/// @brief Makes regions of `ppn` ranks each, in rank order, in place of the nodes.
/// @param ppn  equal on all ranks
/// @par Collective
/// Logically. Does not communicate.
int MPIL_Comm_update_locality(MPIL_Comm* xcomm, int ppn);

/// @brief What `MPIL_Init` has made; else a null pointer.
extern MPIL_Comm* MPIL_COMM_WORLD;

/// @brief Makes `MPIL_COMM_WORLD`, as `MPIL_Comm_init` does, in place of one that there is. Programs that do not use it
/// need not call this.
/// @param world  MPI_COMM_NULL stands for MPI_COMM_WORLD
/// @par Collective
/// Yes, over `world`; blocks.
int MPIL_Init(MPI_Comm world);

/// @brief Frees `MPIL_COMM_WORLD`, as `MPIL_Comm_free` does.
int MPIL_Finalize(void);

/// @brief A number from 0 to 126 that counts up from call to call.
int MPIL_Comm_tag(MPIL_Comm* comm, int* tag);

/// @brief Do nothing: what they prepare there is there when it is needed.
int MPIL_Comm_topo_init(MPIL_Comm* xcomm);
int MPIL_Comm_topo_free(MPIL_Comm* xcomm);
int MPIL_Comm_leader_init(MPIL_Comm* xcomm, int procs_per_leader);
int MPIL_Comm_leader_free(MPIL_Comm* xcomm);
int MPIL_Comm_win_init(MPIL_Comm* xcomm, int bytes, int type_bytes);
int MPIL_Comm_win_free(MPIL_Comm* xcomm);
int MPIL_Comm_device_init(MPIL_Comm* xcomm);
int MPIL_Comm_device_free(MPIL_Comm* xcomm);
int MPIL_Comm_req_resize(MPIL_Comm* xcomm, int n);

/// @}
/// @name Infos and neighbors
/// @{

int MPIL_Info_init(MPIL_Info** info);
int MPIL_Info_free(MPIL_Info** info);

/// @brief Copies lists of neighbors.
/// @return MPI_ERR_ARG if a number is negative, or a list is null but not empty
int MPIL_Topo_init(int indegree, const int sources[], const int* sourceweights, int outdegree,
                   const int destinations[], const int* destweights, MPIL_Info* info,
                   MPIL_Topo** mpil_topo_ptr);

/// @brief The neighbors of a communicator that `MPIL_Dist_graph_create_adjacent` made.
/// @return MPI_ERR_ARG if another function made it
int MPIL_Topo_from_neighbor_comm(MPIL_Comm* comm, MPIL_Topo** mpil_topo_ptr);

/// @brief Sets the pointer to null; a null pointer is nothing to free.
int MPIL_Topo_free(MPIL_Topo** topo);

/// @brief As `MPIL_Comm_init`, with neighbors. Ranks keep their numbers.
/// @par Collective
/// Yes, over `comm_old`; blocks.
/// @return MPI_ERR_RANK if a neighbor is no rank; as `MPIL_Topo_init`
int MPIL_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                    const int* sourceweights, int outdegree,
                                    const int destinations[], const int* destweights,
                                    MPIL_Info* info, int reorder, MPIL_Comm** comm_dist_graph_ptr);

/// @}
/// @name All ranks to all
/// @par Collective
/// Yes; block.
/// @{
int MPIL_Alltoall(const void* sendbuf, const int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcount, MPI_Datatype recvtype, MPIL_Comm* comm);
int MPIL_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                   const int rdispls[], MPI_Datatype recvtype, MPIL_Comm* comm);

/// @}
/// @name To neighbors
///
/// `sendtype` and `recvtype` have equally many bytes, on all ranks; their values may have different
/// gaps. Counts and displacements are in values. No place of `recvbuf` is filled twice.
///
/// They return MPI_ERR_ARG if an array is null but not empty, a number is negative, or a
/// communicator without neighbors comes without an `MPIL_Topo`; MPI_ERR_TRUNCATE if the datatypes
/// differ in bytes; MPI_ERR_RANK if a neighbor is no rank; MPI_ERR_COUNT if a sender and its
/// receiver disagree.
/// @{

/// @brief Exchanges once, with the neighbors of the communicator.
///
/// The communicator keeps the plans of the last eight exchanges that were different, and finds one
/// if all ranks call with the same counts, displacements and neighbors again.
/// @par Collective
/// Yes; blocks. One reduction of two words, and where no plan is found a new one.
int MPIL_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                            MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                            const int rdispls[], MPI_Datatype recvtype, MPIL_Comm* comm);

/// @brief As above, with other neighbors.
int MPIL_Neighbor_alltoallv_topo(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                 const int rdispls[], MPI_Datatype recvtype, MPIL_Topo* topo,
                                 MPIL_Comm* comm);

/// @brief Makes a request that exchanges whenever it is started. Counts, displacements and the
/// `MPIL_Topo` are copied; the buffers are not.
/// @par Collective
/// Yes; blocks.
int MPIL_Neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                 const int rdispls[], MPI_Datatype recvtype, MPIL_Comm* comm,
                                 MPIL_Info* info, MPIL_Request** request_ptr);
int MPIL_Neighbor_alltoallv_init_topo(const void* sendbuf, const int sendcounts[],
                                      const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                      const int recvcounts[], const int rdispls[],
                                      MPI_Datatype recvtype, MPIL_Topo* topo, MPIL_Comm* comm,
                                      MPIL_Info* info, MPIL_Request** request_ptr);

/// @brief As above, where values of equal index are equal: each travels once where their ways
/// coincide.
/// @param global_sindices  an index for each place of `sendbuf`, up to the last that is sent
/// @param global_rindices  not read: the k-th value for a rank is its k-th from this one
int MPIL_Neighbor_alltoallv_init_ext(const void* sendbuf, const int sendcounts[],
                                     const int sdispls[], const long global_sindices[],
                                     MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                     const int rdispls[], const long global_rindices[],
                                     MPI_Datatype recvtype, MPIL_Comm* comm, MPIL_Info* info,
                                     MPIL_Request** request_ptr);
int MPIL_Neighbor_alltoallv_init_ext_topo(const void* sendbuf, const int sendcounts[],
                                          const int sdispls[], const long global_sindices[],
                                          MPI_Datatype sendtype, void* recvbuf,
                                          const int recvcounts[], const int rdispls[],
                                          const long global_rindices[], MPI_Datatype recvtype,
                                          MPIL_Topo* topo, MPIL_Comm* comm, MPIL_Info* info,
                                          MPIL_Request** request_ptr);

/// @brief Starts an exchange; a null pointer is nothing to start. As
/// `crossdock_neighbor_exchange_start`, which says what a rank must not do meanwhile.
int MPIL_Start(MPIL_Request* request);

/// @brief Completes the exchange, if one is active; a null pointer is nothing to wait for.
/// @param status  not written
int MPIL_Wait(MPIL_Request* request, MPI_Status* status);

/// @brief Sets the pointer to null; a null pointer is nothing to free. Does not communicate.
/// @return MPI_ERR_OTHER if an exchange is active; the request then stays
int MPIL_Request_free(MPIL_Request** request);

/// @brief The route of a request, why it was chosen, and this rank's plan: as
/// `crossdock_neighbor_exchange_explain` and `crossdock_plan_to_string`.
/// @param text  to be freed with `MPIL_Free`
int crossdock_explain_request(const MPIL_Request* request, char** text);

/// @brief Do nothing.
int MPIL_Request_reorder(MPIL_Request* request, int value);
int MPIL_Request_win_init(MPIL_Request* request, void* ptr, int bytes, int type_bytes,
                          MPI_Comm comm);
int MPIL_Request_win_free(MPIL_Request* request);

/// @}
/// @name To ranks that do not expect it
///
/// `MPIX_Alltoall_crs_alloc` and `MPIX_Alltoallv_crs_alloc` of crossdock/mpix.h, which say more.
/// Arrays that they make are freed with `MPIL_Free`.
/// @par Collective
/// Yes; block.
/// @{

int MPIL_Alltoall_crs(const int send_nnz, const int* dest, const int sendcount,
                      MPI_Datatype sendtype, const void* sendvals, int* recv_nnz, int** src_ptr,
                      int recvcount, MPI_Datatype recvtype, void** recvvals_ptr, MPIL_Info* xinfo,
                      MPIL_Comm* xcomm);
int MPIL_Alltoallv_crs(const int send_nnz, const int send_size, const int* dest,
                       const int* sendcounts, const int* sdispls, MPI_Datatype sendtype,
                       const void* sendvals, int* recv_nnz, int* recv_size, int** src_ptr,
                       int** recvcounts_ptr, int** rdispls_ptr, MPI_Datatype recvtype,
                       void** recvvals_ptr, MPIL_Info* xinfo, MPIL_Comm* comm);

/// @brief Memory of so many bytes; null for none.
/// @return MPI_ERR_ARG if `bytes` is negative; MPI_ERR_OTHER if there is not so much
int MPIL_Alloc(void** pointer, const int bytes);
int MPIL_Free(void* pointer);

/// @}
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
