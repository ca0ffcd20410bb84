#include "crossdock/gather_scatter.hpp"

#include "../executor/executor_mpi.hpp"
#include "../neighbor/datatype_exchange.hpp"
#include "handles.hpp"

using crossdock::combine_values;
using crossdock::gather_call;
using crossdock::gather_options;
using crossdock::gather_scatter;
using crossdock::on_all_or_none;
using namespace crossdock::c;

gather_options crossdock::c::options_from(const crossdock_gather_options* options) {
    const auto given =
        known_options<crossdock_gather_options>(options, CROSSDOCK_GATHER_OPTIONS_INIT);
    return {
        .method = text_or(given.method, "auto"),
        .route = text_or(given.route, "auto"),
        .unique = given.unique != 0,
        .deduplicate = given.deduplicate != 0,
        .max_message_bytes = given.max_message_bytes,
        .executor =
            crossdock::checked_executor(text_or(given.executor, crossdock::automatic_executor)),
        .item_bytes = given.item_bytes,
        .measure = {.max_candidates = given.measure_max_candidates,
                    .exchanges_each = given.measure_exchanges_each,
                    .max_lost_seconds = given.measure_max_lost_seconds,
                    .clock = given.measure_clock},
        .reproducible = given.reproducible != 0,
        .name = text_or(given.name, ""),
    };
}

namespace {

void require_positive(int64_t values_per_id) {
    if (values_per_id < 1)
        throw crossdock::error(
            crossdock::errc::invalid_argument,
            "values_per_id is " + std::to_string(values_per_id) + ", but has to be at least 1");
}

void start(gather_scatter& shared, const std::optional<crossdock::error>& fault, int64_t num_fields,
           void* const* fields, const gather_call& how, MPI_Datatype datatype, MPI_Op operation) {
    std::size_t value_bytes = 0, bytes_per_id = 0;
    combine_values combine;
    std::vector<std::span<std::byte>> arrays;
    check_start(shared, how.transposed, bytes_per_id, [&] {
        throw_any(fault);
        const auto given = array(fields, num_fields, "fields");
        require_positive(how.values_per_id);
        auto by = crossdock::combination_of(datatype, operation, how.values_per_id * num_fields);
        value_bytes = by.extent;
        combine = std::move(by.values);
        // Not before: what is too much for MPI is not prepared for.
        bytes_per_id = static_cast<std::size_t>(how.values_per_id) * given.size() * value_bytes;
        arrays = fields_of<std::byte>(fields, num_fields, shared.num_ids() * how.values_per_id,
                                      value_bytes, "values");
    });
    shared.start_bytes(arrays, value_bytes, std::move(combine), how);
}

}  // namespace

crossdock_status crossdock_gather_scatter_create(const crossdock_context* context, int64_t num_ids,
                                                 const int64_t* ids,
                                                 const crossdock_gather_options* options,
                                                 crossdock_gather_scatter** result) {
    return guarded(context, [&] {
        const auto& where = value_of(context, "context");
        const auto how = on_all_or_none(where.comm(), [&] {
            array(ids, num_ids, "ids");
            require(result, "result");
            return options_from(options);
        });
        give(result, gather_scatter(where, array(ids, num_ids, "ids"), how, no_place),
             context->errors);
    });
}

crossdock_status crossdock_flag_duplicates(const crossdock_context* context, int64_t num_ids,
                                           int64_t* ids) {
    return guarded(context, [&] {
        const auto& where = value_of(context, "context");
        const auto own = on_all_or_none(where.comm(), [&] { return array(ids, num_ids, "ids"); });
        crossdock::flag_duplicates(where, {ids, own.size()});
    });
}

crossdock_status crossdock_gather_scatter_duplicate(const crossdock_gather_scatter* shared,
                                                    crossdock_gather_scatter** result) {
    return give_duplicate(shared, "shared", result);
}

crossdock_status crossdock_gather_scatter_start(crossdock_gather_scatter* shared, void* values,
                                                int64_t values_per_id, MPI_Datatype datatype,
                                                MPI_Op operation, int transposed) {
    return crossdock_gather_scatter_start_fields(shared, 1, &values, values_per_id, datatype,
                                                 operation, transposed);
}

crossdock_status crossdock_gather_scatter_start_fields(crossdock_gather_scatter* shared,
                                                       int64_t num_fields, void* const* fields,
                                                       int64_t values_per_id, MPI_Datatype datatype,
                                                       MPI_Op operation, int transposed) {
    return guarded(shared, [&] {
        const auto fault = take_announced();
        start(value_of(shared, "shared"), fault, num_fields, fields,
              {.transposed = transposed != 0, .values_per_id = values_per_id}, datatype, operation);
    });
}

crossdock_status crossdock_gather_scatter_test(crossdock_gather_scatter* shared, int* is_complete) {
    return give_number(shared, is_complete, [&] { return value_of(shared, "shared").test(); });
}

crossdock_status crossdock_gather_scatter_wait(crossdock_gather_scatter* shared) {
    return guarded(shared, [&] { value_of(shared, "shared").wait(); });
}

crossdock_status crossdock_gather_scatter_combine(crossdock_gather_scatter* shared, void* values,
                                                  int64_t values_per_id, MPI_Datatype datatype,
                                                  MPI_Op operation, int transposed) {
    return crossdock_gather_scatter_combine_fields(shared, 1, &values, values_per_id, datatype,
                                                   operation, transposed);
}

crossdock_status crossdock_gather_scatter_combine_fields(crossdock_gather_scatter* shared,
                                                         int64_t num_fields, void* const* fields,
                                                         int64_t values_per_id,
                                                         MPI_Datatype datatype, MPI_Op operation,
                                                         int transposed) {
    const auto status = crossdock_gather_scatter_start_fields(
        shared, num_fields, fields, values_per_id, datatype, operation, transposed);
    return status == CROSSDOCK_SUCCESS ? crossdock_gather_scatter_wait(shared) : status;
}

crossdock_status crossdock_gather_scatter_is_active(const crossdock_gather_scatter* shared,
                                                    int* is_active) {
    return give_number(shared, is_active, [&] { return value_of(shared, "shared").is_active(); });
}

crossdock_status crossdock_gather_scatter_num_ids(const crossdock_gather_scatter* shared,
                                                  int64_t* num_ids) {
    return give_number(shared, num_ids, [&] { return value_of(shared, "shared").num_ids(); });
}

crossdock_status crossdock_gather_scatter_method(const crossdock_gather_scatter* shared,
                                                 char** method) {
    return give_text(shared, method, "method", [&] { return value_of(shared, "shared").method(); });
}

crossdock_status crossdock_gather_scatter_route(const crossdock_gather_scatter* shared,
                                                char** route) {
    return give_text(shared, route, "route", [&] { return value_of(shared, "shared").route(); });
}

crossdock_status crossdock_gather_scatter_num_tried_routes(const crossdock_gather_scatter* shared,
                                                           int* num_tried_routes, int* is_trying) {
    return guarded(
        shared, [&] { give_num_tried(value_of(shared, "shared"), num_tried_routes, is_trying); });
}

crossdock_status crossdock_gather_scatter_tried_route(const crossdock_gather_scatter* shared,
                                                      int index, char** route, double* seconds) {
    return guarded(shared, [&] { give_tried(value_of(shared, "shared"), index, route, seconds); });
}

crossdock_status crossdock_gather_scatter_explain(const crossdock_gather_scatter* shared,
                                                  char** text) {
    return give_text(shared, text, "text", [&] { return value_of(shared, "shared").explain(); });
}

crossdock_status crossdock_gather_scatter_statistics(const crossdock_gather_scatter* shared,
                                                     crossdock_traffic* traffic) {
    return guarded(shared, [&] {
        require(traffic, "traffic");
        *traffic = to_c(value_of(shared, "shared").statistics());
    });
}

crossdock_status crossdock_gather_scatter_free(crossdock_gather_scatter* shared) {
    return release_finished(shared, &crossdock_gather_scatter::value, "wait");
}
