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

static crossdock_neighbor* make_neighbor(const crossdock_communicator* comm, int64_t first,
                                         const int64_t ghosts[2]) {
    crossdock_topology* topology = NULL;
    crossdock_pattern* pattern = NULL;
    crossdock_neighbor* neighbor = NULL;
    check(crossdock_topology_discover(comm, CROSSDOCK_NODE, &topology), "discover");
    check(crossdock_pattern_from_needed_range(comm, first, CELLS, 2, ghosts, &pattern), "pattern");
    check(crossdock_neighbor_create(comm, topology, pattern, "auto", NULL, &neighbor), "neighbor");
    check(crossdock_pattern_free(pattern), "free the pattern");
    check(crossdock_topology_free(topology), "free the topology");
    return neighbor;
}

/* A cell's value is its number, and each ghost must be the value of its cell. */
static int forward_is_right(crossdock_neighbor* neighbor, const double* cells,
                            const int64_t ghosts[2]) {
    double slots[2] = {-1, -1};
    check(crossdock_neighbor_start(neighbor, cells, MPI_DOUBLE, slots), "start");
    check(crossdock_neighbor_wait(neighbor), "wait"); /* inner cells would be computed before */
    return slots[0] == (double)ghosts[0] && slots[1] == (double)ghosts[1];
}

/* Each end of a rank's cells is a ghost of one other rank, which adds 0.5 to it. */
static int reverse_is_right(crossdock_neighbor* neighbor, double* cells, int64_t first) {
    const double contributions[2] = {0.5, 0.5};
    check(crossdock_neighbor_reverse(neighbor, contributions, MPI_DOUBLE, MPI_SUM, cells),
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

    crossdock_communicator* comm = NULL;
    check(crossdock_communicator_create(MPI_COMM_WORLD, &comm), "communicator");
    crossdock_neighbor* neighbor = make_neighbor(comm, first, ghosts);
    int is_right = forward_is_right(neighbor, cells, ghosts);
    is_right = reverse_is_right(neighbor, cells, first) && is_right;
    check(crossdock_neighbor_free(neighbor), "free the neighbor");
    check(crossdock_communicator_close(comm), "close");

    MPI_Allreduce(MPI_IN_PLACE, &is_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%lld cells on %d ranks: forward and reverse are %s\n", (long long)num_cells,
               num_ranks, is_right ? "right" : "WRONG");
    }
    MPI_Finalize();
    return is_right ? 0 : 1;
}
