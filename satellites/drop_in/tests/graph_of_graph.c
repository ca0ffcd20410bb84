// Distributed graphs made from communicators that have a topology, which Open MPI 5 takes for the new one's: exchanges
// on a grid then read the blocks of two neighbors, and those on a graph crash.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, num_ranks, num_faults;
static const int weight = 1;

static void expect(const char* what, int of, int expected, int got) {
    if (expected == got) return;
    ++num_faults;
    printf("rank %d, parent %d: %s: %d expected, got %d\n", rank, of, what, expected, got);
}

// A row, a ring, a graph that is a ring, and a distributed graph that sends around it the other way.
static MPI_Comm parent_of(int kind) {
    const int is_periodic = kind == 1, before = (rank + num_ranks - 1) % num_ranks,
              after = (rank + 1) % num_ranks;
    MPI_Comm made = MPI_COMM_NULL;
    if (kind < 2) {
        MPI_Cart_create(MPI_COMM_WORLD, 1, &num_ranks, &is_periodic, 0, &made);
    } else if (kind == 2) {
        int* const ends = malloc(sizeof(int) * (size_t)num_ranks);
        int* const neighbors = malloc(sizeof(int) * 2 * (size_t)num_ranks);
        for (int other = 0; other < num_ranks; ++other) {
            ends[other] = 2 * other + 2;
            neighbors[2 * other] = (other + num_ranks - 1) % num_ranks;
            neighbors[2 * other + 1] = (other + 1) % num_ranks;
        }
        MPI_Graph_create(MPI_COMM_WORLD, num_ranks, ends, neighbors, 0, &made);
        free(ends);
        free(neighbors);
    } else {
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &after, &weight, 1, &before, &weight,
                                       MPI_INFO_NULL, 0, &made);
    }
    return made;
}

// On the parent, and on a graph made from it: each rank receives from the rank before.
static void exchange_on(int kind) {
    const int before = (rank + num_ranks - 1) % num_ranks, after = (rank + 1) % num_ranks;
    MPI_Comm parent = parent_of(kind), graph = MPI_COMM_NULL;
    int topology = MPI_UNDEFINED;
    MPI_Dist_graph_create_adjacent(parent, 1, &before, &weight, 1, &after, &weight, MPI_INFO_NULL,
                                   0, &graph);
    MPI_Topo_test(graph, &topology);
    expect("topology", kind, MPI_DIST_GRAPH, topology);
    for (int call = 0; call < 6; ++call) {
        const int sent[2] = {100 * call + rank, 100 * call + rank};
        int received[2] = {-1, -1};
        MPI_Request request = MPI_REQUEST_NULL;
        if (call % 2 == 0)
            MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, graph);
        else
            MPI_Ineighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, graph, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect("block of the graph", kind, 100 * call + before, received[0]);
        expect("what is behind it", kind, -1, received[1]);
        MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, parent);
        // A grid that ends at rank 0 leaves that one's first block as it was.
        expect("first block of the parent", kind, 100 * call + (kind == 3 ? after : before),
               received[0]);
    }
    MPI_Comm_free(&graph);
    MPI_Comm_free(&parent);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    for (int kind = 0; kind < 4; ++kind) exchange_on(kind);
    MPI_Finalize();
    return num_faults > 0;
}
