#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "../exchange/datatype_values_mpi.hpp"
#include "crossdock/context.hpp"
#include "handles.hpp"

namespace crossdock::c {

namespace {

/// @brief Checks the arguments of one rank, which its sentences name.
class argument_checks {
  public:
    explicit argument_checks(rank_t rank) : rank_(rank) {}

    /// @param index  of the value in its array, if it is in one
    /// @throws argument_error  `value` is negative
    void require_count(count_t value, const char* name, std::optional<count_t> index = {}) const {
        if (value >= 0) return;
        refuse(errc::invalid_argument, MPI_ERR_COUNT,
               fmt::format("{}{} of rank {} is {}", name, index ? fmt::format("[{}]", *index) : "",
                           rank_, value));
    }

    /// @throws argument_error  `array` is null, but not empty
    void require_array(const void* array, count_t length, const char* name) const {
        if (length > 0) require_result(array, name);
    }

    /// @throws argument_error  `result` is null
    void require_result(const void* result, const char* name) const {
        if (result != nullptr) return;
        refuse(errc::invalid_argument, MPI_ERR_BUFFER,
               fmt::format("{} of rank {} is a null pointer", name, rank_));
    }

    /// @throws argument_error  what is sent and what is received differ
    void require_equal(count_t sent, count_t received, int mpi_class, const char* what) const {
        if (sent == received) return;
        refuse(errc::count_mismatch, mpi_class,
               fmt::format("rank {} sends {} {}, but receives {}; give both the same", rank_, sent,
                           what, received));
    }

    /// @throws argument_error  fewer values are said to be sent than messages have
    void require_size(count_t send_size, count_t num_values) const {
        if (num_values <= send_size) return;
        refuse(errc::invalid_argument, MPI_ERR_COUNT,
               fmt::format(
                   "send_size of rank {} is {}, but its messages have {} values; give their number",
                   rank_, send_size, num_values));
    }

    /// @throws argument_error  there is no such order
    void require_order(message_order order) const {
        if (order == message_order::by_source || order == message_order::arrival) return;
        refuse(errc::invalid_argument, MPI_ERR_ARG,
               fmt::format("there is no order {}, which rank {} asks for", static_cast<int>(order),
                           rank_));
    }

    /// @brief A packer of `datatype`.
    /// @throws argument_error  the datatype is MPI_DATATYPE_NULL or has no bytes
    datatype_packer packer(const communicator& comm, MPI_Datatype datatype,
                           const char* name) const {
        try {
            return {comm.get(), datatype};
        } catch (const error& fault) {
            refuse(fault.code(), MPI_ERR_TYPE,
                   fmt::format("{} of rank {}: {}", name, rank_, fault.what()));
        }
    }

  private:
    [[noreturn]] void refuse(errc code, int mpi_class, const std::string& sentence) const {
        throw argument_error(code, mpi_class, sentence, rank_);
    }

    rank_t rank_;
};

/// @brief Where and how ranks exchange.
struct exchange_site {
    const context& where;
    exchange_options options;
    std::optional<error> fault = std::nullopt;  ///< of this rank's options; all ranks hear of it
};

/// @brief The arguments that say what a rank sends; C's own numbers may be `int` or 64-bit.
template <class Count>
struct sent_messages {
    /// @brief Messages of one size.
    sent_messages(Count num, const int* to, Count values_each, MPI_Datatype type, const void* data)
        : num_messages(num), destinations(to), count(values_each), datatype(type), values(data) {}

    /// @brief Messages of any size.
    sent_messages(Count num, Count size, const int* to, const Count* each, const Count* firsts,
                  MPI_Datatype type, const void* data)
        : num_messages(num),
          destinations(to),
          num_values(size),
          counts(each),
          displacements(firsts),
          datatype(type),
          values(data) {}

    Count num_messages = 0;
    const int* destinations = nullptr;
    std::optional<Count> count = std::nullopt;  ///< values of every message; unset: see `counts`
    Count num_values = 0;                       ///< of all messages, if they have `counts`
    const Count* counts = nullptr;
    const Count* displacements = nullptr;  ///< null: one after the other
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    const void* values = nullptr;
};

/// @brief What one rank sends, and what a datatype with gaps was packed into.
class outgoing_values {
  public:
    /// @brief What `fill()` makes, or the fault it finds.
    template <class Fill>
    outgoing_values(std::optional<count_t> count, Fill&& fill) {
        // Even beside a fault: whether all messages are of one size decides which algorithms run.
        if (count) to_send_.shape.items_per_message = std::max<count_t>(*count, 0);
        try {
            fill(*this);
        } catch (const argument_error& fault) {
            to_send_.fault = fault;
            mpi_class_ = fault.mpi_class();
        } catch (...) {
            to_send_.fault = current_error();
        }
    }

    void add(const std::vector<addressed_values>& messages, const void* values,
             const datatype_packer& packer) {
        to_send_.shape.item_bytes = packer.item_bytes();
        add_values(to_send_, packed_, messages, values, packer);
    }

    /// Collective as `exchange_bytes`.
    /// @throws argument_error  on all ranks, if a rank's arguments are at fault
    /// @throws as `exchange_bytes`
    byte_inbox exchange(const exchange_site& site) const {
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

  private:
    bytes_to_send to_send_;
    std::vector<std::byte> packed_;
    int mpi_class_ = MPI_SUCCESS;  // of the fault
};

/// @brief What came, not yet in the caller's arrays.
class incoming_values {
  public:
    incoming_values(const byte_inbox& inbox, const datatype_packer& packer)
        : inbox_(inbox), packer_(packer) {}

    count_t num_messages() const { return static_cast<count_t>(inbox_.messages().size()); }
    count_t num_values() const { return inbox_.num_bytes() / packer_.item_bytes(); }
    const datatype_layout& layout() const { return packer_.layout(); }

    /// @brief Writes sources, and unless null counts and displacements.
    template <class Count>
    void copy_arrangement(int* sources, Count* counts, Count* displacements) const {
        count_t next = 0;
        for (const auto& [source, bytes, data] : inbox_.messages()) {
            const count_t count = bytes / packer_.item_bytes();
            *sources++ = source;
            if (counts != nullptr) *counts++ = static_cast<Count>(count);
            if (displacements != nullptr) *displacements++ = static_cast<Count>(next);
            next += count;
        }
    }

    /// @brief Writes all values, one extent after the other.
    void copy_values(void* to) const { crossdock::copy_values(inbox_, packer_, to); }

  private:
    const byte_inbox& inbox_;
    const datatype_packer& packer_;
};

/// @brief The caller's arrays for what comes; `counts` and `displacements` are null if all messages
/// are of one size.
template <class Count>
struct caller_arrays {
    static constexpr count_t no_limit = std::numeric_limits<count_t>::max();

    /// @brief For messages of one size.
    caller_arrays(Count* num, int* from, Count values_each, MPI_Datatype type, void* data)
        : message_room(room(num, from != nullptr && (data != nullptr || values_each == 0))),
          count(values_each),
          num_messages(num),
          sources(from),
          datatype(type),
          values(data) {}

    /// @brief For messages of any size.
    caller_arrays(Count* num, Count* size, int* from, Count* each, Count* firsts, MPI_Datatype type,
                  void* data)
        : message_room(room(num, from != nullptr && each != nullptr && firsts != nullptr)),
          value_room(room(size, data != nullptr)),
          num_messages(num),
          num_values(size),
          sources(from),
          counts(each),
          displacements(firsts),
          datatype(type),
          values(data) {}

    // An int of -1 is room for as many as come, if there are arrays.
    static count_t room(const Count* size, bool has_arrays) {
        if (size == nullptr) return 0;
        if (std::is_same_v<Count, int> && *size == -1) return has_arrays ? no_limit : 0;
        return *size;
    }

    count_t message_room = 0;
    count_t value_room = no_limit;
    std::optional<Count> count = std::nullopt;  ///< values of every message; unset: any number
    Count* num_messages = nullptr;
    Count* num_values = nullptr;
    int* sources = nullptr;
    Count* counts = nullptr;
    Count* displacements = nullptr;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    void* values = nullptr;

    void check(const argument_checks& check) const {
        check.require_result(num_messages, "recv_nnz");
        check.require_count(message_room, "recv_nnz");
        check.require_array(sources, message_room, "src");
        if (count) {
            check.require_count(*count, "recvcount");
            check.require_array(values, *count > 0 ? message_room : 0, "recvvals");
            return;
        }
        check.require_result(num_values, "recv_size");
        check.require_count(value_room, "recv_size");
        check.require_array(counts, message_room, "recvcounts");
        check.require_array(displacements, message_room, "rdispls");
        check.require_array(values, value_room, "recvvals");
    }

    /// @brief Fills the arrays, or none of any rank's if one of them lacks room.
    /// Collective; blocks.
    void take(const communicator& comm, const incoming_values& incoming) const {
        try {
            on_all_or_none(comm, [&] { require_room(comm.rank(), incoming); });
        } catch (const error& fault) {
            if (fault.code() == errc::size_mismatch) give_sizes(incoming);
            throw;
        }
        give_sizes(incoming);
        incoming.copy_arrangement(sources, counts, displacements);
        incoming.copy_values(values);
    }

  private:
    void require_room(rank_t rank, const incoming_values& incoming) const {
        checked_cast<Count>(incoming.num_messages());
        if (!count) checked_cast<Count>(incoming.num_values());
        const auto require = [&](count_t needed, count_t room, const char* what) {
            if (needed <= room) return;
            throw error(
                errc::size_mismatch,
                fmt::format("{} {} came to rank {}, which has room for {}; give larger arrays",
                            needed, what, rank, room));
        };
        require(incoming.num_messages(), message_room, "messages");
        require(incoming.num_values(), value_room, "values");
    }

    void give_sizes(const incoming_values& incoming) const {
        // Where another rank lacks room, this rank's sizes may not even fit their type.
        const auto fitting = [](count_t size) {
            return static_cast<Count>(std::min<count_t>(size, std::numeric_limits<Count>::max()));
        };
        *num_messages = fitting(incoming.num_messages());
        if (num_values != nullptr) *num_values = fitting(incoming.num_values());
    }
};

/// @brief Arrays of the library's for what comes, to be freed with `crossdock_free`; as
/// `caller_arrays`.
template <class Count>
struct new_arrays {
    /// @brief For messages of one size.
    new_arrays(Count* num, int** from, Count values_each, MPI_Datatype type, void** data)
        : datatype(type), count(values_each), num_messages(num), sources(from), values(data) {}

    /// @brief For messages of any size.
    new_arrays(Count* num, Count* size, int** from, Count** each, Count** firsts, MPI_Datatype type,
               void** data)
        : datatype(type),
          num_messages(num),
          num_values(size),
          sources(from),
          counts(each),
          displacements(firsts),
          values(data) {}

    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    std::optional<Count> count = std::nullopt;
    Count* num_messages = nullptr;
    Count* num_values = nullptr;
    int** sources = nullptr;
    Count** counts = nullptr;
    Count** displacements = nullptr;
    /// One displacement more: the number of values.
    static constexpr bool with_end = std::is_same_v<Count, int>;
    void** values = nullptr;

    void check(const argument_checks& check) const {
        check.require_result(num_messages, "recv_nnz");
        check.require_result(sources, "src");
        check.require_result(values, "recvvals");
        if (count) return;
        check.require_result(num_values, "recv_size");
        check.require_result(counts, "recvcounts");
        check.require_result(displacements, "rdispls");
    }

    void take(const communicator& comm, const incoming_values& incoming) const {
        c_array<int> new_sources;
        c_array<Count> new_counts;
        c_array<Count> new_displacements;
        c_array<std::byte> new_values;
        on_all_or_none(comm, [&] {
            const auto num_displacements = incoming.num_messages() + (with_end ? 1 : 0);
            checked_cast<Count>(num_displacements);
            new_sources = zeros<int>(incoming.num_messages());
            if (!count) {
                const auto end = checked_cast<Count>(incoming.num_values());
                new_counts = zeros<Count>(incoming.num_messages());
                new_displacements = zeros<Count>(num_displacements);
                if (with_end) new_displacements.get()[incoming.num_messages()] = end;
            }
            new_values =
                zeros<std::byte>(bytes_of_values(incoming.num_values(), incoming.layout()));
            incoming.copy_arrangement(new_sources.get(), new_counts.get(), new_displacements.get());
            incoming.copy_values(new_values.get());
        });
        *num_messages = static_cast<Count>(incoming.num_messages());
        *sources = new_sources.release();
        *values = new_values.release();
        if (count) return;
        *num_values = static_cast<Count>(incoming.num_values());
        *counts = new_counts.release();
        *displacements = new_displacements.release();
    }
};

/// @brief What a rank sends, message by message.
/// @throws argument_error  an argument is at fault
template <class Count>
std::vector<addressed_values> addressed(const argument_checks& check,
                                        const sent_messages<Count>& sent) {
    check.require_count(sent.num_messages, "send_nnz");
    check.require_array(sent.destinations, sent.num_messages, "dest");
    if (sent.count) {
        check.require_count(*sent.count, "sendcount");
    } else {
        check.require_count(sent.num_values, "send_size");
        check.require_array(sent.counts, sent.num_messages, "sendcounts");
    }
    std::vector<addressed_values> messages;
    messages.reserve(static_cast<std::size_t>(sent.num_messages));
    count_t num_values = 0;
    for (Count i = 0; i < sent.num_messages; ++i) {
        const count_t count = sent.count ? *sent.count : sent.counts[i];
        const count_t first = sent.displacements ? sent.displacements[i] : num_values;
        check.require_count(count, "sendcounts", i);
        check.require_count(first, "sdispls", i);
        messages.push_back({sent.destinations[i], first, count});
        num_values += count;
    }
    if (!sent.count) check.require_size(sent.num_values, num_values);
    check.require_array(sent.values, num_values, "sendvals");
    return messages;
}

/// @brief Delivers messages; what came goes to `to`.
/// @tparam Target  as `caller_arrays`
/// Collective; as `exchange_bytes`, and what `to` does.
/// @throws as `exchange_bytes` and `to`
template <class Count, class Target>
void exchange_arrays(const exchange_site& site, const sent_messages<Count>& sent,
                     const Target& to) {
    std::optional<datatype_packer> received;
    const std::optional<count_t> count = sent.count;
    const outgoing_values outgoing(count, [&](outgoing_values& to_send) {
        if (site.fault) throw error(*site.fault);
        const argument_checks check(site.where.rank());
        check.require_order(site.options.order);
        to.check(check);
        const auto messages = addressed(check, sent);
        const auto packer = check.packer(site.where, sent.datatype, "sendtype");
        received = check.packer(site.where, to.datatype, "recvtype");
        check.require_equal(packer.item_bytes(), received->item_bytes(), MPI_ERR_TYPE,
                            "bytes per value");
        if (count) check.require_equal(*count, *to.count, MPI_ERR_COUNT, "values per message");
        to_send.add(messages, sent.values, packer);
    });
    const auto inbox = outgoing.exchange(site);
    to.take(site.where, {inbox, *received});
}

exchange_options options_from(const crossdock_exchange_options& given, exchange_traffic* sent) {
    exchange_options options;
    options.algorithm = text_or(given.algorithm, "auto");
    options.order = static_cast<message_order>(given.order);
    if (given.num_sources != -1) options.num_sources = given.num_sources;
    options.max_message_bytes = given.max_message_bytes;
    if (given.max_forwarded_bytes != -1) options.max_forwarded_bytes = given.max_forwarded_bytes;
    options.sent = sent;
    options.name = text_or(given.name, "");
    return options;
}

/// @brief A function of the C interface.
template <class Count, class Target>
crossdock_status exchange(const crossdock_context* context,
                          const crossdock_exchange_options* options,
                          const sent_messages<Count>& sent, const Target& to,
                          const char* function = __builtin_FUNCTION()) {
    const auto body = [&] {
        auto fault = take_announced();
        const auto& where = value_of(context, "context");
        crossdock_exchange_options given = CROSSDOCK_EXCHANGE_OPTIONS_INIT;
        try {
            given = known_options(options, given);
            if (fault) throw error(fault->code(), fault->what(), where.rank());
        } catch (...) {
            fault = current_error();
        }
        exchange_traffic traffic;
        const auto site = with_reserve([&] {
            return exchange_site{where, options_from(given, &traffic), fault};
        });
        exchange_arrays(site, sent, to);
        if (given.sent != nullptr)
            *given.sent = {traffic.messages, traffic.message_bytes, traffic.inter_region_messages,
                           traffic.inter_region_message_bytes};
    };
    return guarded(context, body, function);
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
        *name =
            element(crossdock::registered_exchange_algorithms(), index, "algorithm").name.c_str();
    });
}

crossdock_status crossdock_exchange_algorithm_example(int index, const char** algorithm) {
    return guarded([&] {
        require(algorithm, "algorithm");
        *algorithm = element(crossdock::registered_exchange_algorithms(), index, "algorithm")
                         .example.c_str();
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
