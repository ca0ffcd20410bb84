// What the Fortran module calls besides crossdock.h: functions that take MPI's handles as Fortran has them, and arrays
// that know their length.
#include <mpi.h>

#include <array>
#include <string>
#include <vector>

#include "src/base/datatype_mpi.hpp"
#include "src/c/array_batches.hpp"
#include "src/c/exchange.hpp"
#include "src/c/stream.hpp"
#include "src/neighbor/datatype_exchange.hpp"

using namespace crossdock::c;
using crossdock::combination_of;
using crossdock::errc;
using crossdock::error;
using crossdock::on_all_or_none;

namespace {

// As the module has it: an array of numbers. Of rank 2, its columns are the items. Or an address alone.
struct number_array {
    void* values;
    int64_t num_items;
    int64_t values_per_item;
    int number;  // its type, of `number_types`; or `no_number`
    int is_contiguous;
};

struct array_requests {
    int64_t num_indices;
    const int64_t* indices;
    number_array values;
};

struct number_type {
    const char* name;
    MPI_Datatype datatype;
    int64_t num_bytes;
    std::array<MPI_Datatype, 2> in_fortran;
};

const std::array<number_type, 6>& number_types() {
    static const std::array<number_type, 6> types{{
        {"real32", MPI_FLOAT, 4, {MPI_REAL, MPI_REAL4}},
        {"real64", MPI_DOUBLE, 8, {MPI_DOUBLE_PRECISION, MPI_REAL8}},
        {"int32", MPI_INT32_T, 4, {MPI_INTEGER, MPI_INTEGER4}},
        {"int64", MPI_INT64_T, 8, {MPI_INTEGER, MPI_INTEGER8}},
        {"complex of real32", MPI_C_FLOAT_COMPLEX, 8, {MPI_COMPLEX, MPI_COMPLEX8}},
        {"complex of real64", MPI_C_DOUBLE_COMPLEX, 16, {MPI_DOUBLE_COMPLEX, MPI_COMPLEX16}},
    }};
    return types;
}

constexpr int no_number = -1;

const number_type& type_of(const number_array& array) {
    return number_types()[static_cast<std::size_t>(array.number)];
}

// C's datatype of the same numbers, for which the library has operations of its own.
MPI_Datatype datatype_in_c(MPI_Fint given) {
    const MPI_Datatype datatype = MPI_Type_f2c(given);
    if (datatype == MPI_DATATYPE_NULL) return datatype;
    int num_bytes = 0;
    CROSSDOCK_MPI(MPI_Type_size(datatype, &num_bytes));
    for (const auto& type : number_types())
        if (num_bytes == type.num_bytes &&
            (datatype == type.in_fortran[0] || datatype == type.in_fortran[1]))
            return type.datatype;
    return datatype;
}

int number_of(MPI_Datatype datatype) {
    for (std::size_t i = 0; i < number_types().size(); ++i)
        if (number_types()[i].datatype == datatype) return static_cast<int>(i);
    return no_number;
}

std::size_t item_bytes(const number_array& array) {
    return static_cast<std::size_t>(array.values_per_item * type_of(array).num_bytes);
}

void require_contiguous(const number_array& array, const char* what) {
    if (!array.is_contiguous)
        throw error(errc::invalid_argument,
                    std::string(what) + " is not contiguous; pass an array without strides");
}

void require_columns(const number_array& items, const number_array& slots) {
    require_contiguous(items, "items");
    require_contiguous(slots, "slots");
    if (items.values_per_item != slots.values_per_item)
        throw error(errc::size_mismatch,
                    "items have columns of " + std::to_string(items.values_per_item) +
                        " values, but slots of " + std::to_string(slots.values_per_item) +
                        "; give both the same");
}

// A value for each id, or a column; of all fields alike.
void require_fields(int64_t num_ids, std::span<const number_array> fields) {
    for (const auto& field : fields) {
        if (field.number == no_number)
            throw error(errc::invalid_argument, "a field has no values: crossdock_field makes one");
        require_contiguous(field, "values");
        if (field.num_items != num_ids)
            throw error(errc::size_mismatch, "there are " + std::to_string(num_ids) + " ids, but " +
                                                 std::to_string(field.num_items) +
                                                 " values; give one for each id");
        if (field.number != fields[0].number)
            throw error(errc::invalid_argument,
                        std::string("fields are ") + type_of(fields[0]).name + " and " +
                            type_of(field).name + "; give all fields one type");
        if (field.values_per_item != fields[0].values_per_item)
            throw error(errc::size_mismatch,
                        "fields have columns of " + std::to_string(fields[0].values_per_item) +
                            " and of " + std::to_string(field.values_per_item) +
                            " values; give all fields the same");
    }
}

std::span<std::byte> bytes_of(const number_array& array) {
    return {static_cast<std::byte*>(array.values),
            static_cast<std::size_t>(array.num_items) * item_bytes(array)};
}

// `number` is the type of numbers that are to be entries of this type.
void require_type(const entry_type& type, int number) {
    const int of_entries = number_of(type.datatype());
    if (of_entries == no_number || of_entries == number) return;
    const auto name = [](int of) { return number_types()[static_cast<std::size_t>(of)].name; };
    throw error(errc::invalid_argument, std::string("values are ") + name(number) +
                                            ", but entries of the array " + name(of_entries) +
                                            "; give both one type");
}

// An address has no length; that it is not null is required elsewhere.
void require_entries(const entry_type& type, const number_array& values, int64_t num_requests,
                     const char* of_requests = "indices") {
    if (values.number == no_number) return;
    require_contiguous(values, "values");
    require_type(type, values.number);
    if (item_bytes(values) != type.item_bytes())
        throw error(errc::size_mismatch, "values have " + std::to_string(item_bytes(values)) +
                                             " bytes, but entries of the array " +
                                             std::to_string(type.item_bytes()) +
                                             "; give both one type");
    if (values.num_items != num_requests)
        throw error(errc::size_mismatch,
                    "there are " + std::to_string(num_requests) + " " + of_requests + ", but " +
                        std::to_string(values.num_items) + " values; give one for each");
}

// Runs the batch of one kind of requests that `add` makes.
template <class Add>
crossdock_status run_requests(crossdock_distributed_array* array, int64_t num_indices,
                              const int64_t* indices, const number_array& values, Add&& add) {
    return run_batch(array, [&](auto& batch) {
        batch.attempt([&] { require_entries(array->type, values, num_indices); });
        add(batch, crossdock_array_requests{num_indices, indices, values.values});
    });
}

// Checks arguments of a start. If they are wrong, this rank takes part with nothing, and the others hear of it.
template <class Object, class Check>
void check_start(Object& to_start, bool is_reverse, std::size_t item_bytes, Check&& check) {
    try {
        check();
    } catch (...) {
        to_start.fail_start(is_reverse, item_bytes, crossdock::current_error());
        throw;
    }
}

void check_start_columns(crossdock::neighbor_exchange& to_start, bool is_reverse,
                         const number_array& items, const number_array& slots) {
    const bool are_equal = item_bytes(items) == item_bytes(slots);
    check_start(to_start, is_reverse, are_equal ? item_bytes(items) : 0,
                [&] { require_columns(items, slots); });
}

// One value for each request of a prepared batch.
void require_requests(const crossdock_prepared_batch* batch, const number_array& values) {
    require(batch, "batch");
    require_entries(batch->type, values, static_cast<int64_t>(batch->indices.size()));
}

crossdock_status check_start_requests(crossdock_prepared_batch* batch, bool is_update,
                                      const number_array& values) {
    return guarded(batch, [&] {
        require_idle(batch);
        check_start(batch->requests, is_update, batch->type.item_bytes(),
                    [&] { require_requests(batch, values); });
    });
}

// What is wrong on one rank fails on all.
template <class Check>
crossdock_status on_all(const crossdock_prepared_batch* batch, Check&& check) {
    return guarded(batch, [&] {
        require_idle(batch);
        on_all_or_none(batch->engine->comm(), check);
    });
}

std::optional<error> fault_of(const crossdock_context* context, bool is_right,
                              const std::string& sentence) {
    if (is_right || context == nullptr) return std::nullopt;
    const int rank = context->value.rank();
    return error(errc::size_mismatch, sentence + " on rank " + std::to_string(rank), rank);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

/// A fault that the module finds, of this rank alone.
crossdock_status crossdock_fortran_fail(int status, const char* sentence) {
    return guarded([&] { throw error(static_cast<errc>(status), sentence); });
}

crossdock_status crossdock_fortran_context_create(MPI_Fint user,
                                                  const crossdock_context_options* options,
                                                  crossdock_context** result) {
    return crossdock_context_create(MPI_Comm_f2c(user), options, result);
}

crossdock_status crossdock_fortran_pattern_from_dist_graph(
    MPI_Fint graph, const crossdock_neighbor_alltoallv_arguments* arguments,
    crossdock_pattern** result) {
    return crossdock_pattern_from_dist_graph(MPI_Comm_f2c(graph), arguments, result);
}

crossdock_status crossdock_fortran_neighbor_alltoallv_init(
    const crossdock_context* context, const int send_counts[], const int send_displs[],
    const int recv_counts[], const int recv_displs[], MPI_Fint graph, MPI_Fint datatype,
    const crossdock_neighbor_options* options, crossdock_neighbor_exchange** result) {
    return crossdock_neighbor_alltoallv_init(context, send_counts, send_displs, recv_counts,
                                             recv_displs, MPI_Comm_f2c(graph),
                                             MPI_Type_f2c(datatype), options, result);
}

crossdock_status crossdock_fortran_start(crossdock_neighbor_exchange* exchange,
                                         const number_array* items, const number_array* slots) {
    return guarded(exchange, [&] {
        auto& to_start = value_of(exchange, "exchange");
        check_start_columns(to_start, false, *items, *slots);
        to_start.start_bytes(bytes_of(*items), bytes_of(*slots), item_bytes(*items));
    });
}

crossdock_status crossdock_fortran_start_reverse(crossdock_neighbor_exchange* exchange,
                                                 const number_array* slots,
                                                 const number_array* items, MPI_Fint operation) {
    return guarded(exchange, [&] {
        auto& to_start = value_of(exchange, "exchange");
        check_start_columns(to_start, true, *items, *slots);
        crossdock::datatype_combination by{};
        check_start(to_start, true, item_bytes(*items), [&] {
            by = combination_of(type_of(*items).datatype, MPI_Op_f2c(operation),
                                crossdock::checked_cast<int>(items->values_per_item));
        });
        to_start.start_reverse_bytes(bytes_of(*slots), bytes_of(*items), by.extent,
                                     std::move(by.combine));
    });
}

crossdock_status crossdock_fortran_start_address(crossdock_neighbor_exchange* exchange,
                                                 const void* items, void* slots,
                                                 MPI_Fint datatype) {
    return crossdock_neighbor_exchange_start(exchange, items, slots, MPI_Type_f2c(datatype));
}

crossdock_status crossdock_fortran_start_types(crossdock_neighbor_exchange* exchange,
                                               const void* items, MPI_Fint item_type, void* slots,
                                               MPI_Fint slot_type) {
    return crossdock_neighbor_exchange_start_types(exchange, items, MPI_Type_f2c(item_type), slots,
                                                   MPI_Type_f2c(slot_type));
}

crossdock_status crossdock_fortran_start_reverse_address(crossdock_neighbor_exchange* exchange,
                                                         const void* slots, void* items,
                                                         MPI_Fint datatype, MPI_Fint operation) {
    return crossdock_neighbor_exchange_start_reverse(exchange, slots, items, MPI_Type_f2c(datatype),
                                                     MPI_Op_f2c(operation));
}

crossdock_status crossdock_fortran_gather_start_fields(crossdock_gather_scatter* shared,
                                                       int64_t num_fields,
                                                       const number_array* fields,
                                                       MPI_Fint operation, int transposed) {
    std::vector<void*> addresses;
    int64_t values_per_id = 1;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    const auto status = guarded(shared, [&] {
        auto& to_start = value_of(shared, "shared");
        check_start(to_start, transposed != 0, 0, [&] {
            const auto given = array(fields, num_fields, "fields");
            require_fields(to_start.num_ids(), given);
            if (given.empty())
                throw error(errc::invalid_argument,
                            "there is no array to combine: give at least one");
            values_per_id = given[0].values_per_item;
            datatype = type_of(given[0]).datatype;
            for (const auto& field : given) addresses.push_back(field.values);
        });
    });
    return status == CROSSDOCK_SUCCESS ? crossdock_gather_scatter_start_fields(
                                             shared, num_fields, addresses.data(), values_per_id,
                                             datatype, MPI_Op_f2c(operation), transposed)
                                       : status;
}

crossdock_status crossdock_fortran_gather_start_addresses(crossdock_gather_scatter* shared,
                                                          int64_t num_fields, void* const* fields,
                                                          int64_t values_per_id, MPI_Fint datatype,
                                                          MPI_Fint operation, int transposed) {
    MPI_Datatype in_c = MPI_DATATYPE_NULL;
    const auto status = guarded(shared, [&] {
        check_start(value_of(shared, "shared"), transposed != 0, 0,
                    [&] { in_c = datatype_in_c(datatype); });
    });
    return status == CROSSDOCK_SUCCESS
               ? crossdock_gather_scatter_start_fields(shared, num_fields, fields, values_per_id,
                                                       in_c, MPI_Op_f2c(operation), transposed)
               : status;
}

/// Message m has column m of `values`.
crossdock_status crossdock_fortran_sparse_exchange(
    const crossdock_context* context, int64_t num_destinations, const int* destinations,
    const number_array* values, const crossdock_exchange_options* options, int64_t* num_received,
    int** sources, void** received) {
    return exchange(context, options,
                    {.num_messages = num_destinations,
                     .destinations = destinations,
                     .count = values->values_per_item,
                     .datatype = type_of(*values).datatype,
                     .values = values->values},
                    new_arrays<int64_t>{.datatype = type_of(*values).datatype,
                                        .count = values->values_per_item,
                                        .num_messages = num_received,
                                        .sources = sources,
                                        .values = received},
                    fault_of(context, values->num_items == num_destinations,
                             "values have " + std::to_string(values->num_items) + " columns for " +
                                 std::to_string(num_destinations) + " destinations"));
}

/// Messages lie in `values` one after the other.
crossdock_status crossdock_fortran_sparse_exchange_v(
    const crossdock_context* context, int64_t num_destinations, const int* destinations,
    int64_t num_counts, const int64_t* counts, const number_array* values,
    const crossdock_exchange_options* options, int64_t* num_received, int64_t* num_values,
    int** sources, int64_t** new_counts, int64_t** displacements, void** received) {
    return exchange(context, options,
                    {.num_messages = num_destinations,
                     .destinations = destinations,
                     .num_values = values->num_items,
                     .counts = counts,
                     .datatype = type_of(*values).datatype,
                     .values = values->values},
                    new_arrays<int64_t>{.datatype = type_of(*values).datatype,
                                        .num_messages = num_received,
                                        .num_values = num_values,
                                        .sources = sources,
                                        .counts = new_counts,
                                        .displacements = displacements,
                                        .values = received},
                    fault_of(context, num_counts == num_destinations,
                             "there are " + std::to_string(num_counts) + " counts for " +
                                 std::to_string(num_destinations) + " destinations"));
}

crossdock_status crossdock_fortran_array_create(const crossdock_context* context,
                                                int64_t num_entries, MPI_Fint datatype,
                                                const crossdock_array_options* options,
                                                crossdock_distributed_array** result) {
    MPI_Datatype in_c = MPI_DATATYPE_NULL;
    const auto status = guarded(context, [&] { in_c = datatype_in_c(datatype); });
    return status == CROSSDOCK_SUCCESS
               ? crossdock_distributed_array_create(context, num_entries, in_c, options, result)
               : status;
}

crossdock_status crossdock_fortran_array_local(crossdock_distributed_array* array, int number,
                                               void** entries, int64_t* num_local) {
    const auto status = guarded(array, [&] {
        require(array, "array");
        require_type(array->type, number);
        const auto num_bytes = number_types()[static_cast<std::size_t>(number)].num_bytes;
        if (static_cast<int64_t>(array->type.item_bytes()) != num_bytes)
            throw error(errc::size_mismatch, "an entry of the array is not one number");
    });
    return status == CROSSDOCK_SUCCESS
               ? crossdock_distributed_array_local(array, entries, num_local)
               : status;
}

crossdock_status crossdock_fortran_array_read(crossdock_distributed_array* array,
                                              int64_t num_indices, const int64_t* indices,
                                              const number_array* values) {
    return run_requests(array, num_indices, indices, *values,
                        [](auto& batch, const auto& requests) { batch.read(requests); });
}

crossdock_status crossdock_fortran_array_write(crossdock_distributed_array* array,
                                               int64_t num_indices, const int64_t* indices,
                                               const number_array* values) {
    return run_requests(array, num_indices, indices, *values,
                        [](auto& batch, const auto& requests) { batch.write(requests); });
}

crossdock_status crossdock_fortran_array_update(crossdock_distributed_array* array,
                                                int64_t num_indices, const int64_t* indices,
                                                const number_array* values, MPI_Fint operation) {
    return run_requests(
        array, num_indices, indices, *values, [&](auto& batch, const auto& requests) {
            batch.update(requests, [&] { return update_by(array->type, MPI_Op_f2c(operation)); });
        });
}

crossdock_status crossdock_fortran_array_update_with(crossdock_distributed_array* array,
                                                     int64_t num_indices, const int64_t* indices,
                                                     const number_array* values,
                                                     crossdock_combine combine, void* user) {
    return run_requests(
        array, num_indices, indices, *values, [&](auto& batch, const auto& requests) {
            batch.update(requests, [&] {
                return update_by(array->type,
                                 [combine, user](std::byte* into, const std::byte* value) {
                                     combine(user, into, value);
                                 });
            });
        });
}

crossdock_status crossdock_fortran_array_step(crossdock_distributed_array* array,
                                              const array_requests* writes,
                                              const array_requests* updates, MPI_Fint operation,
                                              const array_requests* reads) {
    return run_batch(array, [&](auto& batch) {
        const auto checked = [&](const array_requests& given) {
            batch.attempt([&] { require_entries(array->type, given.values, given.num_indices); });
            return crossdock_array_requests{given.num_indices, given.indices, given.values.values};
        };
        const MPI_Op by = MPI_Op_f2c(operation);
        batch.write(checked(*writes));
        if (updates->num_indices > 0 || by != MPI_OP_NULL)
            batch.update(checked(*updates), [&] { return update_by(array->type, by); });
        batch.read(checked(*reads));
    });
}

crossdock_status crossdock_fortran_batch_start_read(crossdock_prepared_batch* batch,
                                                    const number_array* values) {
    const auto status = check_start_requests(batch, false, *values);
    return status == CROSSDOCK_SUCCESS ? crossdock_prepared_batch_start_read(batch, values->values)
                                       : status;
}

crossdock_status crossdock_fortran_batch_start_update(crossdock_prepared_batch* batch,
                                                      const number_array* values,
                                                      MPI_Fint operation) {
    const auto status = check_start_requests(batch, true, *values);
    return status == CROSSDOCK_SUCCESS
               ? crossdock_prepared_batch_start_update(batch, values->values, MPI_Op_f2c(operation))
               : status;
}

/// @param num_entries  of this rank; there is one offset more
crossdock_status crossdock_fortran_batch_gather(crossdock_prepared_batch* batch,
                                                const number_array* values, int64_t* num_entries,
                                                int64_t** offsets, void** gathered) {
    const auto status = on_all(batch, [&] { require_requests(batch, *values); });
    if (status != CROSSDOCK_SUCCESS) return status;
    *num_entries = batch->num_entries();
    return crossdock_prepared_batch_gather(batch, values->values, offsets, gathered);
}

crossdock_status crossdock_fortran_batch_scatter(crossdock_prepared_batch* batch,
                                                 const number_array* gathered,
                                                 const number_array* values) {
    int64_t num_gathered = 0;
    auto status = guarded(batch, [&] {
        require_idle(batch);
        num_gathered = batch->to_owners().offsets.back();
    });
    if (status != CROSSDOCK_SUCCESS) return status;
    status = on_all(batch, [&] {
        require_requests(batch, *values);
        require_entries(batch->type, *gathered, num_gathered, "requests for this rank's entries");
    });
    return status == CROSSDOCK_SUCCESS
               ? crossdock_prepared_batch_scatter(batch, gathered->values, values->values)
               : status;
}

crossdock_status crossdock_fortran_batch_fetch_and_update(crossdock_prepared_batch* batch,
                                                          const number_array* values,
                                                          const number_array* found,
                                                          MPI_Fint operation) {
    const auto status = on_all(batch, [&] {
        require_requests(batch, *values);
        require_requests(batch, *found);
    });
    return status == CROSSDOCK_SUCCESS
               ? crossdock_prepared_batch_fetch_and_update(batch, values->values, found->values,
                                                           MPI_Op_f2c(operation))
               : status;
}

crossdock_status crossdock_fortran_item_status(const crossdock_stream_port* port,
                                               int64_t num_bytes) {
    return item_status(port, num_bytes);
}

}  // extern "C"
#pragma GCC visibility pop
