/* Calls from two places on one communicator, with the same counts: as a program warms up, and goes on. Arguments are
 * levels for MPI_Pcontrol, one after the other. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    int rank, num_ranks, i, neighbors[2], num_faults = 0;
    int counts[2] = {1, 1}, places[2] = {0, 1}, sent[2], received[2], weights[2] = {1, 1};
    MPI_Comm ring;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    neighbors[0] = (rank + num_ranks - 1) % num_ranks;
    neighbors[1] = (rank + 1) % num_ranks;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbors, weights, 2, neighbors, weights,
                                   MPI_INFO_NULL, 0, &ring);
    for (i = 0; i < 3; ++i) {
        sent[0] = sent[1] = rank + i;
        MPI_Neighbor_alltoallv(sent, counts, places, MPI_INT, received, counts, places, MPI_INT,
                               ring);
        num_faults += received[0] != neighbors[0] + i || received[1] != neighbors[1] + i;
    }
    for (i = 0; i < 20; ++i) {
        sent[0] = sent[1] = rank - i;
        MPI_Neighbor_alltoallv(sent, counts, places, MPI_INT, received, counts, places, MPI_INT,
                               ring);
        num_faults += received[0] != neighbors[0] - i || received[1] != neighbors[1] - i;
    }
    for (i = 1; i < argc; ++i) MPI_Pcontrol(atoi(argv[i]));
    if (num_faults > 0) printf("rank %d: %d exchanges brought something else\n", rank, num_faults);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return num_faults > 0;
}
