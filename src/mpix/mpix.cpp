#include "crossdock/mpix.h"

#include <utility>

#include "../c/exchange.hpp"
#include "../c/handles.hpp"

using namespace crossdock::c;
using crossdock::communicator;
using crossdock::errc;
using crossdock::error;
using crossdock::exchange_options;
using crossdock::on_all_or_none;
using crossdock::topology;

struct MPIX_Comm {
    crossdock::context where;
};

struct MPIX_Info {
    exchange_options options;
};

namespace {

int error_class(const error& fault) {
    if (const auto* const bad_argument = dynamic_cast<const argument_error*>(&fault))
        return bad_argument->mpi_class();
    switch (fault.code()) {
        case errc::size_mismatch: return MPI_ERR_TRUNCATE;
        case errc::rank_out_of_range: return MPI_ERR_RANK;
        case errc::count_mismatch:
        case errc::count_overflow: return MPI_ERR_COUNT;
        case errc::invalid_argument:
        case errc::invalid_topology:
        case errc::unknown_route:
        case errc::invalid_route: return MPI_ERR_ARG;
        default: return MPI_ERR_OTHER;
    }
}

/// Runs `body`; no exception leaves.
template <class Body>
int returned(Body&& body) noexcept {
    int mpi_class = MPI_ERR_OTHER;
    const auto status = guarded([&] {
        try {
            body();
        } catch (const error& fault) {
            mpi_class = error_class(fault);
            throw;
        }
    });
    return status == CROSSDOCK_SUCCESS ? MPI_SUCCESS : mpi_class;
}

constexpr int unknown = -1;

/// How much room `size` says there is.
crossdock::count_t room(const int* size, bool has_arrays) {
    if (size == nullptr) return 0;
    if (*size != unknown) return *size;
    return has_arrays ? caller_arrays<int>::no_limit : 0;
}

int exchange(MPIX_Comm* xcomm, const MPIX_Info* xinfo, const sent_messages<int>& sent,
             const caller_arrays<int>& to) {
    return returned([&] {
        require(xcomm, "xcomm");
        exchange_arrays({xcomm->where, xinfo ? xinfo->options : exchange_options{}}, sent, to);
    });
}

}  // namespace

int MPIX_Comm_init(MPIX_Comm** xcomm, MPI_Comm comm) {
    return returned([&] {
        communicator ranks(comm);
        try {
            on_all_or_none(ranks, [&] { require(xcomm, "xcomm"); });
            *xcomm = new MPIX_Comm{crossdock::context(ranks, crossdock::context_options{})};
        } catch (...) {
            ranks.close();
            throw;
        }
    });
}

int MPIX_Comm_topology(MPIX_Comm* xcomm, const char* text) {
    return returned([&] {
        require(xcomm, "xcomm");
        require(text, "text");
        auto regions = topology::from_string(text, xcomm->where.num_ranks());
        xcomm->where = xcomm->where.with_topology(std::move(regions));
    });
}

int MPIX_Comm_free(MPIX_Comm** xcomm) {
    return returned([&] {
        if (xcomm == nullptr || *xcomm == nullptr) return;
        (*xcomm)->where.close();
        delete *xcomm;
        *xcomm = nullptr;
    });
}

int MPIX_Info_init(MPIX_Info** xinfo) {
    return returned([&] {
        require(xinfo, "xinfo");
        *xinfo = new MPIX_Info;
    });
}

int MPIX_Info_set(MPIX_Info* xinfo, const char* key, const char* value) {
    return returned([&] {
        require(xinfo, "xinfo");
        require(key, "key");
        require(value, "value");
        if (std::string(key) != "algorithm")
            throw error(errc::invalid_argument,
                        "there is no key \"" + std::string(key) + "\"; there is \"algorithm\"");
        if (std::string(value) != "auto") crossdock::parse_exchange_algorithm(value);
        xinfo->options.algorithm = value;
    });
}

int MPIX_Info_free(MPIX_Info** xinfo) {
    return returned([&] {
        if (xinfo == nullptr) return;
        delete *xinfo;
        *xinfo = nullptr;
    });
}

int MPIX_Alltoall_crs(int send_nnz, int* dest, int sendcount, MPI_Datatype sendtype, void* sendvals,
                      int* recv_nnz, int* src, int recvcount, MPI_Datatype recvtype, void* recvvals,
                      MPIX_Info* xinfo, MPIX_Comm* xcomm) {
    const bool has_arrays = src != nullptr && (recvvals != nullptr || recvcount == 0);
    return exchange(xcomm, xinfo,
                    {.num_messages = send_nnz,
                     .destinations = dest,
                     .count = sendcount,
                     .datatype = sendtype,
                     .values = sendvals},
                    {.message_room = room(recv_nnz, has_arrays),
                     .count = recvcount,
                     .num_messages = recv_nnz,
                     .sources = src,
                     .datatype = recvtype,
                     .values = recvvals});
}

int MPIX_Alltoallv_crs(int send_nnz, int send_size, int* dest, int* sendcounts, int* sdispls,
                       MPI_Datatype sendtype, void* sendvals, int* recv_nnz, int* recv_size,
                       int* src, int* recvcounts, int* rdispls, MPI_Datatype recvtype,
                       void* recvvals, MPIX_Info* xinfo, MPIX_Comm* xcomm) {
    const bool has_arrays = src != nullptr && recvcounts != nullptr && rdispls != nullptr;
    return exchange(xcomm, xinfo,
                    {.num_messages = send_nnz,
                     .destinations = dest,
                     .num_values = send_size,
                     .counts = sendcounts,
                     .displacements = sdispls,
                     .datatype = sendtype,
                     .values = sendvals},
                    {.message_room = room(recv_nnz, has_arrays),
                     .value_room = room(recv_size, recvvals != nullptr),
                     .num_messages = recv_nnz,
                     .num_values = recv_size,
                     .sources = src,
                     .counts = recvcounts,
                     .displacements = rdispls,
                     .datatype = recvtype,
                     .values = recvvals});
}
