#include "crossdock/mpix.h"

#include <cstring>
#include <utility>

#include "returned.hpp"
#include "src/c/exchange.hpp"
#include "src/c/handles.hpp"

using namespace crossdock::c;
using crossdock::communicator;
using crossdock::errc;
using crossdock::error;
using crossdock::exchange_options;
using crossdock::on_all_or_none;
using crossdock::topology;

struct MPIX_Comm {
    crossdock::context where;
    error_site errors;  // of contexts that are made of this
    bool is_closed_when_freed = true;
};

struct MPIX_Info {
    exchange_options options;
    bool knows_recv_nnz = false;
};

namespace {

constexpr int unknown = -1;

int error_class(const error& fault) {
    const auto* const bad_argument = dynamic_cast<const argument_error*>(&fault);
    return bad_argument ? bad_argument->mpi_class() : crossdock::mpi_advance::error_class(fault);
}

template <class Body>
int returned(Body&& body) noexcept {
    return crossdock::mpi_advance::returned(std::forward<Body>(body), error_class);
}

/// How much room `size` says there is.
crossdock::count_t room(const int* size, bool has_arrays) {
    if (size == nullptr) return 0;
    if (*size != unknown) return *size;
    return has_arrays ? caller_arrays<int>::no_limit : 0;
}

/// @param recv_nnz  how many messages will come, if the info says that it is known
exchange_options options_of(const MPIX_Info* xinfo, const int* recv_nnz) {
    if (xinfo == nullptr) return {};
    auto options = xinfo->options;
    // Without a number the rank has a fault, of which the others hear.
    if (xinfo->knows_recv_nnz) options.num_sources = recv_nnz != nullptr ? *recv_nnz : 0;
    return options;
}

template <class Target>
int exchange(const MPIX_Comm* xcomm, const MPIX_Info* xinfo, const sent_messages<int>& sent,
             const Target& to) {
    return returned([&] {
        require(xcomm, "xcomm");
        exchange_arrays({xcomm->where, options_of(xinfo, to.num_messages)}, sent, to);
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
        communicator ranks(comm);
        try {
            const auto errors = on_all_or_none(ranks, [&] {
                require(xcomm, "xcomm");
                return error_site(comm, ranks);
            });
            *xcomm = new MPIX_Comm{crossdock::context(ranks, crossdock::context_options{}), errors};
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

int MPIX_Comm_from_context(MPIX_Comm** xcomm, const crossdock_context* context) {
    return returned([&] {
        require(xcomm, "xcomm");
        *xcomm = new MPIX_Comm{value_of(context, "context"), context->errors, false};
    });
}

int MPIX_Comm_get_context(const MPIX_Comm* xcomm, crossdock_context** context) {
    return returned([&] {
        require(xcomm, "xcomm");
        require(context, "context");
        give(context, xcomm->where, xcomm->errors);
    });
}

int MPIX_Comm_free(MPIX_Comm** xcomm) {
    return returned([&] {
        if (xcomm == nullptr || *xcomm == nullptr) return;
        if ((*xcomm)->is_closed_when_freed) (*xcomm)->where.close();
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
        if (std::string(key) == "recv_nnz") {
            xinfo->knows_recv_nnz = is_known(value);
            return;
        }
        if (std::string(key) != "algorithm")
            throw error(errc::invalid_argument, "there is no key \"" + std::string(key) +
                                                    "\"; there are \"algorithm\" and \"recv_nnz\"");
        if (std::string(value) != "auto") crossdock::parse_exchange_algorithm(value);
        xinfo->options.algorithm = value;
    });
}

int MPIX_Info_from_options(MPIX_Info** xinfo, const crossdock_exchange_options* options) {
    return returned([&] {
        require(xinfo, "xinfo");
        const auto given =
            known_options<crossdock_exchange_options>(options, CROSSDOCK_EXCHANGE_OPTIONS_INIT);
        *xinfo = new MPIX_Info{options_from(given, nullptr), false};
    });
}

int MPIX_Info_get_options(const MPIX_Info* xinfo, crossdock_exchange_options* options) {
    return returned([&] {
        require(xinfo, "xinfo");
        require(options, "options");
        const auto num_written = checked_size(options, sizeof *options);
        crossdock_exchange_options said = CROSSDOCK_EXCHANGE_OPTIONS_INIT;
        said.size = options->size;
        const auto& from = xinfo->options;
        said.algorithm = from.algorithm.c_str();
        said.order = static_cast<int>(from.order);
        said.num_sources = from.num_sources.value_or(-1);
        said.max_message_bytes = from.max_message_bytes;
        said.max_forwarded_bytes = from.max_forwarded_bytes.value_or(-1);
        std::memcpy(options, &said, num_written);
    });
}

int MPIX_Info_free(MPIX_Info** xinfo) {
    return returned([&] {
        if (xinfo == nullptr) return;
        delete *xinfo;
        *xinfo = nullptr;
    });
}

int MPIX_Alltoall_crs(int send_nnz, const int* dest, int sendcount, MPI_Datatype sendtype,
                      const void* sendvals, int* recv_nnz, int* src, int recvcount,
                      MPI_Datatype recvtype, void* recvvals, const MPIX_Info* xinfo,
                      const MPIX_Comm* xcomm) {
    const bool has_arrays = src != nullptr && (recvvals != nullptr || recvcount == 0);
    return exchange(xcomm, xinfo,
                    {.num_messages = send_nnz,
                     .destinations = dest,
                     .count = sendcount,
                     .datatype = sendtype,
                     .values = sendvals},
                    caller_arrays<int>{.message_room = room(recv_nnz, has_arrays),
                                       .count = recvcount,
                                       .num_messages = recv_nnz,
                                       .sources = src,
                                       .datatype = recvtype,
                                       .values = recvvals});
}

int MPIX_Alltoall_crs_alloc(int send_nnz, const int* dest, int sendcount, MPI_Datatype sendtype,
                            const void* sendvals, int* recv_nnz, int** src, int recvcount,
                            MPI_Datatype recvtype, void** recvvals, const MPIX_Info* xinfo,
                            const MPIX_Comm* xcomm) {
    return exchange(xcomm, xinfo,
                    {.num_messages = send_nnz,
                     .destinations = dest,
                     .count = sendcount,
                     .datatype = sendtype,
                     .values = sendvals},
                    new_arrays<int>{.datatype = recvtype,
                                    .count = recvcount,
                                    .num_messages = recv_nnz,
                                    .sources = src,
                                    .values = recvvals});
}

int MPIX_Alltoallv_crs(int send_nnz, int send_size, const int* dest, const int* sendcounts,
                       const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
                       int* recv_nnz, int* recv_size, int* src, int* recvcounts, int* rdispls,
                       MPI_Datatype recvtype, void* recvvals, const MPIX_Info* xinfo,
                       const MPIX_Comm* xcomm) {
    const bool has_arrays = src != nullptr && recvcounts != nullptr && rdispls != nullptr;
    return exchange(xcomm, xinfo,
                    {.num_messages = send_nnz,
                     .destinations = dest,
                     .num_values = send_size,
                     .counts = sendcounts,
                     .displacements = sdispls,
                     .datatype = sendtype,
                     .values = sendvals},
                    caller_arrays<int>{.message_room = room(recv_nnz, has_arrays),
                                       .value_room = room(recv_size, recvvals != nullptr),
                                       .num_messages = recv_nnz,
                                       .num_values = recv_size,
                                       .sources = src,
                                       .counts = recvcounts,
                                       .displacements = rdispls,
                                       .datatype = recvtype,
                                       .values = recvvals});
}

int MPIX_Alltoallv_crs_alloc(int send_nnz, int send_size, const int* dest, const int* sendcounts,
                             const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
                             int* recv_nnz, int* recv_size, int** src, int** recvcounts,
                             int** rdispls, MPI_Datatype recvtype, void** recvvals,
                             const MPIX_Info* xinfo, const MPIX_Comm* xcomm) {
    return exchange(xcomm, xinfo,
                    {.num_messages = send_nnz,
                     .destinations = dest,
                     .num_values = send_size,
                     .counts = sendcounts,
                     .displacements = sdispls,
                     .datatype = sendtype,
                     .values = sendvals},
                    new_arrays<int>{.datatype = recvtype,
                                    .num_messages = recv_nnz,
                                    .num_values = recv_size,
                                    .sources = src,
                                    .counts = recvcounts,
                                    .displacements = rdispls,
                                    .with_end = true,
                                    .values = recvvals});
}

int MPIX_Free(void* array) {
    crossdock_free(array);
    return MPI_SUCCESS;
}
