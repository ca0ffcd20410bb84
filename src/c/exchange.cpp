#include "exchange.hpp"

#include <fmt/format.h>

namespace crossdock::c {

void argument_checks::require_count(count_t value, const char* name,
                                    std::optional<count_t> index) const {
    if (value >= 0) return;
    refuse(errc::invalid_argument, MPI_ERR_COUNT,
           fmt::format("{}{} of rank {} is {}", name, index ? fmt::format("[{}]", *index) : "",
                       rank_, value));
}

void argument_checks::require_array(const void* array, count_t length, const char* name) const {
    if (length > 0) require_result(array, name);
}

void argument_checks::require_result(const void* result, const char* name) const {
    if (result != nullptr) return;
    refuse(errc::invalid_argument, MPI_ERR_BUFFER,
           fmt::format("{} of rank {} is a null pointer", name, rank_));
}

void argument_checks::require_equal(count_t sent, count_t received, int mpi_class,
                                    const char* what) const {
    if (sent == received) return;
    refuse(errc::count_mismatch, mpi_class,
           fmt::format("rank {} sends {} {}, but receives {}; give both the same", rank_, sent,
                       what, received));
}

void argument_checks::require_size(count_t send_size, count_t num_values) const {
    if (num_values <= send_size) return;
    refuse(errc::invalid_argument, MPI_ERR_COUNT,
           fmt::format(
               "send_size of rank {} is {}, but its messages have {} values; give their number",
               rank_, send_size, num_values));
}

void argument_checks::require_order(message_order order) const {
    if (order == message_order::by_source || order == message_order::arrival) return;
    refuse(errc::invalid_argument, MPI_ERR_ARG,
           fmt::format("there is no order {}, which rank {} asks for", static_cast<int>(order),
                       rank_));
}

datatype_packer argument_checks::packer(const communicator& comm, MPI_Datatype datatype,
                                        const char* name) const {
    try {
        return {comm.get(), datatype};
    } catch (const error& fault) {
        refuse(fault.code(), MPI_ERR_TYPE,
               fmt::format("{} of rank {}: {}", name, rank_, fault.what()));
    }
}

void argument_checks::refuse(errc code, int mpi_class, const std::string& sentence) const {
    throw argument_error(code, mpi_class, sentence, rank_);
}

byte_inbox outgoing_values::exchange(const exchange_site& site) const {
    try {
        return exchange_bytes(site.where, to_send_, site.options);
    } catch (const error& fault) {
        // All ranks know a rank's fault by its code and sentence, that rank alone by its class.
        if (fault.rank() < 0) throw;
        int mpi_class = mpi_class_;
        CROSSDOCK_MPI(MPI_Bcast(&mpi_class, 1, MPI_INT, fault.rank(), site.where.comm().get()));
        if (mpi_class == MPI_SUCCESS) throw;
        throw argument_error(fault.code(), mpi_class, fault.what(), fault.rank());
    }
}

exchange_options options_from(const crossdock_exchange_options& given, exchange_traffic* sent) {
    exchange_options options;
    options.algorithm = text_or(given.algorithm, "auto");
    options.order = static_cast<message_order>(given.order);
    if (given.num_sources != -1) options.num_sources = given.num_sources;
    options.max_message_bytes = given.max_message_bytes;
    if (given.max_forwarded_bytes != -1) options.max_forwarded_bytes = given.max_forwarded_bytes;
    options.sent = sent;
    return options;
}

namespace {

const exchange_description& algorithm_at(int index) {
    const auto& all = registered_exchange_algorithms();
    if (index < 0 || index >= static_cast<int>(all.size()))
        throw error(errc::invalid_argument,
                    fmt::format("algorithm {} is outside [0, {})", index, all.size()));
    return all[static_cast<std::size_t>(index)];
}

}  // namespace

}  // namespace crossdock::c

using namespace crossdock::c;

crossdock_status crossdock_num_exchange_algorithms(int* num_algorithms) {
    return give_number(num_algorithms,
                       [] { return crossdock::registered_exchange_algorithms().size(); });
}

crossdock_status crossdock_exchange_algorithm_name(int index, const char** name) {
    return guarded([&] {
        require(name, "name");
        *name = algorithm_at(index).name.c_str();
    });
}

crossdock_status crossdock_exchange_algorithm_example(int index, const char** algorithm) {
    return guarded([&] {
        require(algorithm, "algorithm");
        *algorithm = algorithm_at(index).example.c_str();
    });
}

crossdock_status crossdock_sparse_exchange(const crossdock_context* context, int64_t send_nnz,
                                           const int* dest, int64_t sendcount,
                                           MPI_Datatype sendtype, const void* sendvals,
                                           int64_t* recv_nnz, int* src, int64_t recvcount,
                                           MPI_Datatype recvtype, void* recvvals,
                                           const crossdock_exchange_options* options) {
    return exchange(context, options, sent_messages(send_nnz, dest, sendcount, sendtype, sendvals),
                    caller_arrays(recv_nnz, src, recvcount, recvtype, recvvals));
}

crossdock_status crossdock_sparse_exchange_v(
    const crossdock_context* context, int64_t send_nnz, int64_t send_size, const int* dest,
    const int64_t* sendcounts, const int64_t* sdispls, MPI_Datatype sendtype, const void* sendvals,
    int64_t* recv_nnz, int64_t* recv_size, int* src, int64_t* recvcounts, int64_t* rdispls,
    MPI_Datatype recvtype, void* recvvals, const crossdock_exchange_options* options) {
    return exchange(
        context, options,
        sent_messages(send_nnz, send_size, dest, sendcounts, sdispls, sendtype, sendvals),
        caller_arrays(recv_nnz, recv_size, src, recvcounts, rdispls, recvtype, recvvals));
}

crossdock_status crossdock_sparse_exchange_alloc(const crossdock_context* context, int64_t send_nnz,
                                                 const int* dest, int64_t sendcount,
                                                 MPI_Datatype sendtype, const void* sendvals,
                                                 int64_t* recv_nnz, int** src, void** recvvals,
                                                 const crossdock_exchange_options* options) {
    return exchange(context, options, sent_messages(send_nnz, dest, sendcount, sendtype, sendvals),
                    new_arrays(recv_nnz, src, sendcount, sendtype, recvvals));
}

crossdock_status crossdock_sparse_exchange_v_alloc(
    const crossdock_context* context, int64_t send_nnz, int64_t send_size, const int* dest,
    const int64_t* sendcounts, const int64_t* sdispls, MPI_Datatype sendtype, const void* sendvals,
    int64_t* recv_nnz, int64_t* recv_size, int** src, int64_t** recvcounts, int64_t** rdispls,
    void** recvvals, const crossdock_exchange_options* options) {
    return exchange(
        context, options,
        sent_messages(send_nnz, send_size, dest, sendcounts, sdispls, sendtype, sendvals),
        new_arrays(recv_nnz, recv_size, src, recvcounts, rdispls, sendtype, recvvals));
}

crossdock_status crossdock_sparse_exchange_int(const crossdock_context* context, int send_nnz,
                                               const int* dest, int sendcount,
                                               MPI_Datatype sendtype, const void* sendvals,
                                               int* recv_nnz, int* src, int recvcount,
                                               MPI_Datatype recvtype, void* recvvals,
                                               const crossdock_exchange_options* options) {
    return exchange(context, options, sent_messages(send_nnz, dest, sendcount, sendtype, sendvals),
                    caller_arrays(recv_nnz, src, recvcount, recvtype, recvvals));
}

crossdock_status crossdock_sparse_exchange_v_int(
    const crossdock_context* context, int send_nnz, int send_size, const int* dest,
    const int* sendcounts, const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
    int* recv_nnz, int* recv_size, int* src, int* recvcounts, int* rdispls, MPI_Datatype recvtype,
    void* recvvals, const crossdock_exchange_options* options) {
    return exchange(
        context, options,
        sent_messages(send_nnz, send_size, dest, sendcounts, sdispls, sendtype, sendvals),
        caller_arrays(recv_nnz, recv_size, src, recvcounts, rdispls, recvtype, recvvals));
}

crossdock_status crossdock_sparse_exchange_alloc_int(const crossdock_context* context, int send_nnz,
                                                     const int* dest, int sendcount,
                                                     MPI_Datatype sendtype, const void* sendvals,
                                                     int* recv_nnz, int** src, int recvcount,
                                                     MPI_Datatype recvtype, void** recvvals,
                                                     const crossdock_exchange_options* options) {
    return exchange(context, options, sent_messages(send_nnz, dest, sendcount, sendtype, sendvals),
                    new_arrays(recv_nnz, src, recvcount, recvtype, recvvals));
}

crossdock_status crossdock_sparse_exchange_v_alloc_int(
    const crossdock_context* context, int send_nnz, int send_size, const int* dest,
    const int* sendcounts, const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
    int* recv_nnz, int* recv_size, int** src, int** recvcounts, int** rdispls,
    MPI_Datatype recvtype, void** recvvals, const crossdock_exchange_options* options) {
    return exchange(
        context, options,
        sent_messages(send_nnz, send_size, dest, sendcounts, sdispls, sendtype, sendvals),
        new_arrays(recv_nnz, recv_size, src, recvcounts, rdispls, recvtype, recvvals));
}
