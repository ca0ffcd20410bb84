/* A histogram whose bins are dealt out to the ranks. Each rank pushes numbers to the ranks that have
 * their bins, which count them as they come. Fails unless all counts are as a serial program has them. */
#include <stdio.h>

#include "crossdock/crossdock.h"

enum { BINS = 16, DRAWS = 10000 }; /* of each rank */

static void check(crossdock_status status, const char* what) {
    if (status == CROSSDOCK_SUCCESS) return;
    fprintf(stderr, "%s: %s: %s\n", what, crossdock_status_name((int)status),
            crossdock_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A linear congruential generator; its upper bits choose among all bins. */
static int64_t next_bin(uint64_t* state, int64_t num_bins) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*state >> 33) % (uint64_t)num_bins);
}

static uint64_t seed_of(int rank) { return 12345u + (uint64_t)rank; }

struct bins {
    int64_t first;
    int64_t counts[BINS];
};

/* Items are numbers of bins. */
static int count(void* user, crossdock_stream_port* port, const void* items, int64_t num_items) {
    struct bins* own = user;
    const int64_t* bin = items;
    (void)port;
    for (int64_t i = 0; i < num_items; ++i) {
        if (bin[i] < own->first || bin[i] >= own->first + BINS) return 1; /* not ours */
        ++own->counts[bin[i] - own->first];
    }
    return 0;
}

static void push_all(crossdock_stream_port* port, int rank, int64_t num_bins) {
    uint64_t state = seed_of(rank);
    for (int i = 0; i < DRAWS; ++i) {
        const int64_t bin = next_bin(&state, num_bins);
        check(crossdock_stream_port_push(port, (int)(bin / BINS), 0, &bin), "push");
        if (i % 256 == 0) check(crossdock_stream_port_progress(port, NULL), "progress");
    }
    check(crossdock_stream_port_start_drain(port), "start to drain");
    check(crossdock_stream_port_wait_drain(port), "drain");
}

static int is_as_serial(const struct bins* own, int num_ranks, int64_t num_bins) {
    int64_t expected[BINS] = {0};
    for (int rank = 0; rank < num_ranks; ++rank) {
        uint64_t state = seed_of(rank);
        for (int i = 0; i < DRAWS; ++i) {
            const int64_t bin = next_bin(&state, num_bins) - own->first;
            if (bin >= 0 && bin < BINS) ++expected[bin];
        }
    }
    for (int i = 0; i < BINS; ++i) {
        if (own->counts[i] != expected[i]) return 0;
    }
    return 1;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, num_ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    const int64_t num_bins = (int64_t)BINS * num_ranks;
    struct bins own = {(int64_t)BINS * rank, {0}};

    crossdock_context* world = NULL;
    crossdock_stream* stream = NULL;
    crossdock_stream_port* port = NULL;
    check(crossdock_context_create(MPI_COMM_WORLD, NULL, &world), "context");
    check(crossdock_stream_create(world, sizeof(int64_t), count, &own, NULL, &stream), "stream");
    check(crossdock_stream_get_port(stream, 0, &port), "port");
    push_all(port, rank, num_bins);
    crossdock_stream_counts counts;
    check(crossdock_stream_statistics(stream, &counts), "statistics");
    check(crossdock_stream_close(stream), "close the stream");
    check(crossdock_stream_free(stream), "free the stream");
    check(crossdock_context_close(world), "close");
    check(crossdock_context_free(world), "free the context");

    int is_right = is_as_serial(&own, num_ranks, num_bins) && counts.items == DRAWS;
    MPI_Allreduce(MPI_IN_PLACE, &is_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%lld numbers in %lld bins on %d ranks: the counts are %s\n",
               (long long)DRAWS * num_ranks, (long long)num_bins, num_ranks,
               is_right ? "right" : "WRONG");
    }
    MPI_Finalize();
    return is_right ? 0 : 1;
}
