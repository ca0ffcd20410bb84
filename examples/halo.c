/* A ring of cells, CELLS to a rank. Each rank needs the cell before its first and the one after its
 * last; then it sends a contribution back to both. Fails unless every value is as expected. */
#include <stdio.h>

#include "crossdock/crossdock.h"

enum { CELLS = 4 };

static void check(crossdock_status status, const char* what) {
    if (status == CROSSDOCK_SUCCESS) return;
    fprintf(stderr, "%s: %s: %s\n", what, crossdock_status_name((int)status),
            crossdock_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static crossdock_neighbor_exchange* make_halo(const crossdock_context* world, int64_t first,
                                              const int64_t ghosts[2]) {
    crossdock_pattern* pattern = NULL;
    crossdock_neighbor_exchange* halo = NULL;
    check(crossdock_pattern_from_needed_range(world, first, CELLS, 2, ghosts, &pattern), "pattern");
    check(crossdock_neighbor_exchange_create(world, pattern, NULL, &halo), "neighbor exchange");
    check(crossdock_pattern_free(pattern), "free the pattern");
    return halo;
}

/* A cell's value is its number, and each ghost must be the value of its cell. */
static int forward_is_right(crossdock_neighbor_exchange* halo, const double* cells,
                            const int64_t ghosts[2]) {
    double slots[2] = {-1, -1};
    check(crossdock_neighbor_exchange_start(halo, cells, slots, MPI_DOUBLE), "start");
    /* inner cells would be computed here */
    check(crossdock_neighbor_exchange_wait(halo), "wait");
    return slots[0] == (double)ghosts[0] && slots[1] == (double)ghosts[1];
}

/* Each end of a rank's cells is a ghost of one other rank, which adds 0.5 to it. */
static int reverse_is_right(crossdock_neighbor_exchange* halo, double* cells, int64_t first) {
    const double contributions[2] = {0.5, 0.5};
    check(crossdock_neighbor_exchange_reverse(halo, contributions, cells, MPI_DOUBLE, MPI_SUM),
          "reverse");
    for (int i = 0; i < CELLS; ++i) {
        const double added = i == 0 || i == CELLS - 1 ? 0.5 : 0;
        if (cells[i] != (double)(first + i) + added) return 0;
    }
    return 1;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, num_ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    const int64_t num_cells = (int64_t)CELLS * num_ranks, first = (int64_t)CELLS * rank;
    const int64_t ghosts[2] = {(first + num_cells - 1) % num_cells, (first + CELLS) % num_cells};
    double cells[CELLS];
    for (int i = 0; i < CELLS; ++i) cells[i] = (double)(first + i);

    crossdock_context* world = NULL;
    check(crossdock_context_create(MPI_COMM_WORLD, NULL, &world), "context");
    crossdock_neighbor_exchange* halo = make_halo(world, first, ghosts);
    int is_right = forward_is_right(halo, cells, ghosts);
    is_right = reverse_is_right(halo, cells, first) && is_right;
    check(crossdock_neighbor_exchange_free(halo), "free the neighbor exchange");
    check(crossdock_context_close(world), "close");
    check(crossdock_context_free(world), "free the context");

    MPI_Allreduce(MPI_IN_PLACE, &is_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%lld cells on %d ranks: forward and reverse are %s\n", (long long)num_cells,
               num_ranks, is_right ? "right" : "WRONG");
    }
    MPI_Finalize();
    return is_right ? 0 : 1;
}
