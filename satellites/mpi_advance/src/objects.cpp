#include "objects.hpp"

#include <cstdlib>
#include <new>

#include "crossdock/mpi_advance/locality_aware.h"

using crossdock::context_of;
using crossdock::errc;
using crossdock::error;
using crossdock::on_all_or_none;
using crossdock::mpi_advance::require;
using crossdock::mpi_advance::required;
using crossdock::mpi_advance::returned;

struct MPIL_Info {};

MPIL_Comm* MPIL_COMM_WORLD = nullptr;
AlltoallMethod mpil_alltoall_implementation = ALLTOALL_PMPI;
AlltoallvMethod mpil_alltoallv_implementation = ALLTOALLV_PMPI;
NeighborAlltoallvMethod mpil_neighbor_alltoallv_implementation = CROSSDOCK_NEIGHBOR_ALLTOALLV_AUTO;
NeighborAlltoallvInitMethod mpil_neighbor_alltoallv_init_implementation =
    CROSSDOCK_NEIGHBOR_ALLTOALLV_INIT_AUTO;
AlltoallCRSMethod mpil_alltoall_crs_implementation = CROSSDOCK_ALLTOALL_CRS_AUTO;
AlltoallvCRSMethod mpil_alltoallv_crs_implementation = CROSSDOCK_ALLTOALLV_CRS_AUTO;

namespace {

template <class Method>
int set(Method& algorithm, Method given, Method last) {
    return returned([&] {
        if (given > last)
            throw error(errc::invalid_argument,
                        "there is no algorithm " + std::to_string(static_cast<int>(given)));
        algorithm = given;
    });
}

int do_nothing(const void* object, const char* what) {
    return returned([&] { require(object, what); });
}

// Runs `body` with the context of a communicator, on all ranks or on none.
template <class Body>
int with_new_comm(MPIL_Comm** result, MPI_Comm of, Body&& body) {
    return returned([&] {
        const auto where = context_of(of);
        auto made = crossdock::with_reserve([&] { return std::make_unique<MPIL_Comm>(where); });
        on_all_or_none(made->where.comm(), [&] {
            require(result, "the result");
            body(*made);
        });
        *result = made.release();
    });
}

}  // namespace

int MPIL_Set_alltoall_algorithm(AlltoallMethod algorithm) {
    return set(mpil_alltoall_implementation, algorithm, ALLTOALL_PMPI);
}

int MPIL_Set_alltoallv_algorithm(AlltoallvMethod algorithm) {
    return set(mpil_alltoallv_implementation, algorithm, ALLTOALLV_PMPI);
}

int MPIL_Set_alltoallv_neighbor_algorithm(NeighborAlltoallvMethod algorithm) {
    return set(mpil_neighbor_alltoallv_implementation, algorithm,
               CROSSDOCK_NEIGHBOR_ALLTOALLV_AUTO);
}

int MPIL_Set_alltoallv_neighbor_init_algorithm(NeighborAlltoallvInitMethod algorithm) {
    return set(mpil_neighbor_alltoallv_init_implementation, algorithm,
               CROSSDOCK_NEIGHBOR_ALLTOALLV_INIT_AUTO);
}

int MPIL_Set_alltoallv_neighbor_alogorithm(NeighborAlltoallvMethod algorithm) {
    return MPIL_Set_alltoallv_neighbor_algorithm(algorithm);
}

int MPIL_Set_alltoallv_neighbor_init_alogorithm(NeighborAlltoallvInitMethod algorithm) {
    return MPIL_Set_alltoallv_neighbor_init_algorithm(algorithm);
}

int MPIL_Set_alltoall_crs(AlltoallCRSMethod algorithm) {
    return set(mpil_alltoall_crs_implementation, algorithm, CROSSDOCK_ALLTOALL_CRS_AUTO);
}

int MPIL_Set_alltoallv_crs(AlltoallvCRSMethod algorithm) {
    return set(mpil_alltoallv_crs_implementation, algorithm, CROSSDOCK_ALLTOALLV_CRS_AUTO);
}

int MPIL_Comm_init(MPIL_Comm** xcomm_ptr, MPI_Comm global_comm) {
    return with_new_comm(xcomm_ptr, global_comm, [](MPIL_Comm&) {});
}

int MPIL_Init(MPI_Comm world) {
    MPIL_Comm* made = nullptr;
    const int code = MPIL_Comm_init(&made, world == MPI_COMM_NULL ? MPI_COMM_WORLD : world);
    if (code != MPI_SUCCESS) return code;
    std::swap(MPIL_COMM_WORLD, made);
    return MPIL_Comm_free(&made);
}

int MPIL_Finalize() { return MPIL_Comm_free(&MPIL_COMM_WORLD); }

int MPIL_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                    const int*, int outdegree, const int destinations[], const int*,
                                    MPIL_Info*, int, MPIL_Comm** comm_dist_graph_ptr) {
    return with_new_comm(comm_dist_graph_ptr, comm_old, [&](MPIL_Comm& made) {
        made.neighbors.emplace(indegree, sources, outdegree, destinations);
        for (const auto* list : {&made.neighbors->sources, &made.neighbors->destinations})
            for (const int neighbor : *list)
                if (neighbor < 0 || neighbor >= made.where.num_ranks())
                    throw error(errc::rank_out_of_range,
                                "neighbor " + std::to_string(neighbor) + " is outside [0, " +
                                    std::to_string(made.where.num_ranks()) + ")",
                                made.where.rank());
    });
}

int MPIL_Comm_free(MPIL_Comm** xcomm_ptr) {
    return returned([&] {
        if (xcomm_ptr != nullptr) delete std::exchange(*xcomm_ptr, nullptr);
    });
}

int MPIL_Comm_update_locality(MPIL_Comm* xcomm, int ppn) {
    return returned([&] {
        auto& comm = required(xcomm);
        if (ppn < 1)
            throw error(errc::invalid_argument,
                        "ppn is " + std::to_string(ppn) + "; the minimum is 1");
        std::vector<crossdock::region_t> region_of_rank;
        for (int rank = 0; rank < comm.where.num_ranks(); ++rank)
            region_of_rank.push_back(rank / ppn);
        comm.where = comm.where.with_topology(crossdock::topology::from_regions(region_of_rank));
        comm.recent.clear();
    });
}

int MPIL_Comm_tag(MPIL_Comm* comm, int* tag) {
    return returned([&] {
        auto& own = required(comm);
        require(tag, "tag");
        *tag = std::exchange(own.next_tag, (own.next_tag + 1) % 127);
    });
}

int MPIL_Comm_topo_init(MPIL_Comm* xcomm) { return do_nothing(xcomm, "xcomm"); }
int MPIL_Comm_topo_free(MPIL_Comm* xcomm) { return do_nothing(xcomm, "xcomm"); }
int MPIL_Comm_leader_init(MPIL_Comm* xcomm, int) { return do_nothing(xcomm, "xcomm"); }
int MPIL_Comm_leader_free(MPIL_Comm* xcomm) { return do_nothing(xcomm, "xcomm"); }
int MPIL_Comm_win_init(MPIL_Comm* xcomm, int, int) { return do_nothing(xcomm, "xcomm"); }
int MPIL_Comm_win_free(MPIL_Comm* xcomm) { return do_nothing(xcomm, "xcomm"); }
int MPIL_Comm_device_init(MPIL_Comm* xcomm) { return do_nothing(xcomm, "xcomm"); }
int MPIL_Comm_device_free(MPIL_Comm* xcomm) { return do_nothing(xcomm, "xcomm"); }
int MPIL_Comm_req_resize(MPIL_Comm* xcomm, int) { return do_nothing(xcomm, "xcomm"); }

int MPIL_Info_init(MPIL_Info** info) {
    return returned([&] {
        require(info, "info");
        *info = new MPIL_Info;
    });
}

int MPIL_Info_free(MPIL_Info** info) {
    if (info != nullptr) delete std::exchange(*info, nullptr);
    return MPI_SUCCESS;
}

int MPIL_Topo_init(int indegree, const int sources[], const int*, int outdegree,
                   const int destinations[], const int*, MPIL_Info*, MPIL_Topo** mpil_topo_ptr) {
    return returned([&] {
        require(mpil_topo_ptr, "mpil_topo_ptr");
        *mpil_topo_ptr = new MPIL_Topo(indegree, sources, outdegree, destinations);
    });
}

int MPIL_Topo_from_neighbor_comm(MPIL_Comm* comm, MPIL_Topo** mpil_topo_ptr) {
    return returned([&] {
        const auto& found = required(comm).neighbors;
        require(mpil_topo_ptr, "mpil_topo_ptr");
        if (!found) throw error(errc::invalid_argument, "the communicator has no neighbors");
        *mpil_topo_ptr = new MPIL_Topo(*found);
    });
}

int MPIL_Topo_free(MPIL_Topo** topo) {
    if (topo != nullptr) delete std::exchange(*topo, nullptr);
    return MPI_SUCCESS;
}

int MPIL_Request_reorder(MPIL_Request* request, int) { return do_nothing(request, "request"); }
int MPIL_Request_win_init(MPIL_Request* request, void*, int, int, MPI_Comm) {
    return do_nothing(request, "request");
}
int MPIL_Request_win_free(MPIL_Request* request) { return do_nothing(request, "request"); }

int MPIL_Alloc(void** pointer, const int bytes) {
    return returned([&] {
        require(pointer, "pointer");
        if (bytes < 0)
            throw error(errc::invalid_argument,
                        "bytes is " + std::to_string(bytes) + "; the minimum is 0");
        void* const made = bytes == 0 ? nullptr : std::malloc(static_cast<std::size_t>(bytes));
        if (bytes > 0 && made == nullptr) throw std::bad_alloc();
        *pointer = made;
    });
}

int MPIL_Free(void* pointer) {
    std::free(pointer);
    return MPI_SUCCESS;
}
