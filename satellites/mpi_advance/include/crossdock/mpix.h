/// @file
/// @brief The sparse data exchange under the names of its study (Geyko et al. 2024), for C and C++.
///
/// - Every function returns MPI_SUCCESS or an MPI error class, whatever the error handler of the
///   communicator; `crossdock_last_error()` of crossdock.h has the sentence.
/// - A function that blocks collectively returns the same on all ranks; only where the communicator
///   itself is a null pointer does a rank fail alone.
/// - Counts, displacements and sizes are in values of the datatype.
/// @par Source
/// \cite geyko2024sdde. Differs: sizes that come in are room, so that nothing is written where there is
/// none; that the number of messages is known, as it may be there, is said in the info; several
/// messages to one destination, messages without values and those to the rank itself arrive; the
/// algorithm is chosen at run time.
#ifndef CROSSDOCK_MPIX_H
#define CROSSDOCK_MPIX_H

#ifdef CROSSDOCK_MPI_ADVANCE_H
#error "mpi_advance.h and crossdock/mpix.h have different functions under the same names"
#endif

#include <mpi.h>

#include "crossdock/crossdock.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MPIX_Comm MPIX_Comm;  ///< a private duplicate of MPI's, and where its ranks live
typedef struct MPIX_Info MPIX_Info;  ///< how to exchange

#pragma GCC visibility push(default)

/// @brief Duplicates `comm` and finds out which of its ranks share a node, or takes the regions
/// that CROSSDOCK_TOPOLOGY names in the environment of rank 0.
/// @par Collective
/// Yes, over `comm`; blocks.
/// @return MPI_ERR_ARG if `comm` is MPI_COMM_NULL or an intercommunicator
int MPIX_Comm_init(MPIX_Comm** xcomm, MPI_Comm comm);

/// @brief Replaces the nodes by regions, written as "4x16", "16,16,8", "cyclic:4x16" or
/// "list:0,1,0,1".
/// @par Collective
/// Logically: `text` must be equal on all ranks. Does not communicate.
/// @return MPI_ERR_ARG if the text is malformed or describes another number of ranks
int MPIX_Comm_topology(MPIX_Comm* xcomm, const char* text);

/// @brief An object of the same ranks, regions and duplicate, which stay the context's.
/// @par Collective
/// No.
int MPIX_Comm_from_context(MPIX_Comm** xcomm, const crossdock_context* context);

/// @brief A context of the same ranks, regions and duplicate: for neighbor exchanges, say. To be
/// freed with `crossdock_context_free`; not to be closed.
/// @par Collective
/// No.
int MPIX_Comm_get_context(const MPIX_Comm* xcomm, crossdock_context** context);

/// @brief Frees the object and, unless it came from a context, the duplicate, and sets `*xcomm` to
/// null; a null pointer is nothing to free.
/// @par Collective
/// Yes; may block.
int MPIX_Comm_free(MPIX_Comm** xcomm);

/// @brief An object that says nothing yet: the defaults.
int MPIX_Info_init(MPIX_Info** xinfo);

/// @brief Sets what `key` names to `value`.
///
/// - "algorithm": "auto", "personalized", "nonblocking", "rma", "rma_fence", "locality_personalized",
///   "locality_nonblocking", "locality_rma", "reduce_scatter", "shared_memory" or "routed:ROUTE".
/// - "recv_nnz": "room"; or "known": every rank knows how many messages will come to it, and says so
///   in `*recv_nnz`. A wrong number may leave a rank waiting for ever; with CROSSDOCK_CHECK=1 in the environment of
///   rank 0 the call fails on all ranks instead, and `crossdock_last_error` names the rank and both numbers.
/// @return MPI_ERR_ARG if there is no such key or no such value
int MPIX_Info_set(MPIX_Info* xinfo, const char* key, const char* value);

/// @brief An object that says what options of crossdock.h say, but for their `sent`; "recv_nnz" is
/// "room".
int MPIX_Info_from_options(MPIX_Info** xinfo, const crossdock_exchange_options* options);

/// @brief Options that say what the object says, but for "recv_nnz". The text lives as long as the
/// object, until it is set again.
/// @param options  begun with their initialiser; only as many bytes as their `size` says are
///                 written, and it stays
/// @return MPI_ERR_ARG if they are not
int MPIX_Info_get_options(const MPIX_Info* xinfo, crossdock_exchange_options* options);

/// @brief Sets `*xinfo` to null; a null pointer is nothing to free.
int MPIX_Info_free(MPIX_Info** xinfo);

/// @brief Delivers messages of one size to ranks that do not expect them.
///
///     send_nnz 2, dest {3, 0}, sendcount 2, sendvals {a b c d}:   a b to rank 3, c d to rank 0
///
/// @param sendcount  values per message; equal on all ranks
/// @param recv_nnz   in: for how many messages `src` and `recvvals` have room; -1: for as many as
///                   come, or for none if the arrays are null. Out: how many came.
///                   If the info says that it is "known", in: how many will come to this rank, its
///                   own included, on all ranks. "personalized" and "reduce_scatter" then count
///                   nothing, and wait for ever where numbers are wrong but add up.
/// @param src        who sent each message; ascending
/// @param recvcount  equal to `sendcount`
/// @param recvtype   with as many bytes per value as `sendtype`
/// @param recvvals   `recvcount` values of each message, one after the other
/// @param xinfo      equal on all ranks; null means the defaults
/// @par Collective
/// Yes, over `xcomm`; blocks.
/// @return MPI_ERR_TRUNCATE if a rank lacks room: on all ranks, as all have to call again;
///         `*recv_nnz` is then what each needs, and no array has been written.
///         MPI_ERR_RANK if a destination is not a rank; MPI_ERR_COUNT if a count is negative or
///         differs between ranks, known numbers of messages do not add up to those sent
///         ("personalized" and "reduce_scatter" look), or a result does not fit an int;
///         MPI_ERR_BUFFER if an array is null but not empty; MPI_ERR_TYPE if a datatype is
///         MPI_DATATYPE_NULL or has no bytes, or the two differ in size; MPI_ERR_ARG for other
///         arguments; MPI_ERR_OTHER for all else
int MPIX_Alltoall_crs(int send_nnz, const int* dest, int sendcount, MPI_Datatype sendtype,
                      const void* sendvals, int* recv_nnz, int* src, int recvcount,
                      MPI_Datatype recvtype, void* recvvals, const MPIX_Info* xinfo,
                      const MPIX_Comm* xcomm);

/// @brief As `MPIX_Alltoall_crs`, into arrays that are made as long as they must be.
/// @param recv_nnz  out: how many messages came; in as well if it is "known"
/// @param src       to be freed with `MPIX_Free`, as `recvvals`; null if no message came
/// @param recvvals  values of `recvtype`, gaps zero; null if no value came
int MPIX_Alltoall_crs_alloc(int send_nnz, const int* dest, int sendcount, MPI_Datatype sendtype,
                            const void* sendvals, int* recv_nnz, int** src, int recvcount,
                            MPI_Datatype recvtype, void** recvvals, const MPIX_Info* xinfo,
                            const MPIX_Comm* xcomm);

/// @brief Delivers messages of any size to ranks that do not expect them.
///
///     dest {3, 0}, sendcounts {1, 2}, sdispls {2, 0}, sendvals {a b c}:   c to rank 3, a b to rank 0
///
/// @param send_size   at least the values of all messages together
/// @param sdispls     where each message's values start; null: one after the other
/// @param recv_size   as `recv_nnz`, for the values that `recvvals` has room for
/// @param recvcounts  values of each message
/// @param rdispls     where each message's values start; they come one after the other
/// @par Collective
/// Yes, over `xcomm`; blocks.
/// @return as `MPIX_Alltoall_crs`
int MPIX_Alltoallv_crs(int send_nnz, int send_size, const int* dest, const int* sendcounts,
                       const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
                       int* recv_nnz, int* recv_size, int* src, int* recvcounts, int* rdispls,
                       MPI_Datatype recvtype, void* recvvals, const MPIX_Info* xinfo,
                       const MPIX_Comm* xcomm);

/// @brief As `MPIX_Alltoallv_crs`, into arrays that are made as long as they must be.
/// @param src      to be freed with `MPIX_Free`, as are `recvcounts`, `rdispls` and `recvvals`; all
///                 but `rdispls` null where empty
/// @param rdispls  one more than messages: the last is the number of values
int MPIX_Alltoallv_crs_alloc(int send_nnz, int send_size, const int* dest, const int* sendcounts,
                             const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
                             int* recv_nnz, int* recv_size, int** src, int** recvcounts,
                             int** rdispls, MPI_Datatype recvtype, void** recvvals,
                             const MPIX_Info* xinfo, const MPIX_Comm* xcomm);

/// @brief Frees an array that an exchange has made; a null pointer is nothing to free.
int MPIX_Free(void* array);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
