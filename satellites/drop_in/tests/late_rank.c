/* The last rank comes to a call only when rank 0's own has timed out: run with CROSSDOCK_WATCHDOG=SECONDS:throw. That
 * exchange then completes in the background, the next one is as ever, and MPI_Finalize ends. */
#include <mpi.h>
#include <string.h>

#include "expecting.h"

int main(int argc, char** argv) {
    const int counts[2] = {1, 1}, places[2] = {0, 1};
    int num_ranks, length, sent[2], received[2];
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm ring;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    const int last = num_ranks - 1;
    const int neighbors[2] = {(rank + last) % num_ranks, (rank + 1) % num_ranks};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbors, counts, 2, neighbors, counts,
                                   MPI_INFO_NULL, 0, &ring);
    MPI_Comm_create_errhandler(tell, &handler);
    MPI_Comm_set_errhandler(ring, handler);
    MPI_Errhandler_free(&handler);
    for (int call = 0; call < 4; ++call) {
        const int is_late = call == 2;
        if (is_late && rank == last)
            MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sent[0] = sent[1] = 10 * call + rank;
        const int code = MPI_Neighbor_alltoallv(sent, counts, places, MPI_INT, received, counts,
                                                places, MPI_INT, ring);
        if (is_late) {
            if (rank == 0) {
                MPI_Error_string(code, text, &length);
                expect("errors told", call, 1, num_told);
                expect("a timeout that says what is awaited", call, 1,
                       strstr(text, "rank 0 of ") != NULL && strstr(text, " has waited ") != NULL);
                MPI_Send(NULL, 0, MPI_INT, last, 0, MPI_COMM_WORLD);
            }
            MPI_Barrier(MPI_COMM_WORLD);
            continue;
        }
        expect("success", call, MPI_SUCCESS, code);
        for (int i = 0; i < 2; ++i) expect("received", call, 10 * call + neighbors[i], received[i]);
    }
    MPI_Comm_free(&ring);
    MPI_Allreduce(MPI_IN_PLACE, &num_faults, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return num_faults > 0;
}
