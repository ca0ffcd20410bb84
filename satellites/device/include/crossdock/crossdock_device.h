/// @file
/// @brief Exchanges of arrays in a device's memory, for C.
///
/// - Functions behave as those of crossdock.h, which says what an error does, and as the C++ objects of
///   device_exchange.hpp, which say what is collective and what fails.
/// - Items, slots and values are addresses in memory that the device can use. A stream is a `cudaStream_t`, `CUstream`
///   or `hipStream_t`; null is the default stream.
/// - Where a device combines values, the datatype is `int`, `float`, `double` or an integer of 64 bits, and the
///   operation MPI_SUM, MPI_MIN or MPI_MAX.
#ifndef CROSSDOCK_CROSSDOCK_DEVICE_H
#define CROSSDOCK_CROSSDOCK_DEVICE_H

#include "crossdock/crossdock.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

typedef struct crossdock_device crossdock_device;
typedef struct crossdock_device_neighbor_exchange crossdock_device_neighbor_exchange;
typedef struct crossdock_device_gather_scatter crossdock_device_gather_scatter;

/// @brief Opens a device: "cuda", "hip", "mock:17", or "auto", which null stands for.
crossdock_status crossdock_device_open(const char* name, crossdock_device** result);
/// @brief What was made on the device stays usable.
crossdock_status crossdock_device_free(crossdock_device* device);
/// @brief The device and how far it is known to work, to be freed with `crossdock_free`.
crossdock_status crossdock_device_description(const crossdock_device* device, char** result);

/// @brief Memory of the device, for programs that have no other way to get it; `_deallocate` frees it.
crossdock_status crossdock_device_allocate(crossdock_device* device, size_t num_bytes,
                                           void** result);
crossdock_status crossdock_device_deallocate(crossdock_device* device, void* memory);
/// @brief Copies between memory of the host and of the device; waits for what the stream holds, and for the copy.
crossdock_status crossdock_device_copy_in(crossdock_device* device, void* to, const void* from,
                                          size_t num_bytes, void* stream);
crossdock_status crossdock_device_copy_out(crossdock_device* device, void* to, const void* from,
                                           size_t num_bytes, void* stream);

/// @param options  null: the defaults
/// @param device   null: as "auto" opens it
/// @param path     "staged", "direct" or "auto", which null stands for
crossdock_status crossdock_device_neighbor_exchange_create(
    const crossdock_context* context, const crossdock_pattern* pattern,
    const crossdock_neighbor_options* options, const crossdock_device* device, const char* path,
    crossdock_device_neighbor_exchange** result);
/// @return CROSSDOCK_INVALID_STATE while it is active; nothing is freed then: wait for it first
crossdock_status crossdock_device_neighbor_exchange_free(
    crossdock_device_neighbor_exchange* exchange);
/// @param items, slots  as many as the pattern has
crossdock_status crossdock_device_neighbor_exchange_start(
    crossdock_device_neighbor_exchange* exchange, const void* items, void* slots, size_t item_bytes,
    void* stream);
crossdock_status crossdock_device_neighbor_exchange_start_reverse(
    crossdock_device_neighbor_exchange* exchange, const void* slots, void* items,
    MPI_Datatype datatype, MPI_Op operation, void* stream);
crossdock_status crossdock_device_neighbor_exchange_test(
    crossdock_device_neighbor_exchange* exchange, void* stream, int* is_complete);
crossdock_status crossdock_device_neighbor_exchange_wait(
    crossdock_device_neighbor_exchange* exchange, void* stream);
/// @brief The device, the path and the route, and why; to be freed with `crossdock_free`.
crossdock_status crossdock_device_neighbor_exchange_explain(
    const crossdock_device_neighbor_exchange* exchange, char** result);

/// @param ids  in memory of the host
crossdock_status crossdock_device_gather_scatter_create(const crossdock_context* context,
                                                        int64_t num_ids, const int64_t* ids,
                                                        const crossdock_gather_options* options,
                                                        const crossdock_device* device,
                                                        crossdock_device_gather_scatter** result);
/// @return CROSSDOCK_INVALID_STATE while it is active; nothing is freed then: wait for it first
crossdock_status crossdock_device_gather_scatter_free(crossdock_device_gather_scatter* shared);
crossdock_status crossdock_device_gather_scatter_start(crossdock_device_gather_scatter* shared,
                                                       void* values, int64_t values_per_id,
                                                       MPI_Datatype datatype, MPI_Op operation,
                                                       int transposed, void* stream);
crossdock_status crossdock_device_gather_scatter_test(crossdock_device_gather_scatter* shared,
                                                      void* stream, int* is_complete);
crossdock_status crossdock_device_gather_scatter_wait(crossdock_device_gather_scatter* shared,
                                                      void* stream);

/// @brief What came in a sparse exchange. The arrays are of the host, `values` is of the device, messages one after the
/// other.
typedef struct crossdock_device_messages {
    int64_t num_messages;
    const int* sources;
    const int64_t* counts;
    const int64_t* displacements;
    void* values;
    void* owner;  ///< of all these
} crossdock_device_messages;

/// @param destinations, counts  of the host: `counts[i]` values, one after the other, to rank `destinations[i]`
/// @param algorithm             null: "auto"
/// @param result                to be freed with `crossdock_device_messages_free`
crossdock_status crossdock_device_sparse_exchange(const crossdock_context* context,
                                                  int64_t num_messages, const int* destinations,
                                                  const int64_t* counts, const void* values,
                                                  size_t value_bytes, const char* algorithm,
                                                  const crossdock_device* device, void* stream,
                                                  crossdock_device_messages* result);
crossdock_status crossdock_device_messages_free(crossdock_device_messages* messages);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
