#include "crossdock/mpix.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "crossdock/exchange_algorithm.hpp"
#include "crossdock/topology.hpp"
#include "returned.hpp"

using crossdock::errc;
using crossdock::error;
using crossdock::mpi_advance::require;
using crossdock::mpi_advance::returned;

struct MPIX_Comm {
    crossdock_context* context;
    bool is_closed_when_freed;
};

struct MPIX_Info {
    crossdock_exchange_options options = CROSSDOCK_EXCHANGE_OPTIONS_INIT;
    std::string algorithm = "auto";
    bool knows_recv_nnz = false;
};

namespace {

// @param regions  null: the same
crossdock_status copy(const crossdock_context* context, const char* regions,
                      crossdock_context** result) {
    crossdock_topology* topology = nullptr;
    auto status = regions == nullptr ? crossdock_context_topology(context, &topology)
                                     : crossdock_topology_from_string(regions, &topology);
    if (status == CROSSDOCK_SUCCESS)
        status = crossdock_context_with_topology(context, topology, result);
    crossdock_topology_free(topology);
    return status;
}

crossdock_exchange_options options_of(const MPIX_Info& xinfo) {
    auto options = xinfo.options;
    options.algorithm = xinfo.algorithm.c_str();
    return options;
}

// Options in which the number of messages is known. Without a number the rank has a fault, of which the others hear.
void set_known(const MPIX_Comm& xcomm, const int* recv_nnz, crossdock_exchange_options& options) {
    options.num_sources = recv_nnz != nullptr ? *recv_nnz : 0;
    if (options.num_sources != -1) return;
    options.num_sources = 0;
    int rank = 0;
    crossdock_context_rank(xcomm.context, &rank);
    char sentence[80];
    std::snprintf(sentence, sizeof sentence, "rank %d expects -1 messages; the minimum is 0", rank);
    crossdock_fail_next(CROSSDOCK_INVALID_ARGUMENT, sentence);
}

template <class Call>
int exchange(const MPIX_Comm* xcomm, const MPIX_Info* xinfo, const int* recv_nnz, Call&& call) {
    return returned([&] {
        require(xcomm, "xcomm");
        static const MPIX_Info defaults;
        const MPIX_Info& info = xinfo != nullptr ? *xinfo : defaults;
        auto options = options_of(info);
        if (info.knows_recv_nnz) set_known(*xcomm, recv_nnz, options);
        return call(xcomm->context, &options);
    });
}

// "recv_nnz" is "room" or "known".
bool is_known(const std::string& value) {
    if (value == "known") return true;
    if (value == "room") return false;
    throw error(errc::invalid_argument, "recv_nnz is \"room\" or \"known\", not \"" + value + '"');
}

}  // namespace

int MPIX_Comm_init(MPIX_Comm** xcomm, MPI_Comm comm) {
    return returned([&] {
        crossdock_context* context = nullptr;
        const auto status =
            crossdock_context_create(comm, nullptr, xcomm == nullptr ? nullptr : &context);
        if (status == CROSSDOCK_SUCCESS) *xcomm = new MPIX_Comm{context, true};
        return status;
    });
}

int MPIX_Comm_topology(MPIX_Comm* xcomm, const char* text) {
    return returned([&] {
        require(xcomm, "xcomm");
        require(text, "text");
        int num_ranks = 0;
        auto status = crossdock_context_num_ranks(xcomm->context, &num_ranks);
        if (status != CROSSDOCK_SUCCESS) return status;
        static_cast<void>(crossdock::topology::from_string(text, num_ranks));  // of so many
        crossdock_context* with_regions = nullptr;
        status = copy(xcomm->context, text, &with_regions);
        if (status != CROSSDOCK_SUCCESS) return status;
        crossdock_context_free(xcomm->context);
        xcomm->context = with_regions;
        return status;
    });
}

int MPIX_Comm_from_context(MPIX_Comm** xcomm, const crossdock_context* context) {
    return returned([&] {
        require(xcomm, "xcomm");
        crossdock_context* same = nullptr;
        const auto status = copy(context, nullptr, &same);
        if (status == CROSSDOCK_SUCCESS) *xcomm = new MPIX_Comm{same, false};
        return status;
    });
}

int MPIX_Comm_get_context(const MPIX_Comm* xcomm, crossdock_context** context) {
    return returned([&] {
        require(xcomm, "xcomm");
        return copy(xcomm->context, nullptr, context);
    });
}

int MPIX_Comm_free(MPIX_Comm** xcomm) {
    return returned([&] {
        if (xcomm == nullptr || *xcomm == nullptr) return CROSSDOCK_SUCCESS;
        auto status = CROSSDOCK_SUCCESS;
        if ((*xcomm)->is_closed_when_freed) status = crossdock_context_close((*xcomm)->context);
        if (status != CROSSDOCK_SUCCESS) return status;
        crossdock_context_free((*xcomm)->context);
        delete *xcomm;
        *xcomm = nullptr;
        return status;
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
        if (std::string(key) == "recv_nnz") {
            xinfo->knows_recv_nnz = is_known(value);
            return;
        }
        if (std::string(key) != "algorithm")
            throw error(errc::invalid_argument, "there is no key \"" + std::string(key) +
                                                    "\"; there are \"algorithm\" and \"recv_nnz\"");
        if (std::string(value) != "auto") crossdock::parse_exchange_algorithm(value);
        xinfo->algorithm = value;
    });
}

int MPIX_Info_from_options(MPIX_Info** xinfo, const crossdock_exchange_options* options) {
    return returned([&] {
        require(xinfo, "xinfo");
        auto given = crossdock::known_options<crossdock_exchange_options>(
            options, CROSSDOCK_EXCHANGE_OPTIONS_INIT);
        given.sent = nullptr;
        given.size = sizeof given;
        *xinfo = new MPIX_Info{given, given.algorithm == nullptr ? "auto" : given.algorithm};
    });
}

int MPIX_Info_get_options(const MPIX_Info* xinfo, crossdock_exchange_options* options) {
    return returned([&] {
        require(xinfo, "xinfo");
        require(options, "options");
        const auto num_written = crossdock::checked_size(options, sizeof *options);
        auto said = options_of(*xinfo);
        said.size = options->size;
        std::memcpy(options, &said, num_written);
    });
}

int MPIX_Info_free(MPIX_Info** xinfo) {
    if (xinfo != nullptr) delete std::exchange(*xinfo, nullptr);
    return MPI_SUCCESS;
}

int MPIX_Alltoall_crs(int send_nnz, const int* dest, int sendcount, MPI_Datatype sendtype,
                      const void* sendvals, int* recv_nnz, int* src, int recvcount,
                      MPI_Datatype recvtype, void* recvvals, const MPIX_Info* xinfo,
                      const MPIX_Comm* xcomm) {
    return exchange(xcomm, xinfo, recv_nnz, [&](const auto* context, const auto* options) {
        return crossdock_sparse_exchange_int(context, send_nnz, dest, sendcount, sendtype, sendvals,
                                             recv_nnz, src, recvcount, recvtype, recvvals, options);
    });
}

int MPIX_Alltoall_crs_alloc(int send_nnz, const int* dest, int sendcount, MPI_Datatype sendtype,
                            const void* sendvals, int* recv_nnz, int** src, int recvcount,
                            MPI_Datatype recvtype, void** recvvals, const MPIX_Info* xinfo,
                            const MPIX_Comm* xcomm) {
    return exchange(xcomm, xinfo, recv_nnz, [&](const auto* context, const auto* options) {
        return crossdock_sparse_exchange_alloc_int(context, send_nnz, dest, sendcount, sendtype,
                                                   sendvals, recv_nnz, src, recvcount, recvtype,
                                                   recvvals, options);
    });
}

int MPIX_Alltoallv_crs(int send_nnz, int send_size, const int* dest, const int* sendcounts,
                       const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
                       int* recv_nnz, int* recv_size, int* src, int* recvcounts, int* rdispls,
                       MPI_Datatype recvtype, void* recvvals, const MPIX_Info* xinfo,
                       const MPIX_Comm* xcomm) {
    return exchange(xcomm, xinfo, recv_nnz, [&](const auto* context, const auto* options) {
        return crossdock_sparse_exchange_v_int(
            context, send_nnz, send_size, dest, sendcounts, sdispls, sendtype, sendvals, recv_nnz,
            recv_size, src, recvcounts, rdispls, recvtype, recvvals, options);
    });
}

int MPIX_Alltoallv_crs_alloc(int send_nnz, int send_size, const int* dest, const int* sendcounts,
                             const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
                             int* recv_nnz, int* recv_size, int** src, int** recvcounts,
                             int** rdispls, MPI_Datatype recvtype, void** recvvals,
                             const MPIX_Info* xinfo, const MPIX_Comm* xcomm) {
    return exchange(xcomm, xinfo, recv_nnz, [&](const auto* context, const auto* options) {
        return crossdock_sparse_exchange_v_alloc_int(
            context, send_nnz, send_size, dest, sendcounts, sdispls, sendtype, sendvals, recv_nnz,
            recv_size, src, recvcounts, rdispls, recvtype, recvvals, options);
    });
}

int MPIX_Free(void* array) {
    crossdock_free(array);
    return MPI_SUCCESS;
}
