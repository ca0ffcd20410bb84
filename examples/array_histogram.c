/* A histogram whose bins are spread over the ranks. Each rank counts its own numbers by one update,
 * and reads back how many there are of its first one. Fails unless all counts are as a serial program
 * has them. */
#include <stdio.h>

#include "crossdock/crossdock.h"

enum { BINS = 100, DRAWS = 10000 }; /* DRAWS of each rank */

static void check(crossdock_status status, const char* what) {
    if (status == CROSSDOCK_SUCCESS) return;
    fprintf(stderr, "%s: %s: %s\n", what, crossdock_status_name((int)status),
            crossdock_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A linear congruential generator; its upper bits choose among all bins. */
static void draw(int rank, int64_t bins[DRAWS]) {
    uint64_t state = 12345u + (uint64_t)rank;
    for (int i = 0; i < DRAWS; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bins[i] = (int64_t)((state >> 33) % BINS);
    }
}

int main(int argc, char** argv) {
    static int64_t bins[DRAWS], ones[DRAWS], serial[BINS];
    MPI_Init(&argc, &argv);
    int rank, num_ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    for (int r = 0; r < num_ranks; ++r) {
        draw(r, bins);
        for (int i = 0; i < DRAWS; ++i) ++serial[bins[i]];
    }
    draw(rank, bins);
    for (int i = 0; i < DRAWS; ++i) ones[i] = 1;

    crossdock_context* world = NULL;
    crossdock_distributed_array* counts = NULL;
    void* local = NULL;
    int64_t num_local, first, times;
    check(crossdock_context_create(MPI_COMM_WORLD, NULL, &world), "context");
    check(crossdock_distributed_array_create(world, BINS, MPI_INT64_T, NULL, &counts), "array");
    check(crossdock_distributed_array_update(counts, DRAWS, bins, ones, MPI_SUM), "update");
    check(crossdock_distributed_array_read(counts, 1, bins, &times), "read");
    check(crossdock_distributed_array_local(counts, &local, &num_local), "local entries");
    check(crossdock_distributed_array_first_index(counts, &first), "first index");

    int is_right = times == serial[bins[0]];
    for (int64_t i = 0; i < num_local; ++i)
        is_right = is_right && ((const int64_t*)local)[i] == serial[first + i];
    check(crossdock_distributed_array_close(counts), "close the array");
    check(crossdock_distributed_array_free(counts), "free the array");
    check(crossdock_context_close(world), "close");
    check(crossdock_context_free(world), "free the context");

    MPI_Allreduce(MPI_IN_PLACE, &is_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%lld numbers in %d bins on %d ranks: the counts are %s\n",
               (long long)DRAWS * num_ranks, BINS, num_ranks, is_right ? "right" : "WRONG");
    }
    MPI_Finalize();
    return is_right ? 0 : 1;
}
