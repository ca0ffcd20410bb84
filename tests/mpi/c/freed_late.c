/* Everything that C makes is freed after MPI_Finalize, also what is active or has items that nobody handled. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

#include "crossdock/crossdock.h"

static int num_failures;

static void expect(int is_true, int line, const char* what) {
    if (is_true) return;
    ++num_failures;
    fprintf(stderr, "line %d: %s (last error: %s)\n", line, what, crossdock_last_error());
}
#define OK(call) expect((call) == CROSSDOCK_SUCCESS, __LINE__, #call)

static int ignore(void* user, crossdock_stream_port* port, const void* items, int64_t num_items) {
    (void)user, (void)port, (void)items, (void)num_items;
    return 0;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, num_ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    const int next = (rank + 1) % num_ranks;
    const int64_t owned = rank, needed = next, id = 7;
    double item = rank, slot = -1, mass = 1, found = -1;

    crossdock_context *world = NULL, *flat = NULL;
    crossdock_topology* regions = NULL;
    crossdock_pattern* ring = NULL;
    crossdock_plan* plan = NULL;
    crossdock_neighbor_exchange* halo = NULL;
    crossdock_gather_scatter* shared = NULL;
    crossdock_distributed_array* array = NULL;
    crossdock_prepared_batch* batch = NULL;
    crossdock_stream* stream = NULL;
    crossdock_stream_port* port = NULL;
    OK(crossdock_context_create(MPI_COMM_WORLD, NULL, &world));
    OK(crossdock_context_topology(world, &regions));
    OK(crossdock_context_with_topology(world, regions, &flat));
    OK(crossdock_pattern_from_needed(world, 1, &owned, 1, &needed, &ring));
    OK(crossdock_plan_compile(world, ring, NULL, &plan));
    OK(crossdock_neighbor_exchange_create(world, ring, NULL, &halo));
    OK(crossdock_gather_scatter_create(world, 1, &id, NULL, &shared));
    OK(crossdock_distributed_array_create(world, num_ranks, MPI_DOUBLE, NULL, &array));
    OK(crossdock_distributed_array_prepare(array, 1, &needed, &batch));
    OK(crossdock_stream_create(world, sizeof(int64_t), ignore, NULL, NULL, &stream));
    OK(crossdock_stream_get_port(stream, 0, &port));
    OK(crossdock_neighbor_exchange_start(halo, &item, &slot, MPI_DOUBLE));
    OK(crossdock_gather_scatter_start(shared, &mass, 1, MPI_DOUBLE, MPI_SUM, 0));
    OK(crossdock_prepared_batch_start_read(batch, &found));
    OK(crossdock_stream_port_push(port, next, 0, &owned));

    MPI_Finalize();
    OK(crossdock_stream_free(stream));
    OK(crossdock_prepared_batch_free(batch));
    OK(crossdock_distributed_array_close(array));
    OK(crossdock_distributed_array_free(array));
    OK(crossdock_gather_scatter_free(shared));
    OK(crossdock_neighbor_exchange_free(halo));
    OK(crossdock_plan_free(plan));
    OK(crossdock_pattern_free(ring));
    OK(crossdock_topology_free(regions));
    OK(crossdock_context_close(flat));
    OK(crossdock_context_free(flat));
    OK(crossdock_context_free(world));
    return num_failures != 0;
}
