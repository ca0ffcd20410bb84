/// @file
/// @brief Stands between the library and MPI, and tells a test of each call before it is made.
///
/// To be included by one source of a program only.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string_view>

namespace crossdock::test {

/// @brief A call of MPI; what it does not have is as here.
struct mpi_call {
    std::string_view name;  ///< "Isend"
    MPI_Comm comm = MPI_COMM_NULL;
    int count = 0;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    MPI_Op operation = MPI_OP_NULL;
    int destination = MPI_PROC_NULL;

    bool is_one_of(std::initializer_list<std::string_view> names) const {
        return std::find(names.begin(), names.end(), name) != names.end();
    }
    int bytes() const {
        int size = 0;
        MPI_Type_size(datatype, &size);
        return count * size;
    }
};

inline std::function<void(const mpi_call&)> on_mpi_call = [](const mpi_call&) {};

}  // namespace crossdock::test

#define CROSSDOCK_WATCHED(function, parameters, arguments, ...)         \
    int MPI_##function parameters {                                     \
        crossdock::test::on_mpi_call({.name = #function, __VA_ARGS__}); \
        return PMPI_##function arguments;                               \
    }

// Messages.
extern "C" {
CROSSDOCK_WATCHED(Isend,
                  (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                  (a, b, c, d, e, f, g), .comm = f, .count = b, .datatype = c, .destination = d)
CROSSDOCK_WATCHED(Issend,
                  (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                  (a, b, c, d, e, f, g), .comm = f, .count = b, .datatype = c, .destination = d)
CROSSDOCK_WATCHED(Irecv, (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                  (a, b, c, d, e, f, g), .comm = f)
CROSSDOCK_WATCHED(Improbe, (int a, int b, MPI_Comm c, int* d, MPI_Message* e, MPI_Status* f),
                  (a, b, c, d, e, f), .comm = c)
CROSSDOCK_WATCHED(Fetch_and_op,
                  (const void* a, void* b, MPI_Datatype c, int d, MPI_Aint e, MPI_Op f, MPI_Win g),
                  (a, b, c, d, e, f, g), .destination = d)
CROSSDOCK_WATCHED(Put,
                  (const void* a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g,
                   MPI_Win h),
                  (a, b, c, d, e, f, g, h), .count = b, .datatype = c, .destination = d)

// Collectives whose arguments are as long for any number of ranks.
CROSSDOCK_WATCHED(Allreduce, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),
                  (a, b, c, d, e, f), .comm = f, .count = c, .operation = e)
CROSSDOCK_WATCHED(Iallreduce,
                  (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f,
                   MPI_Request* g),
                  (a, b, c, d, e, f, g), .comm = f, .count = c, .operation = e)
CROSSDOCK_WATCHED(Exscan, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),
                  (a, b, c, d, e, f), .comm = f)
CROSSDOCK_WATCHED(Iexscan,
                  (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f,
                   MPI_Request* g),
                  (a, b, c, d, e, f, g), .comm = f)
CROSSDOCK_WATCHED(Bcast, (void* a, int b, MPI_Datatype c, int d, MPI_Comm e), (a, b, c, d, e),
                  .comm = e)
CROSSDOCK_WATCHED(Ibcast, (void* a, int b, MPI_Datatype c, int d, MPI_Comm e, MPI_Request* f),
                  (a, b, c, d, e, f), .comm = e)
CROSSDOCK_WATCHED(Barrier, (MPI_Comm a), (a), .comm = a)
CROSSDOCK_WATCHED(Ibarrier, (MPI_Comm a, MPI_Request* b), (a, b), .comm = a)

// Those whose arguments grow with it.
CROSSDOCK_WATCHED(Allgather,
                  (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f,
                   MPI_Comm g),
                  (a, b, c, d, e, f, g), .comm = g)
CROSSDOCK_WATCHED(Iallgather,
                  (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g,
                   MPI_Request* h),
                  (a, b, c, d, e, f, g, h), .comm = g)
CROSSDOCK_WATCHED(Allgatherv,
                  (const void* a, int b, MPI_Datatype c, void* d, const int* e, const int* f,
                   MPI_Datatype g, MPI_Comm h),
                  (a, b, c, d, e, f, g, h), .comm = h)
CROSSDOCK_WATCHED(Gather,
                  (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g,
                   MPI_Comm h),
                  (a, b, c, d, e, f, g, h), .comm = h)
CROSSDOCK_WATCHED(Igather,
                  (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g,
                   MPI_Comm h, MPI_Request* i),
                  (a, b, c, d, e, f, g, h, i), .comm = h)
CROSSDOCK_WATCHED(Gatherv,
                  (const void* a, int b, MPI_Datatype c, void* d, const int* e, const int* f,
                   MPI_Datatype g, int h, MPI_Comm i),
                  (a, b, c, d, e, f, g, h, i), .comm = i)
CROSSDOCK_WATCHED(Igatherv,
                  (const void* a, int b, MPI_Datatype c, void* d, const int* e, const int* f,
                   MPI_Datatype g, int h, MPI_Comm i, MPI_Request* j),
                  (a, b, c, d, e, f, g, h, i, j), .comm = i)
CROSSDOCK_WATCHED(Scatter,
                  (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g,
                   MPI_Comm h),
                  (a, b, c, d, e, f, g, h), .comm = h)
CROSSDOCK_WATCHED(Alltoall,
                  (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f,
                   MPI_Comm g),
                  (a, b, c, d, e, f, g), .comm = g)
CROSSDOCK_WATCHED(Ialltoall,
                  (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g,
                   MPI_Request* h),
                  (a, b, c, d, e, f, g, h), .comm = g)
CROSSDOCK_WATCHED(Alltoallv,
                  (const void* a, const int* b, const int* c, MPI_Datatype d, void* e, const int* f,
                   const int* g, MPI_Datatype h, MPI_Comm i),
                  (a, b, c, d, e, f, g, h, i), .comm = i)
CROSSDOCK_WATCHED(Ialltoallv,
                  (const void* a, const int* b, const int* c, MPI_Datatype d, void* e, const int* f,
                   const int* g, MPI_Datatype h, MPI_Comm i, MPI_Request* j),
                  (a, b, c, d, e, f, g, h, i, j), .comm = i)
CROSSDOCK_WATCHED(Reduce_scatter,
                  (const void* a, void* b, const int* c, MPI_Datatype d, MPI_Op e, MPI_Comm f),
                  (a, b, c, d, e, f), .comm = f)
CROSSDOCK_WATCHED(Reduce_scatter_block,
                  (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),
                  (a, b, c, d, e, f), .comm = f, .count = c)
CROSSDOCK_WATCHED(Ireduce_scatter_block,
                  (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f,
                   MPI_Request* g),
                  (a, b, c, d, e, f, g), .comm = f, .count = c)

// Communicators and windows.
CROSSDOCK_WATCHED(Comm_dup, (MPI_Comm a, MPI_Comm* b), (a, b), .comm = a)
CROSSDOCK_WATCHED(Comm_split, (MPI_Comm a, int b, int c, MPI_Comm* d), (a, b, c, d), .comm = a)
CROSSDOCK_WATCHED(Comm_split_type, (MPI_Comm a, int b, int c, MPI_Info d, MPI_Comm* e),
                  (a, b, c, d, e), .comm = a)
CROSSDOCK_WATCHED(Comm_free, (MPI_Comm * a), (a), .comm = *a)
CROSSDOCK_WATCHED(Win_allocate, (MPI_Aint a, int b, MPI_Info c, MPI_Comm d, void* e, MPI_Win* f),
                  (a, b, c, d, e, f), .comm = d)
CROSSDOCK_WATCHED(Win_allocate_shared,
                  (MPI_Aint a, int b, MPI_Info c, MPI_Comm d, void* e, MPI_Win* f),
                  (a, b, c, d, e, f), .comm = d)
}
