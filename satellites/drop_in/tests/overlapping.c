/* Every rank has both neighbors' values received in one place, which MPI forbids: one of them is lost. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int rank, num_ranks, neighbors[2], received = 0, code;
    int counts[2] = {1, 1}, apart[2] = {0, 1}, in_one_place[2] = {0, 0};
    int sent[2], weights[2] = {1, 1};
    MPI_Comm ring;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    neighbors[0] = (rank + num_ranks - 1) % num_ranks;
    neighbors[1] = (rank + 1) % num_ranks;
    sent[0] = sent[1] = rank + 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbors, weights, 2, neighbors, weights,
                                   MPI_INFO_NULL, 0, &ring);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    code = MPI_Neighbor_alltoallv(sent, counts, apart, MPI_INT, &received, counts, in_one_place,
                                  MPI_INT, ring);
    if (code != MPI_SUCCESS && rank == 1) {
        char text[MPI_MAX_ERROR_STRING];
        int length = 0;
        MPI_Error_string(code, text, &length);
        printf("%s\n", text);
    }
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
