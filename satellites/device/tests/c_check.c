/* From C, exchanges of a device's arrays bring the right values, and error handlers hear of errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crossdock/crossdock_device.h"

#define NUM_OWNED 40

static int rank = 0;

static void check(int is_so, const char* what, int line) {
    if (is_so) return;
    fprintf(stderr, "rank %d, line %d: %s; %s\n", rank, line, what, crossdock_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(is_so) check((is_so), #is_so, __LINE__)
#define OK(call) CHECK((call) == CROSSDOCK_SUCCESS)

/* Errors that the handlers of MPI_COMM_SELF and of MPI_COMM_WORLD have heard of. */
static int num_told[2] = {0, 0};
static void count_error(MPI_Comm* comm, int* code, ...) {
    (void)code;
    ++num_told[*comm == MPI_COMM_WORLD];
}
/* A call fails, and the handler of the context's communicator, or that of MPI_COMM_SELF, hears of it. */
#define FAILS_OF(is_of_context, call, code)         \
    do {                                            \
        const int told = num_told[is_of_context];   \
        CHECK((call) == (code));                    \
        CHECK(num_told[is_of_context] == told + 1); \
    } while (0)
#define FAILS(call, code) FAILS_OF(1, call, code)

static crossdock_device* device = NULL;

/* Of aware_mpi.cpp. */
void let_mpi_take_memory_of_the_device(void);

static void* there(const void* values, size_t num_bytes) {
    void* memory = NULL;
    OK(crossdock_device_allocate(device, num_bytes, &memory));
    OK(crossdock_device_copy_in(device, memory, values, num_bytes, NULL));
    return memory;
}

static void check_there(const void* memory, const void* expected, size_t num_bytes) {
    void* found = malloc(num_bytes);
    CHECK(found != NULL);
    OK(crossdock_device_copy_out(device, found, memory, num_bytes, NULL));
    CHECK(memcmp(found, expected, num_bytes) == 0);
    free(found);
}

static void check_neighbor(const crossdock_context* world, int num_ranks) {
    /* Ghosts: the first two items of the next rank, and the first one of its own. */
    const int next = (rank + 1) % num_ranks * NUM_OWNED, first = rank * NUM_OWNED;
    const int64_t needed[3] = {next, next + 1, first};
    const double zeros[3] = {0, 0, 0}, ghosts[3] = {next + 0.5, next + 1.5, first + 0.5};
    double x[NUM_OWNED];
    for (int i = 0; i < NUM_OWNED; ++i) x[i] = first + i + 0.5;

    crossdock_pattern* pattern = NULL;
    OK(crossdock_pattern_from_needed_range(world, first, NUM_OWNED, 3, needed, &pattern));
    crossdock_neighbor_options options = CROSSDOCK_NEIGHBOR_OPTIONS_INIT;
    options.route = "direct";
    crossdock_device_neighbor_exchange* halo = NULL;
    FAILS(
        crossdock_device_neighbor_exchange_create(world, pattern, &options, device, "fast", &halo),
        CROSSDOCK_INVALID_ARGUMENT);
    OK(crossdock_device_neighbor_exchange_create(world, pattern, &options, device, NULL, &halo));
    OK(crossdock_pattern_free(pattern));
    void* const items = there(x, sizeof x);
    void* const slots = there(zeros, sizeof zeros);

    OK(crossdock_device_neighbor_exchange_start(halo, items, slots, sizeof(double), NULL));
    for (int is_complete = 0; !is_complete;)
        OK(crossdock_device_neighbor_exchange_test(halo, NULL, &is_complete));
    check_there(slots, ghosts, sizeof ghosts);
    OK(crossdock_device_neighbor_exchange_start_reverse(halo, slots, items, MPI_DOUBLE, MPI_SUM,
                                                        NULL));
    OK(crossdock_device_neighbor_exchange_wait(halo, NULL));
    x[0] *= 3;
    x[1] *= 2;
    check_there(items, x, sizeof x);

    FAILS(crossdock_device_neighbor_exchange_start_reverse(halo, slots, items, MPI_CHAR, MPI_SUM,
                                                           NULL),
          CROSSDOCK_INVALID_ARGUMENT);
    FAILS(crossdock_device_neighbor_exchange_wait(halo, NULL), CROSSDOCK_INVALID_STATE);
    /* A mistake of rank 0 alone fails for rank 1, which gets its slots. */
    if (rank == 0) {
        FAILS(crossdock_device_neighbor_exchange_start_reverse(halo, slots, items, MPI_CHAR,
                                                               MPI_SUM, NULL),
              CROSSDOCK_INVALID_ARGUMENT);
    } else {
        OK(crossdock_device_neighbor_exchange_start_reverse(halo, slots, items, MPI_DOUBLE, MPI_SUM,
                                                            NULL));
        CHECK(crossdock_device_neighbor_exchange_wait(halo, NULL) ==
              (rank == 1 ? CROSSDOCK_PEER_FAILED : CROSSDOCK_SUCCESS));
    }
    char* text = NULL;
    OK(crossdock_device_neighbor_exchange_explain(halo, &text));
    CHECK(strncmp(text, "device  ", 8) == 0);
    const char* const path = getenv("CROSSDOCK_DEVICE_PATH");
    CHECK(path == NULL || strncmp(strstr(text, "path    ") + 8, path, strlen(path)) == 0);
    crossdock_free(text);

    OK(crossdock_device_neighbor_exchange_free(halo));
    OK(crossdock_device_deallocate(device, items));
    OK(crossdock_device_deallocate(device, slots));
}

static void check_gather(const crossdock_context* world, int num_ranks) {
    const int64_t ids[4] = {7, 8, 100 + rank, 7};
    const int64_t values[4] = {1, 10 + rank, 5, 2};
    const int64_t of_8 = 10 * num_ranks + num_ranks * (num_ranks - 1) / 2;
    const int64_t sums[4] = {3 * num_ranks, of_8, 5, 3 * num_ranks};
    const int64_t most[4] = {2, 9 + num_ranks, 5, 2};
    crossdock_device_gather_scatter* shared = NULL;
    OK(crossdock_device_gather_scatter_create(world, 4, ids, NULL, device, &shared));
    for (int is_sum = 0; is_sum < 2; ++is_sum) {
        void* const memory = there(values, sizeof values);
        OK(crossdock_device_gather_scatter_start(shared, memory, 1, MPI_INT64_T,
                                                 is_sum ? MPI_SUM : MPI_MAX, 0, NULL));
        OK(crossdock_device_gather_scatter_wait(shared, NULL));
        check_there(memory, is_sum ? sums : most, sizeof values);
        OK(crossdock_device_deallocate(device, memory));
    }
    FAILS(crossdock_device_gather_scatter_start(shared, NULL, 1, MPI_CHAR, MPI_SUM, 0, NULL),
          CROSSDOCK_INVALID_ARGUMENT);
    OK(crossdock_device_gather_scatter_free(shared));
}

static void check_sparse(const crossdock_context* world, int num_ranks) {
    const int destinations[2] = {(rank + 1) % num_ranks, rank};
    const int64_t counts[2] = {2, 1};
    const float values[3] = {rank + 0.5F, rank + 0.25F, -1.0F};
    void* const memory = there(values, sizeof values);
    crossdock_device_messages came;
    OK(crossdock_device_sparse_exchange(world, 2, destinations, counts, memory, sizeof(float), NULL,
                                        device, NULL, &came));
    const int before = (rank + num_ranks - 1) % num_ranks;
    CHECK(came.num_messages == 2);
    for (int i = 0; i < 2; ++i) {
        const float two[2] = {before + 0.5F, before + 0.25F};
        const float one = -1.0F;
        const void* const at = (const float*)came.values + came.displacements[i];
        CHECK(came.sources[i] == (came.counts[i] == 2 ? before : rank));
        check_there(at, came.counts[i] == 2 ? (const void*)two : (const void*)&one,
                    (size_t)came.counts[i] * sizeof(float));
    }
    OK(crossdock_device_messages_free(&came));

    /* Counts that no array has. */
    const int64_t most = INT64_MAX;
    const int64_t wrong[3][2] = {{most, 1}, {most / 2, 1}, {3, -1}};
    const crossdock_status why[3] = {CROSSDOCK_COUNT_OVERFLOW, CROSSDOCK_SIZE_MISMATCH,
                                     CROSSDOCK_INVALID_ARGUMENT};
    for (int i = 0; i < 3; ++i)
        FAILS(crossdock_device_sparse_exchange(world, 2, destinations, wrong[i], memory,
                                               sizeof(float), NULL, device, NULL, &came),
              why[i]);
    FAILS(crossdock_device_sparse_exchange(world, 2, destinations, counts, memory, 0, NULL, device,
                                           NULL, &came),
          CROSSDOCK_INVALID_ARGUMENT);
    OK(crossdock_device_deallocate(device, memory));
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int num_ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(count_error, &counting);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, counting);
    crossdock_context* world = NULL;
    OK(crossdock_context_create(MPI_COMM_WORLD, NULL, &world));
    FAILS_OF(0, crossdock_device_open("no_such", &device), CROSSDOCK_INVALID_ARGUMENT);
    FAILS_OF(0, crossdock_device_neighbor_exchange_wait(NULL, NULL), CROSSDOCK_INVALID_ARGUMENT);
    OK(crossdock_device_open(NULL, &device));
    let_mpi_take_memory_of_the_device();
    check_neighbor(world, num_ranks);
    check_gather(world, num_ranks);
    check_sparse(world, num_ranks);
    OK(crossdock_device_free(device));
    OK(crossdock_context_close(world));
    OK(crossdock_context_free(world));
    MPI_Errhandler_free(&counting);
    MPI_Finalize();
    return 0;
}
