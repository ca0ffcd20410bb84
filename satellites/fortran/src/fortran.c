/* What the Fortran module calls besides crossdock.h: functions that take MPI's handles as Fortran has them, and arrays
 * that know their length. Mistakes that are found here, the next call of crossdock.h reports. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

#include "crossdock/crossdock.h"

/* As the module has it: an array of numbers. Of rank 2, its columns are the items. Or an address alone. */
typedef struct number_array {
    void* values;
    int64_t num_items;
    int64_t values_per_item;
    int number; /* its type, of `number_types`; or `no_number` */
    int is_contiguous;
} number_array;

typedef struct array_requests {
    int64_t num_indices;
    const int64_t* indices;
    number_array values;
} array_requests;

typedef struct number_type {
    const char* name;
    MPI_Datatype datatype;
    int64_t num_bytes;
    MPI_Datatype in_fortran[2];
} number_type;

enum { no_number = -1, num_number_types = 6 };

static const number_type number_types[num_number_types] = {
    {"real32", MPI_FLOAT, 4, {MPI_REAL, MPI_REAL4}},
    {"real64", MPI_DOUBLE, 8, {MPI_DOUBLE_PRECISION, MPI_REAL8}},
    {"int32", MPI_INT32_T, 4, {MPI_INTEGER, MPI_INTEGER4}},
    {"int64", MPI_INT64_T, 8, {MPI_INTEGER, MPI_INTEGER8}},
    {"complex of real32", MPI_C_FLOAT_COMPLEX, 8, {MPI_COMPLEX, MPI_COMPLEX8}},
    {"complex of real64", MPI_C_DOUBLE_COMPLEX, 16, {MPI_DOUBLE_COMPLEX, MPI_COMPLEX16}},
};

/* C's datatype of the same numbers, for which the library has operations of its own. */
static MPI_Datatype datatype_in_c(MPI_Fint given) {
    const MPI_Datatype datatype = MPI_Type_f2c(given);
    int num_bytes = 0;
    if (datatype == MPI_DATATYPE_NULL || MPI_Type_size(datatype, &num_bytes) != MPI_SUCCESS)
        return datatype;
    for (const number_type* type = number_types; type < number_types + num_number_types; ++type)
        if (num_bytes == type->num_bytes &&
            (datatype == type->in_fortran[0] || datatype == type->in_fortran[1]))
            return type->datatype;
    return datatype;
}

static int number_of(MPI_Datatype datatype) {
    for (int i = 0; i < num_number_types; ++i)
        if (number_types[i].datatype == datatype) return i;
    return no_number;
}

static int64_t item_bytes(const number_array* array) {
    return array->values_per_item * number_types[array->number].num_bytes;
}

static void refuse(crossdock_status status, const char* format, ...) {
    char sentence[256];
    va_list values;
    va_start(values, format);
    vsnprintf(sentence, sizeof sentence, format, values);
    va_end(values);
    crossdock_fail_next(status, sentence);
}

static void require_contiguous(const number_array* array, const char* what) {
    if (!array->is_contiguous)
        refuse(CROSSDOCK_INVALID_ARGUMENT, "%s is not contiguous; pass an array without strides",
               what);
}

/* How many values an item has; 0 if that is not known. */
static int64_t common_width(const number_array* items, const number_array* slots) {
    require_contiguous(items, "items");
    require_contiguous(slots, "slots");
    if (items->values_per_item == slots->values_per_item) return items->values_per_item;
    refuse(CROSSDOCK_SIZE_MISMATCH,
           "items have columns of %lld values, but slots of %lld; give both the same",
           (long long)items->values_per_item, (long long)slots->values_per_item);
    return 0;
}

/* A value for each id, or a column; of all fields alike. */
static void require_field(int64_t num_ids, const number_array* field, const number_array* first) {
    if (field->number == no_number) {
        refuse(CROSSDOCK_INVALID_ARGUMENT, "a field has no values: crossdock_field makes one");
        return;
    }
    require_contiguous(field, "values");
    if (field->num_items != num_ids)
        refuse(CROSSDOCK_SIZE_MISMATCH, "there are %lld ids, but %lld values; give one for each id",
               (long long)num_ids, (long long)field->num_items);
    if (first->number != no_number && field->number != first->number)
        refuse(CROSSDOCK_INVALID_ARGUMENT, "fields are %s and %s; give all fields one type",
               number_types[first->number].name, number_types[field->number].name);
    if (field->values_per_item != first->values_per_item)
        refuse(CROSSDOCK_SIZE_MISMATCH,
               "fields have columns of %lld and of %lld values; give all fields the same",
               (long long)first->values_per_item, (long long)field->values_per_item);
}

/* `number` is the type of numbers that are to be entries of this type. */
static void require_type(MPI_Datatype entry, int number) {
    const int of_entries = number_of(entry);
    if (of_entries != no_number && of_entries != number)
        refuse(CROSSDOCK_INVALID_ARGUMENT,
               "values are %s, but entries of the array %s; give both one type",
               number_types[number].name, number_types[of_entries].name);
}

static int64_t bytes_of_entry(MPI_Datatype entry) {
    MPI_Aint first = 0, extent = 0;
    MPI_Type_get_extent(entry, &first, &extent);
    return extent;
}

/* An address has no length; that it is not null is required elsewhere. */
static void require_entries(MPI_Datatype entry, const number_array* values, int64_t num_requests,
                            const char* of_requests) {
    if (values->number == no_number) return;
    require_contiguous(values, "values");
    require_type(entry, values->number);
    if (item_bytes(values) != bytes_of_entry(entry))
        refuse(CROSSDOCK_SIZE_MISMATCH,
               "values have %lld bytes, but entries of the array %lld; give both one type",
               (long long)item_bytes(values), (long long)bytes_of_entry(entry));
    if (values->num_items != num_requests)
        refuse(CROSSDOCK_SIZE_MISMATCH, "there are %lld %s, but %lld values; give one for each",
               (long long)num_requests, of_requests, (long long)values->num_items);
}

/* One value for each index. */
static crossdock_status require_values(const crossdock_distributed_array* array,
                                       int64_t num_indices, const number_array* values) {
    MPI_Datatype entry = MPI_DATATYPE_NULL;
    const crossdock_status status = crossdock_distributed_array_datatype(array, &entry);
    if (status == CROSSDOCK_SUCCESS) require_entries(entry, values, num_indices, "indices");
    return status;
}

/* One value for each request of a prepared batch. */
static crossdock_status require_requests(const crossdock_prepared_batch* batch,
                                         const number_array* values, int64_t* num_entries) {
    MPI_Datatype entry = MPI_DATATYPE_NULL;
    int64_t num_requests = 0;
    const crossdock_status status =
        crossdock_prepared_batch_sizes(batch, &entry, &num_requests, num_entries);
    if (status == CROSSDOCK_SUCCESS) require_entries(entry, values, num_requests, "indices");
    return status;
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
    const int64_t width = common_width(items, slots);
    return crossdock_neighbor_exchange_start_arrays(exchange, items->num_items, items->values,
                                                    slots->num_items, slots->values, width,
                                                    number_types[items->number].datatype);
}

crossdock_status crossdock_fortran_start_reverse(crossdock_neighbor_exchange* exchange,
                                                 const number_array* slots,
                                                 const number_array* items, MPI_Fint operation) {
    const int64_t width = common_width(items, slots);
    return crossdock_neighbor_exchange_start_reverse_arrays(
        exchange, slots->num_items, slots->values, items->num_items, items->values, width,
        number_types[items->number].datatype, MPI_Op_f2c(operation));
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

crossdock_status crossdock_fortran_start_fields(crossdock_neighbor_exchange* exchange,
                                                int64_t num_fields, const void* const* items,
                                                void* const* slots, MPI_Fint datatype) {
    return crossdock_neighbor_exchange_start_fields(exchange, num_fields, items, slots,
                                                    MPI_Type_f2c(datatype));
}

crossdock_status crossdock_fortran_start_reverse_fields(crossdock_neighbor_exchange* exchange,
                                                        int64_t num_fields,
                                                        const void* const* slots,
                                                        void* const* items, MPI_Fint datatype,
                                                        MPI_Fint operation) {
    return crossdock_neighbor_exchange_start_reverse_fields(
        exchange, num_fields, slots, items, MPI_Type_f2c(datatype), MPI_Op_f2c(operation));
}

/* @param addresses  of the values of each field */
crossdock_status crossdock_fortran_gather_start_fields(crossdock_gather_scatter* shared,
                                                       int64_t num_fields,
                                                       const number_array* fields,
                                                       void* const* addresses, MPI_Fint operation,
                                                       int transposed) {
    int64_t num_ids = 0;
    const crossdock_status status = crossdock_gather_scatter_num_ids(shared, &num_ids);
    if (status != CROSSDOCK_SUCCESS) return status;
    for (int64_t i = 0; i < num_fields; ++i) require_field(num_ids, &fields[i], &fields[0]);
    if (num_fields == 0)
        refuse(CROSSDOCK_INVALID_ARGUMENT, "there is no array to combine: give at least one");
    const int has_type = num_fields > 0 && fields[0].number != no_number;
    return crossdock_gather_scatter_start_fields(
        shared, num_fields, addresses, has_type ? fields[0].values_per_item : 1,
        has_type ? number_types[fields[0].number].datatype : MPI_DATATYPE_NULL,
        MPI_Op_f2c(operation), transposed);
}

crossdock_status crossdock_fortran_gather_start_addresses(crossdock_gather_scatter* shared,
                                                          int64_t num_fields, void* const* fields,
                                                          int64_t values_per_id, MPI_Fint datatype,
                                                          MPI_Fint operation, int transposed) {
    return crossdock_gather_scatter_start_fields(shared, num_fields, fields, values_per_id,
                                                 datatype_in_c(datatype), MPI_Op_f2c(operation),
                                                 transposed);
}

static int rank_of(const crossdock_context* context) {
    int rank = 0;
    crossdock_context_rank(context, &rank);
    return rank;
}

/* Message m has column m of `values`. */
crossdock_status crossdock_fortran_sparse_exchange(
    const crossdock_context* context, int64_t num_destinations, const int* destinations,
    const number_array* values, const crossdock_exchange_options* options, int64_t* num_received,
    int** sources, void** received) {
    if (context != NULL && values->num_items != num_destinations)
        refuse(CROSSDOCK_SIZE_MISMATCH, "values have %lld columns for %lld destinations on rank %d",
               (long long)values->num_items, (long long)num_destinations, rank_of(context));
    return crossdock_sparse_exchange_alloc(context, num_destinations, destinations,
                                           values->values_per_item,
                                           number_types[values->number].datatype, values->values,
                                           num_received, sources, received, options);
}

/* Messages lie in `values` one after the other. */
crossdock_status crossdock_fortran_sparse_exchange_v(
    const crossdock_context* context, int64_t num_destinations, const int* destinations,
    int64_t num_counts, const int64_t* counts, const number_array* values,
    const crossdock_exchange_options* options, int64_t* num_received, int64_t* num_values,
    int** sources, int64_t** new_counts, int64_t** displacements, void** received) {
    if (context != NULL && num_counts != num_destinations)
        refuse(CROSSDOCK_SIZE_MISMATCH,
               "the lengths of counts and destinations are %lld and %lld on rank %d",
               (long long)num_counts, (long long)num_destinations, rank_of(context));
    return crossdock_sparse_exchange_v_alloc(
        context, num_destinations, values->num_items, destinations, counts, NULL,
        number_types[values->number].datatype, values->values, num_received, num_values, sources,
        new_counts, displacements, received, options);
}

crossdock_status crossdock_fortran_array_create(const crossdock_context* context,
                                                int64_t num_entries, MPI_Fint datatype,
                                                const crossdock_array_options* options,
                                                crossdock_distributed_array** result) {
    return crossdock_distributed_array_create(context, num_entries, datatype_in_c(datatype),
                                              options, result);
}

crossdock_status crossdock_fortran_array_local(crossdock_distributed_array* array, int number,
                                               void** entries, int64_t* num_local) {
    MPI_Datatype entry = MPI_DATATYPE_NULL;
    const crossdock_status status = crossdock_distributed_array_datatype(array, &entry);
    if (status != CROSSDOCK_SUCCESS) return status;
    require_type(entry, number);
    if (bytes_of_entry(entry) != number_types[number].num_bytes)
        refuse(CROSSDOCK_SIZE_MISMATCH, "an entry of the array is not one number");
    return crossdock_distributed_array_local(array, entries, num_local);
}

crossdock_status crossdock_fortran_array_read(crossdock_distributed_array* array,
                                              int64_t num_indices, const int64_t* indices,
                                              const number_array* values) {
    const crossdock_status status = require_values(array, num_indices, values);
    if (status != CROSSDOCK_SUCCESS) return status;
    return crossdock_distributed_array_read(array, num_indices, indices, values->values);
}

crossdock_status crossdock_fortran_array_write(crossdock_distributed_array* array,
                                               int64_t num_indices, const int64_t* indices,
                                               const number_array* values) {
    const crossdock_status status = require_values(array, num_indices, values);
    if (status != CROSSDOCK_SUCCESS) return status;
    return crossdock_distributed_array_write(array, num_indices, indices, values->values);
}

crossdock_status crossdock_fortran_array_update(crossdock_distributed_array* array,
                                                int64_t num_indices, const int64_t* indices,
                                                const number_array* values, MPI_Fint operation) {
    const crossdock_status status = require_values(array, num_indices, values);
    if (status != CROSSDOCK_SUCCESS) return status;
    return crossdock_distributed_array_update(array, num_indices, indices, values->values,
                                              MPI_Op_f2c(operation));
}

crossdock_status crossdock_fortran_array_update_with(crossdock_distributed_array* array,
                                                     int64_t num_indices, const int64_t* indices,
                                                     const number_array* values,
                                                     crossdock_combine combine, void* user) {
    const crossdock_status status = require_values(array, num_indices, values);
    if (status != CROSSDOCK_SUCCESS) return status;
    return crossdock_distributed_array_update_with(array, num_indices, indices, values->values,
                                                   combine, user);
}

crossdock_status crossdock_fortran_array_step(crossdock_distributed_array* array,
                                              const array_requests* writes,
                                              const array_requests* updates, MPI_Fint operation,
                                              const array_requests* reads) {
    const array_requests* const given[] = {writes, updates, reads};
    crossdock_array_requests in_c[3];
    for (int i = 0; i < 3; ++i) {
        const crossdock_status status =
            require_values(array, given[i]->num_indices, &given[i]->values);
        if (status != CROSSDOCK_SUCCESS) return status;
        in_c[i] = (crossdock_array_requests){given[i]->num_indices, given[i]->indices,
                                             given[i]->values.values};
    }
    return crossdock_distributed_array_step(array, &in_c[0],
                                            updates->num_indices > 0 ? &in_c[1] : NULL,
                                            MPI_Op_f2c(operation), &in_c[2]);
}

crossdock_status crossdock_fortran_batch_start_read(crossdock_prepared_batch* batch,
                                                    const number_array* values) {
    int64_t num_entries = 0;
    const crossdock_status status = require_requests(batch, values, &num_entries);
    if (status != CROSSDOCK_SUCCESS) return status;
    return crossdock_prepared_batch_start_read(batch, values->values);
}

crossdock_status crossdock_fortran_batch_start_update(crossdock_prepared_batch* batch,
                                                      const number_array* values,
                                                      MPI_Fint operation) {
    int64_t num_entries = 0;
    const crossdock_status status = require_requests(batch, values, &num_entries);
    if (status != CROSSDOCK_SUCCESS) return status;
    return crossdock_prepared_batch_start_update(batch, values->values, MPI_Op_f2c(operation));
}

/* @param num_entries  of this rank; there is one offset more */
crossdock_status crossdock_fortran_batch_gather(crossdock_prepared_batch* batch,
                                                const number_array* values, int64_t* num_entries,
                                                int64_t** offsets, void** gathered) {
    const crossdock_status status = require_requests(batch, values, num_entries);
    if (status != CROSSDOCK_SUCCESS) return status;
    return crossdock_prepared_batch_gather(batch, values->values, offsets, gathered);
}

crossdock_status crossdock_fortran_batch_scatter(crossdock_prepared_batch* batch,
                                                 const number_array* gathered,
                                                 const number_array* values) {
    MPI_Datatype entry = MPI_DATATYPE_NULL;
    int64_t num_gathered = 0, num_requests = 0, num_entries = 0;
    crossdock_status status = crossdock_prepared_batch_num_gathered(batch, &num_gathered);
    if (status == CROSSDOCK_SUCCESS)
        status = crossdock_prepared_batch_sizes(batch, &entry, &num_requests, &num_entries);
    if (status != CROSSDOCK_SUCCESS) return status;
    require_entries(entry, values, num_requests, "indices");
    require_entries(entry, gathered, num_gathered, "requests for this rank's entries");
    return crossdock_prepared_batch_scatter(batch, gathered->values, values->values);
}

crossdock_status crossdock_fortran_batch_fetch_and_update(crossdock_prepared_batch* batch,
                                                          const number_array* values,
                                                          const number_array* found,
                                                          MPI_Fint operation) {
    int64_t num_entries = 0;
    crossdock_status status = require_requests(batch, values, &num_entries);
    if (status == CROSSDOCK_SUCCESS) status = require_requests(batch, found, &num_entries);
    if (status != CROSSDOCK_SUCCESS) return status;
    return crossdock_prepared_batch_fetch_and_update(batch, values->values, found->values,
                                                     MPI_Op_f2c(operation));
}
