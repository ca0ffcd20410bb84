/* What the module crossdock_devices calls besides crossdock_device.h: functions that take MPI's handles as Fortran has
 * them. */
#include "crossdock/crossdock_device.h"

/* Of values one after the other; 0 if there is no such type, which the next call refuses. */
static size_t bytes_of(MPI_Fint datatype) {
    MPI_Aint first = 0, extent = 0;
    const MPI_Datatype type = MPI_Type_f2c(datatype);
    if (type != MPI_DATATYPE_NULL) MPI_Type_get_extent(type, &first, &extent);
    return (size_t)extent;
}

crossdock_status crossdock_fortran_device_start(crossdock_device_neighbor_exchange* exchange,
                                                const void* items, void* slots, MPI_Fint datatype,
                                                void* stream) {
    return crossdock_device_neighbor_exchange_start(exchange, items, slots, bytes_of(datatype),
                                                    stream);
}

crossdock_status crossdock_fortran_device_start_reverse(
    crossdock_device_neighbor_exchange* exchange, const void* slots, void* items, MPI_Fint datatype,
    MPI_Fint operation, void* stream) {
    return crossdock_device_neighbor_exchange_start_reverse(
        exchange, slots, items, MPI_Type_f2c(datatype), MPI_Op_f2c(operation), stream);
}

crossdock_status crossdock_fortran_device_gather_start(crossdock_device_gather_scatter* shared,
                                                       void* values, int64_t values_per_id,
                                                       MPI_Fint datatype, MPI_Fint operation,
                                                       int transposed, void* stream) {
    return crossdock_device_gather_scatter_start(shared, values, values_per_id,
                                                 MPI_Type_f2c(datatype), MPI_Op_f2c(operation),
                                                 transposed, stream);
}

crossdock_status crossdock_fortran_device_sparse_exchange(
    const crossdock_context* context, int64_t num_destinations, const int* destinations,
    int64_t num_counts, const int64_t* counts, const void* values, MPI_Fint datatype,
    const char* algorithm, const crossdock_device* device, void* stream,
    crossdock_device_messages* result) {
    if (context != NULL && num_counts != num_destinations)
        crossdock_fail_next(CROSSDOCK_SIZE_MISMATCH,
                            "counts and destinations differ in length; give one count for each");
    return crossdock_device_sparse_exchange(context, num_destinations, destinations, counts, values,
                                            bytes_of(datatype), algorithm, device, stream, result);
}
