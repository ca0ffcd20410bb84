#include "crossdock/neighbor_exchange.hpp"

#include "../base/datatype_mpi.hpp"
#include "../executor/executor_mpi.hpp"
#include "../neighbor/datatype_exchange.hpp"
#include "crossdock/make_pattern.hpp"
#include "handles.hpp"

using crossdock::count_t;
using crossdock::errc;
using crossdock::error;
using crossdock::neighbor_exchange;
using crossdock::neighbor_options;
using crossdock::on_all_or_none;
using crossdock::preparation;

namespace crossdock::c {

neighbor_options options_from(const crossdock_neighbor_options* options) {
    const auto given =
        known_options<crossdock_neighbor_options>(options, CROSSDOCK_NEIGHBOR_OPTIONS_INIT);
    return {
        .route = text_or(given.route, automatic_route),
        .deduplicate = given.deduplicate != 0,
        .max_message_bytes = given.max_message_bytes,
        .executor = checked_executor(text_or(given.executor, automatic_executor)),
        .item_bytes = given.item_bytes,
        .prepare =
            checked_enum<preparation>(given.prepare, CROSSDOCK_PREPARE_LAZY + 1, "preparation"),
        .measure = {.max_candidates = given.measure_max_candidates,
                    .exchanges_each = given.measure_exchanges_each,
                    .max_lost_seconds = given.measure_max_lost_seconds,
                    .clock = given.measure_clock},
        .reproducible = given.reproducible != 0,
        .name = text_or(given.name, ""),
    };
}

}  // namespace crossdock::c

using namespace crossdock::c;

crossdock_status crossdock_neighbor_exchange_create(const crossdock_context* context,
                                                    const crossdock_pattern* pattern,
                                                    const crossdock_neighbor_options* options,
                                                    crossdock_neighbor_exchange** result) {
    return guarded(context, [&] {
        const auto& where = value_of(context, "context");
        const auto how = on_all_or_none(where.comm(), [&] {
            require(pattern, "pattern");
            require(result, "result");
            return options_from(options);
        });
        give(result, neighbor_exchange(where, pattern->value, how, no_place), context->errors);
    });
}

crossdock_status crossdock_neighbor_exchange_create_from_plan(
    const crossdock_context* context, const crossdock_plan* plan,
    const crossdock_neighbor_options* options, crossdock_neighbor_exchange** result) {
    return guarded(context, [&] {
        const auto& where = value_of(context, "context");
        const auto how = on_all_or_none(where.comm(), [&] {
            const auto& own = value_of(plan, "plan");
            require(result, "result");
            if (own.rank() != where.rank() || own.num_ranks() != where.num_ranks())
                throw error(errc::size_mismatch,
                            "the plan is of rank " + std::to_string(own.rank()) + " of " +
                                std::to_string(own.num_ranks()) + ", but this is rank " +
                                std::to_string(where.rank()) + " of " +
                                std::to_string(where.num_ranks()) + "; give each rank its own plan",
                            where.rank());
            return options_from(options);
        });
        give(result, neighbor_exchange(where, plan->value, how, no_place), context->errors);
    });
}

namespace {

// MPI takes the ranks of a distributed graph in its order, which MPI_Dist_graph_create may change.
void require_same_ranks(const crossdock::communicator& comm, MPI_Comm graph) {
    int relation = MPI_UNEQUAL;
    if (graph != MPI_COMM_NULL) CROSSDOCK_MPI(MPI_Comm_compare(comm.get(), graph, &relation));
    if (relation != MPI_CONGRUENT && relation != MPI_IDENT)
        throw error(
            errc::invalid_argument,
            "the graph has other ranks than the context, or has them in another order; make "
            "the context from the communicator that the graph was made from, without reordering");
}

std::vector<count_t> widened(const int numbers[], int length, const char* what) {
    const auto given = array(numbers, length, what);
    return {given.begin(), given.end()};
}

crossdock::pattern pattern_of_graph(MPI_Comm graph, const int send_counts[],
                                    const int send_displs[], const int recv_counts[],
                                    const int recv_displs[]) {
    const auto [num_sources, num_destinations] = degrees_of(graph);
    const auto sent = widened(send_counts, num_destinations, "send_counts");
    const auto sent_from = widened(send_displs, num_destinations, "send_displs");
    const auto received = widened(recv_counts, num_sources, "recv_counts");
    const auto received_at = widened(recv_displs, num_sources, "recv_displs");
    return crossdock::pattern_from_dist_graph(graph, {.send_counts = sent,
                                                      .send_displacements = sent_from,
                                                      .receive_counts = received,
                                                      .receive_displacements = received_at});
}

crossdock::pattern pattern_of(const crossdock::context& where,
                              const crossdock_neighbor_alltoallv_int_arguments& a) {
    const auto sent = widened(a.send_counts, a.num_destinations, "send_counts");
    const auto sent_from = widened(a.send_displacements, a.num_destinations, "send_displacements");
    const auto received = widened(a.receive_counts, a.num_sources, "receive_counts");
    const auto received_at =
        widened(a.receive_displacements, a.num_sources, "receive_displacements");
    return crossdock::pattern_from_neighbor_alltoallv(
        where.rank(), where.num_ranks(),
        {.destinations = array(a.destinations, a.num_destinations, "destinations"),
         .send_counts = sent,
         .send_displacements = sent_from,
         .sources = array(a.sources, a.num_sources, "sources"),
         .receive_counts = received,
         .receive_displacements = received_at,
         .send_ids = array(a.send_ids, a.num_send_ids, "send_ids")});
}

// An exchange of items of a datatype, with what `make_pattern(context)` makes of one rank's arguments.
template <class MakePattern>
crossdock_status create(const crossdock_context* context, MPI_Datatype datatype,
                        const crossdock_neighbor_options* options,
                        crossdock_neighbor_exchange** result, MakePattern&& make_pattern,
                        const char* function = __builtin_FUNCTION()) {
    const auto body = [&] {
        const auto& where = value_of(context, "context");
        neighbor_options how;
        const auto pattern = on_all_or_none(where.comm(), [&] {
            require(result, "result");
            how = crossdock::c::options_from(options);
            const crossdock::datatype_layout layout(datatype);
            how.item_bytes = static_cast<std::size_t>(layout.size_bytes);
            return make_pattern(where);
        });
        give(result, neighbor_exchange(where, pattern, how, no_place), context->errors);
    };
    return guarded(context, body, function);
}

}  // namespace

crossdock_status crossdock_neighbor_alltoallv_init(const crossdock_context* context,
                                                   const int send_counts[], const int send_displs[],
                                                   const int recv_counts[], const int recv_displs[],
                                                   MPI_Comm graph, MPI_Datatype datatype,
                                                   const crossdock_neighbor_options* options,
                                                   crossdock_neighbor_exchange** result) {
    return create(context, datatype, options, result, [&](const crossdock::context& where) {
        require_same_ranks(where.comm(), graph);
        return pattern_of_graph(graph, send_counts, send_displs, recv_counts, recv_displs);
    });
}

crossdock_status crossdock_neighbor_exchange_create_from_arguments(
    const crossdock_context* context, const crossdock_neighbor_alltoallv_int_arguments* arguments,
    MPI_Datatype datatype, const crossdock_neighbor_options* options,
    crossdock_neighbor_exchange** result) {
    return create(context, datatype, options, result, [&](const crossdock::context& where) {
        require(arguments, "arguments");
        return pattern_of(where, *arguments);
    });
}

namespace {

std::size_t bytes_of_items(int64_t values_per_item, MPI_Datatype datatype) {
    if (values_per_item < 0)
        throw error(
            errc::invalid_argument,
            "values_per_item is " + std::to_string(values_per_item) + ", but has to be at least 1");
    const crossdock::datatype_layout layout(datatype);
    layout.require_in_extent();
    return static_cast<std::size_t>(values_per_item * layout.extent);
}

std::span<const std::byte> bytes_of(const void* values, int64_t length, std::size_t item_bytes,
                                    const char* what) {
    array(static_cast<const std::byte*>(values), length, what);
    return {static_cast<const std::byte*>(values), static_cast<std::size_t>(length) * item_bytes};
}

std::span<std::byte> writable(void* values, std::span<const std::byte> bytes) {
    return {static_cast<std::byte*>(values), bytes.size()};
}

}  // namespace

crossdock_status crossdock_neighbor_exchange_duplicate(const crossdock_neighbor_exchange* exchange,
                                                       crossdock_neighbor_exchange** result) {
    return give_duplicate(exchange, "exchange", result);
}

crossdock_status crossdock_neighbor_exchange_prepare(crossdock_neighbor_exchange* exchange,
                                                     size_t item_bytes) {
    return guarded(exchange, [&] { value_of(exchange, "exchange").prepare(item_bytes); });
}

crossdock_status crossdock_neighbor_exchange_explain(const crossdock_neighbor_exchange* exchange,
                                                     char** text) {
    return give_text(exchange, text, "text",
                     [&] { return value_of(exchange, "exchange").explain(); });
}

crossdock_status crossdock_neighbor_exchange_route(const crossdock_neighbor_exchange* exchange,
                                                   char** route) {
    return give_text(exchange, route, "route",
                     [&] { return value_of(exchange, "exchange").route(); });
}

crossdock_status crossdock_neighbor_exchange_plan(const crossdock_neighbor_exchange* exchange,
                                                  crossdock_plan** result) {
    return guarded(exchange, [&] {
        require(result, "result");
        give(result, value_of(exchange, "exchange").plan());
    });
}

crossdock_status crossdock_neighbor_exchange_statistics(const crossdock_neighbor_exchange* exchange,
                                                        crossdock_traffic* traffic) {
    return guarded(exchange, [&] {
        require(traffic, "traffic");
        *traffic = to_c(value_of(exchange, "exchange").statistics());
    });
}

crossdock_status crossdock_neighbor_exchange_num_tried_routes(
    const crossdock_neighbor_exchange* exchange, int* num_tried_routes, int* is_trying) {
    return guarded(exchange, [&] {
        give_num_tried(value_of(exchange, "exchange"), num_tried_routes, is_trying);
    });
}

crossdock_status crossdock_neighbor_exchange_tried_route(
    const crossdock_neighbor_exchange* exchange, int index, char** route, double* seconds) {
    return guarded(exchange,
                   [&] { give_tried(value_of(exchange, "exchange"), index, route, seconds); });
}

crossdock_status crossdock_neighbor_exchange_start(crossdock_neighbor_exchange* exchange,
                                                   const void* items, void* slots,
                                                   MPI_Datatype datatype) {
    return guarded(exchange, [&] { value_of(exchange, "exchange").start(items, slots, datatype); });
}

crossdock_status crossdock_neighbor_exchange_start_types(crossdock_neighbor_exchange* exchange,
                                                         const void* items, MPI_Datatype item_type,
                                                         void* slots, MPI_Datatype slot_type) {
    return guarded(exchange, [&] {
        value_of(exchange, "exchange").start(items, item_type, slots, slot_type);
    });
}

crossdock_status crossdock_neighbor_exchange_start_reverse(crossdock_neighbor_exchange* exchange,
                                                           const void* slots, void* items,
                                                           MPI_Datatype datatype,
                                                           MPI_Op operation) {
    return guarded(exchange, [&] {
        value_of(exchange, "exchange").start_reverse(slots, items, datatype, operation);
    });
}

crossdock_status crossdock_neighbor_exchange_start_arrays(crossdock_neighbor_exchange* exchange,
                                                          int64_t num_items, const void* items,
                                                          int64_t num_slots, void* slots,
                                                          int64_t values_per_item,
                                                          MPI_Datatype datatype) {
    return guarded(exchange, [&] {
        const auto fault = take_announced();
        auto& to_start = value_of(exchange, "exchange");
        std::size_t item_bytes = 0;
        std::span<const std::byte> from, to;
        check_start(to_start, false, item_bytes, [&] {
            item_bytes = bytes_of_items(values_per_item, datatype);
            throw_any(fault);
            from = bytes_of(items, num_items, item_bytes, "items");
            to = bytes_of(slots, num_slots, item_bytes, "slots");
        });
        to_start.start_bytes(from, writable(slots, to), item_bytes);
    });
}

crossdock_status crossdock_neighbor_exchange_start_reverse_arrays(
    crossdock_neighbor_exchange* exchange, int64_t num_slots, const void* slots, int64_t num_items,
    void* items, int64_t values_per_item, MPI_Datatype datatype, MPI_Op operation) {
    return guarded(exchange, [&] {
        const auto fault = take_announced();
        auto& to_start = value_of(exchange, "exchange");
        std::size_t item_bytes = 0;
        std::span<const std::byte> from, to;
        crossdock::combine_function by;
        check_start(to_start, true, item_bytes, [&] {
            item_bytes = bytes_of_items(values_per_item, datatype);
            throw_any(fault);
            from = bytes_of(slots, num_slots, item_bytes, "slots");
            to = bytes_of(items, num_items, item_bytes, "items");
            by = crossdock::combination_of(datatype, operation, values_per_item)
                     .items(values_per_item);
        });
        to_start.start_reverse_bytes(from, writable(items, to), item_bytes, std::move(by));
    });
}

crossdock_status crossdock_neighbor_exchange_start_fields(crossdock_neighbor_exchange* exchange,
                                                          int64_t num_fields,
                                                          const void* const* items,
                                                          void* const* slots,
                                                          MPI_Datatype datatype) {
    return guarded(exchange, [&] {
        auto& to_start = value_of(exchange, "exchange");
        std::size_t value_bytes = 0, item_bytes = 0;
        std::vector<std::span<const std::byte>> from;
        std::vector<std::span<std::byte>> to;
        check_start(to_start, false, item_bytes, [&] {
            value_bytes = bytes_of_items(1, datatype);
            item_bytes = value_bytes * array(items, num_fields, "items").size();
            const auto& p = to_start.plan();
            from = fields_of<const std::byte>(items, num_fields, p.num_items(), value_bytes,
                                              "a field");
            to = fields_of<std::byte>(slots, num_fields, p.num_slots(), value_bytes, "a field");
        });
        to_start.start_fields_bytes(from, to, value_bytes);
    });
}

crossdock_status crossdock_neighbor_exchange_start_reverse_fields(
    crossdock_neighbor_exchange* exchange, int64_t num_fields, const void* const* slots,
    void* const* items, MPI_Datatype datatype, MPI_Op operation) {
    return guarded(exchange, [&] {
        auto& to_start = value_of(exchange, "exchange");
        std::size_t value_bytes = 0, item_bytes = 0;
        std::vector<std::span<const std::byte>> from;
        std::vector<std::span<std::byte>> to;
        crossdock::combine_function by;
        check_start(to_start, true, item_bytes, [&] {
            value_bytes = bytes_of_items(1, datatype);
            item_bytes = value_bytes * array(slots, num_fields, "slots").size();
            const auto& p = to_start.plan();
            from = fields_of<const std::byte>(slots, num_fields, p.num_slots(), value_bytes,
                                              "a field");
            to = fields_of<std::byte>(items, num_fields, p.num_items(), value_bytes, "a field");
            by = crossdock::combination_of(datatype, operation, num_fields).items(num_fields);
        });
        to_start.start_reverse_fields_bytes(from, to, value_bytes, std::move(by));
    });
}

crossdock_status crossdock_neighbor_exchange_test(crossdock_neighbor_exchange* exchange,
                                                  int* is_complete) {
    return give_number(exchange, is_complete,
                       [&] { return value_of(exchange, "exchange").test(); });
}

crossdock_status crossdock_neighbor_exchange_wait(crossdock_neighbor_exchange* exchange) {
    return guarded(exchange, [&] { value_of(exchange, "exchange").wait(); });
}

crossdock_status crossdock_neighbor_exchange_is_active(const crossdock_neighbor_exchange* exchange,
                                                       int* is_active) {
    return give_number(exchange, is_active,
                       [&] { return value_of(exchange, "exchange").is_active(); });
}

crossdock_status crossdock_neighbor_exchange_forward(crossdock_neighbor_exchange* exchange,
                                                     const void* items, void* slots,
                                                     MPI_Datatype datatype) {
    const auto status = crossdock_neighbor_exchange_start(exchange, items, slots, datatype);
    return status == CROSSDOCK_SUCCESS ? crossdock_neighbor_exchange_wait(exchange) : status;
}

crossdock_status crossdock_neighbor_exchange_reverse(crossdock_neighbor_exchange* exchange,
                                                     const void* slots, void* items,
                                                     MPI_Datatype datatype, MPI_Op operation) {
    const auto status =
        crossdock_neighbor_exchange_start_reverse(exchange, slots, items, datatype, operation);
    return status == CROSSDOCK_SUCCESS ? crossdock_neighbor_exchange_wait(exchange) : status;
}

crossdock_status crossdock_neighbor_exchange_free(crossdock_neighbor_exchange* exchange) {
    return release_finished(exchange, &crossdock_neighbor_exchange::value, "wait");
}
