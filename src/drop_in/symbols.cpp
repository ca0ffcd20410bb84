// The functions of MPI that libcrossdock_mpi.so takes the place of. PMPI_ has MPI's own.
#include <mpi.h>

#include <cstdlib>
#include <functional>
#include <utility>

#include "call.hpp"
#ifdef CROSSDOCK_HAS_MPI_EXTENSIONS
#include <mpi-ext.h>
#endif

namespace {

using namespace crossdock::drop_in;

bool is_off() {
    static const bool off = std::getenv("CROSSDOCK_OFF") != nullptr;
    return off;
}

MPI_Aint extent_of(MPI_Datatype type) {
    MPI_Aint lower_bound = 0, extent = 0;
    CROSSDOCK_MPI(MPI_Type_get_extent(type, &lower_bound, &extent));
    return extent;
}

// One side of a call, as its arguments name it; `blocks` gives those of the neighbors.
struct side_arguments {
    const void* buffer;
    std::function<std::vector<block>(const neighbors&)> blocks;
};

// Blocks of one length. Every neighbor has the first one, or each its own.
side_arguments equal_blocks(const void* buffer, int count, MPI_Datatype type, bool is_shared) {
    return {buffer, [=](const neighbors& all) {
                const MPI_Aint stride = is_shared ? 0 : count * extent_of(type);
                std::vector<block> made;
                for (const int entry : all.entries) made.push_back({entry * stride, count, type});
                return made;
            }};
}

side_arguments blocks_at(const void* buffer, const int* counts, const int* displacements,
                         MPI_Datatype type) {
    return {buffer, [=](const neighbors& all) {
                const MPI_Aint extent = extent_of(type);
                std::vector<block> made;
                for (const int entry : all.entries)
                    made.push_back({counts[entry] > 0 ? displacements[entry] * extent : 0,
                                    counts[entry], type});
                return made;
            }};
}

side_arguments typed_blocks(const void* buffer, const int* counts, const MPI_Aint* displacements,
                            const MPI_Datatype* types) {
    return {buffer, [=](const neighbors& all) {
                std::vector<block> made;
                for (const int entry : all.entries)
                    made.push_back({displacements[entry], counts[entry], types[entry]});
                return made;
            }};
}

// What MPI is to say of wrong arguments, MPI says.
bool is_plain(const std::vector<block>& blocks) {
    for (const auto& one : blocks)
        if (one.count < 0 || (one.count > 0 && one.type == MPI_DATATYPE_NULL)) return false;
    return true;
}

// Does a call, or lets MPI do it.
template <class Perform, class Own>
int take(MPI_Comm comm, const side_arguments& sends, const side_arguments& receives,
         Perform&& perform, Own&& own) {
    int code = MPI_SUCCESS;
    try {
        auto on = is_off() ? nullptr : graph::of(comm);
        if (!on || sends.buffer == MPI_IN_PLACE) return own();
        auto send_blocks = sends.blocks(on->destinations());
        auto receive_blocks = receives.blocks(on->sources());
        if (!is_plain(send_blocks) || !is_plain(receive_blocks)) return own();
        call_side send_side(const_cast<void*>(sends.buffer), std::move(send_blocks));
        call_side receive_side(const_cast<void*>(receives.buffer), std::move(receive_blocks));
        code = perform({std::move(on), std::move(send_side), std::move(receive_side)});
    } catch (...) {
        code = current_code();
    }
    if (code != MPI_SUCCESS) PMPI_Comm_call_errhandler(comm, code);
    return code;
}

// A communicator that MPI has just made.
int attached(int code, MPI_Comm* made) {
    if (code != MPI_SUCCESS || is_off()) return code;
    try {
        graph::attach(*made);
    } catch (...) {
        code = current_code();
        PMPI_Comm_call_errhandler(*made, code);
    }
    return code;
}

}  // namespace

#ifdef CROSSDOCK_HAS_NEIGHBOR_INIT
#define CROSSDOCK_INIT(name) MPI_Neighbor_##name##_init
#define CROSSDOCK_OWN_INIT(name) PMPI_Neighbor_##name##_init
#elif defined(CROSSDOCK_HAS_MPI_EXTENSIONS)
#define CROSSDOCK_INIT(name) MPIX_Neighbor_##name##_init
#define CROSSDOCK_OWN_INIT(name) PMPIX_Neighbor_##name##_init
#endif

#pragma GCC visibility push(default)

#define CROSSDOCK_LIST(...) __VA_ARGS__
#ifdef CROSSDOCK_INIT
#define CROSSDOCK_TAKE_INIT(name, parameters, arguments, sends, receives)                          \
    extern "C" int CROSSDOCK_INIT(name)(CROSSDOCK_LIST parameters, MPI_Comm comm, MPI_Info info,   \
                                        MPI_Request * request) {                                   \
        const auto by_mpi = [&] {                                                                  \
            return CROSSDOCK_OWN_INIT(name)(CROSSDOCK_LIST arguments, comm, info, request);        \
        };                                                                                         \
        return take(                                                                               \
            comm, sends, receives,                                                                 \
            [&](neighbor_call call) { return make_persistent(std::move(call), request, by_mpi); }, \
            by_mpi);                                                                               \
    }
#else
#define CROSSDOCK_TAKE_INIT(name, parameters, arguments, sends, receives)
#endif
// The three forms of a call. The lists are what stands before the communicator.
#define CROSSDOCK_TAKE(name, parameters, arguments, sends, receives)                         \
    extern "C" int MPI_Neighbor_##name(CROSSDOCK_LIST parameters, MPI_Comm comm) {           \
        return take(comm, sends, receives, exchange,                                         \
                    [&] { return PMPI_Neighbor_##name(CROSSDOCK_LIST arguments, comm); });   \
    }                                                                                        \
    extern "C" int MPI_Ineighbor_##name(CROSSDOCK_LIST parameters, MPI_Comm comm,            \
                                        MPI_Request* request) {                              \
        return take(                                                                         \
            comm, sends, receives,                                                           \
            [&](neighbor_call call) { return start_exchange(std::move(call), request); },    \
            [&] { return PMPI_Ineighbor_##name(CROSSDOCK_LIST arguments, comm, request); }); \
    }                                                                                        \
    CROSSDOCK_TAKE_INIT(name, parameters, arguments, sends, receives)

CROSSDOCK_TAKE(alltoall,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                int recvcount, MPI_Datatype recvtype),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
               equal_blocks(sendbuf, sendcount, sendtype, false),
               equal_blocks(recvbuf, recvcount, recvtype, false))

CROSSDOCK_TAKE(alltoallv,
               (const void* sendbuf, const int* sendcounts, const int* sdispls,
                MPI_Datatype sendtype, void* recvbuf, const int* recvcounts, const int* rdispls,
                MPI_Datatype recvtype),
               (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
               blocks_at(sendbuf, sendcounts, sdispls, sendtype),
               blocks_at(recvbuf, recvcounts, rdispls, recvtype))

CROSSDOCK_TAKE(alltoallw,
               (const void* sendbuf, const int* sendcounts, const MPI_Aint* sdispls,
                const MPI_Datatype* sendtypes, void* recvbuf, const int* recvcounts,
                const MPI_Aint* rdispls, const MPI_Datatype* recvtypes),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes),
               typed_blocks(sendbuf, sendcounts, sdispls, sendtypes),
               typed_blocks(recvbuf, recvcounts, rdispls, recvtypes))

CROSSDOCK_TAKE(allgather,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                int recvcount, MPI_Datatype recvtype),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
               equal_blocks(sendbuf, sendcount, sendtype, true),
               equal_blocks(recvbuf, recvcount, recvtype, false))

CROSSDOCK_TAKE(allgatherv,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                const int* recvcounts, const int* displs, MPI_Datatype recvtype),
               (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),
               equal_blocks(sendbuf, sendcount, sendtype, true),
               blocks_at(recvbuf, recvcounts, displs, recvtype))

extern "C" {

int MPI_Start(MPI_Request* request) {
    // It is active before what completes it can be sent.
    const MPI_Request handle = *request;
    int code = PMPI_Start(request);
    if (code != MPI_SUCCESS) return code;
    code = start_persistent(handle);
    if (code != MPI_SUCCESS) PMPI_Comm_call_errhandler(MPI_COMM_SELF, code);
    return code;
}

int MPI_Startall(int count, MPI_Request requests[]) {
    if (!has_persistent()) return PMPI_Startall(count, requests);
    for (int i = 0; i < count; ++i) {
        const int code = MPI_Start(&requests[i]);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request* request) {
    const MPI_Request handle = *request;
    const int code = PMPI_Request_free(request);
    if (code == MPI_SUCCESS) forget_persistent(handle);
    return code;
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                   const int sourceweights[], int outdegree,
                                   const int destinations[], const int destweights[], MPI_Info info,
                                   int reorder, MPI_Comm* graph) {
    return attached(
        PMPI_Dist_graph_create_adjacent(comm, indegree, sources, sourceweights, outdegree,
                                        destinations, destweights, info, reorder, graph),
        graph);
}

int MPI_Dist_graph_create(MPI_Comm comm, int n, const int nodes[], const int degrees[],
                          const int targets[], const int weights[], MPI_Info info, int reorder,
                          MPI_Comm* graph) {
    return attached(
        PMPI_Dist_graph_create(comm, n, nodes, degrees, targets, weights, info, reorder, graph),
        graph);
}

int MPI_Graph_create(MPI_Comm comm, int num_nodes, const int index[], const int edges[],
                     int reorder, MPI_Comm* graph) {
    return attached(PMPI_Graph_create(comm, num_nodes, index, edges, reorder, graph), graph);
}

int MPI_Cart_create(MPI_Comm comm, int num_dimensions, const int extents[],
                    const int are_periodic[], int reorder, MPI_Comm* grid) {
    return attached(PMPI_Cart_create(comm, num_dimensions, extents, are_periodic, reorder, grid),
                    grid);
}

int MPI_Cart_sub(MPI_Comm comm, const int remaining[], MPI_Comm* grid) {
    return attached(PMPI_Cart_sub(comm, remaining, grid), grid);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    return attached(PMPI_Comm_dup(comm, made), made);
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
    return attached(PMPI_Comm_dup_with_info(comm, info, made), made);
}

}  // extern "C"
