#include "crossdock/mpi_advance/mpi_advance.h"

#include "objects.hpp"

#include <cstring>
#include <new>

using crossdock::current_error;
using crossdock::errc;
using crossdock::error;
using crossdock::mpi_advance::require;
using crossdock::mpi_advance::returned;
using namespace crossdock::mpi_advance;

namespace crossdock::mpi_advance {

// A datatype that the program may free while we have it. MPI's own need no copy, which would be slower.
class own_datatype {
  public:
    explicit own_datatype(MPI_Datatype type) : type_(type) {
        int num_integers = 0, num_addresses = 0, num_datatypes = 0, combiner = MPI_COMBINER_NAMED;
        CROSSDOCK_MPI(
            MPI_Type_get_envelope(type, &num_integers, &num_addresses, &num_datatypes, &combiner));
        is_copy_ = combiner != MPI_COMBINER_NAMED;
        if (is_copy_) CROSSDOCK_MPI(MPI_Type_dup(type, &type_));
    }
    ~own_datatype() {
        int is_over = 0;
        MPI_Finalized(&is_over);
        if (is_copy_ && is_over == 0) MPI_Type_free(&type_);
    }
    own_datatype(const own_datatype&) = delete;
    own_datatype& operator=(const own_datatype&) = delete;

    MPI_Datatype get() const { return type_; }

  private:
    MPI_Datatype type_;
    bool is_copy_ = false;
};

}  // namespace crossdock::mpi_advance

struct MPIL_Request {
    crossdock::neighbor_exchange exchange;
    const void* sendbuf;
    own_datatype sendtype;
    void* recvbuf;
    own_datatype recvtype;
};

namespace {

constexpr way direct{"direct", false};
constexpr way aggregated{"three_step", false};
constexpr way automatic{"auto", false};

way way_of(NeighborAlltoallvMethod method) {
    switch (method) {
        case NEIGHBOR_ALLTOALLV_LOCALITY: return aggregated;
        case CROSSDOCK_NEIGHBOR_ALLTOALLV_AUTO: return automatic;
        default: return direct;
    }
}

way way_of(NeighborAlltoallvInitMethod method) {
    switch (method) {
        case NEIGHBOR_ALLTOALLV_INIT_LOCALITY: return aggregated;
        case CROSSDOCK_NEIGHBOR_ALLTOALLV_INIT_AUTO: return automatic;
        default: return direct;
    }
}

way deduplicated(way travels) { return {travels.route, true}; }

// A call, or what is wrong with it.
struct attempted_call {
    attempted_call(const MPIL_Topo* topo, const neighbor_arguments& arguments, const way& travels) {
        try {
            call.emplace(topo, arguments, travels);
        } catch (...) {
            fault = current_error();
        }
    }

    std::optional<neighbor_call> call;
    std::optional<error> fault;
};

int exchange_once(const void* sendbuf, void* recvbuf, const neighbor_arguments& arguments,
                  const MPIL_Topo* topo, MPIL_Comm* comm, const way& travels) {
    return returned([&] {
        auto& own = required(comm);
        attempted_call attempt(topo, arguments, travels);
        auto& exchange = own.recent.exchange_for(own.where, std::move(attempt.call), attempt.fault);
        exchange.start(sendbuf, arguments.sent.type, recvbuf, arguments.received.type);
        exchange.wait();
    });
}

int make_request(const void* sendbuf, void* recvbuf, const neighbor_arguments& arguments,
                 const MPIL_Topo* topo, MPIL_Comm* comm, const way& travels,
                 MPIL_Request** result) {
    return returned([&] {
        auto& own = required(comm);
        attempted_call attempt(topo, arguments, travels);
        if (result == nullptr && !attempt.fault)
            attempt.fault = error(errc::invalid_argument, "request_ptr is a null pointer");
        auto exchange = make_exchange(own.where, attempt.call, attempt.fault);
        *result = new MPIL_Request{std::move(exchange), sendbuf, own_datatype(arguments.sent.type),
                                   recvbuf, own_datatype(arguments.received.type)};
    });
}

const MPIL_Topo* neighbors_of(const MPIL_Comm* comm) {
    return comm != nullptr && comm->neighbors ? &*comm->neighbors : nullptr;
}

}  // namespace

int MPIL_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                            MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                            const int rdispls[], MPI_Datatype recvtype, MPIL_Comm* comm) {
    return exchange_once(
        sendbuf, recvbuf,
        {{sendcounts, sdispls, sendtype}, nullptr, {recvcounts, rdispls, recvtype}},
        neighbors_of(comm), comm, way_of(mpil_neighbor_alltoallv_implementation));
}

int MPIL_Neighbor_alltoallv_topo(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                 const int rdispls[], MPI_Datatype recvtype, MPIL_Topo* topo,
                                 MPIL_Comm* comm) {
    return exchange_once(
        sendbuf, recvbuf,
        {{sendcounts, sdispls, sendtype}, nullptr, {recvcounts, rdispls, recvtype}}, topo, comm,
        way_of(mpil_neighbor_alltoallv_implementation));
}

int MPIL_Neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                 const int rdispls[], MPI_Datatype recvtype, MPIL_Comm* comm,
                                 MPIL_Info*, MPIL_Request** request_ptr) {
    return make_request(sendbuf, recvbuf,
                        {{sendcounts, sdispls, sendtype}, nullptr, {recvcounts, rdispls, recvtype}},
                        neighbors_of(comm), comm,
                        way_of(mpil_neighbor_alltoallv_init_implementation), request_ptr);
}

int MPIL_Neighbor_alltoallv_init_topo(const void* sendbuf, const int sendcounts[],
                                      const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                      const int recvcounts[], const int rdispls[],
                                      MPI_Datatype recvtype, MPIL_Topo* topo, MPIL_Comm* comm,
                                      MPIL_Info*, MPIL_Request** request_ptr) {
    return make_request(sendbuf, recvbuf,
                        {{sendcounts, sdispls, sendtype}, nullptr, {recvcounts, rdispls, recvtype}},
                        topo, comm, way_of(mpil_neighbor_alltoallv_init_implementation),
                        request_ptr);
}

int MPIL_Neighbor_alltoallv_init_ext(const void* sendbuf, const int sendcounts[],
                                     const int sdispls[], const long global_sindices[],
                                     MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                     const int rdispls[], const long[], MPI_Datatype recvtype,
                                     MPIL_Comm* comm, MPIL_Info*, MPIL_Request** request_ptr) {
    return make_request(
        sendbuf, recvbuf,
        {{sendcounts, sdispls, sendtype}, global_sindices, {recvcounts, rdispls, recvtype}},
        neighbors_of(comm), comm, deduplicated(way_of(mpil_neighbor_alltoallv_init_implementation)),
        request_ptr);
}

int MPIL_Neighbor_alltoallv_init_ext_topo(const void* sendbuf, const int sendcounts[],
                                          const int sdispls[], const long global_sindices[],
                                          MPI_Datatype sendtype, void* recvbuf,
                                          const int recvcounts[], const int rdispls[], const long[],
                                          MPI_Datatype recvtype, MPIL_Topo* topo, MPIL_Comm* comm,
                                          MPIL_Info*, MPIL_Request** request_ptr) {
    return make_request(
        sendbuf, recvbuf,
        {{sendcounts, sdispls, sendtype}, global_sindices, {recvcounts, rdispls, recvtype}}, topo,
        comm, deduplicated(way_of(mpil_neighbor_alltoallv_init_implementation)), request_ptr);
}

int MPIX_Neighbor_part_locality_alltoallv(const void* sendbuf, const int sendcounts[],
                                          const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                          const int recvcounts[], const int rdispls[],
                                          MPI_Datatype recvtype, MPIL_Comm* comm) {
    return exchange_once(
        sendbuf, recvbuf,
        {{sendcounts, sdispls, sendtype}, nullptr, {recvcounts, rdispls, recvtype}},
        neighbors_of(comm), comm, aggregated);
}

int MPIX_Neighbor_locality_alltoallv(const void* sendbuf, const int sendcounts[],
                                     const int sdispls[], const long global_sindices[],
                                     MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                     const int rdispls[], const long[], MPI_Datatype recvtype,
                                     MPIL_Comm* comm) {
    return exchange_once(
        sendbuf, recvbuf,
        {{sendcounts, sdispls, sendtype}, global_sindices, {recvcounts, rdispls, recvtype}},
        neighbors_of(comm), comm, deduplicated(aggregated));
}

int crossdock_part_locality_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                 const int rdispls[], MPI_Datatype recvtype, MPIL_Topo* topo,
                                 MPIL_Comm* comm, MPIL_Info*, MPIL_Request** request_ptr) {
    return make_request(sendbuf, recvbuf,
                        {{sendcounts, sdispls, sendtype}, nullptr, {recvcounts, rdispls, recvtype}},
                        topo ? topo : neighbors_of(comm), comm, aggregated, request_ptr);
}

int crossdock_locality_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                            const long global_sindices[], MPI_Datatype sendtype, void* recvbuf,
                            const int recvcounts[], const int rdispls[], const long[],
                            MPI_Datatype recvtype, MPIL_Topo* topo, MPIL_Comm* comm, MPIL_Info*,
                            MPIL_Request** request_ptr) {
    return make_request(
        sendbuf, recvbuf,
        {{sendcounts, sdispls, sendtype}, global_sindices, {recvcounts, rdispls, recvtype}},
        topo ? topo : neighbors_of(comm), comm, deduplicated(aggregated), request_ptr);
}

int MPIL_Start(MPIL_Request* request) {
    return returned([&] {
        if (request != nullptr)
            request->exchange.start(request->sendbuf, request->sendtype.get(), request->recvbuf,
                                    request->recvtype.get());
    });
}

int MPIL_Wait(MPIL_Request* request, MPI_Status*) {
    return returned([&] {
        if (request != nullptr && request->exchange.is_active()) request->exchange.wait();
    });
}

int MPIL_Request_free(MPIL_Request** request) {
    return returned([&] {
        if (request == nullptr || *request == nullptr) return;
        if ((*request)->exchange.is_unfinished())
            throw error(errc::invalid_state, "the request is active; wait for it first");
        delete std::exchange(*request, nullptr);
    });
}

int crossdock_explain_request(const MPIL_Request* request, char** text) {
    return returned([&] {
        require(request, "request");
        require(text, "text");
        const auto& exchange = request->exchange;
        char* const copy = strdup((exchange.explain() + to_string(exchange.plan())).c_str());
        if (copy == nullptr) throw std::bad_alloc();
        *text = copy;
    });
}
