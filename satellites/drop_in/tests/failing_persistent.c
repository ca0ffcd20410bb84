/* Persistent exchanges that fail, whatever function completes them: run with CROSSDOCK_VERIFY. Both neighbors' values go to
 * one place, which MPI forbids; what comes differs from what MPI brings unless the values are equal. The handle may be
 * null afterwards (Open MPI frees what has failed), and MPI's next request then has it. */
#include <mpi.h>
#ifdef CROSSDOCK_HAS_MPI_EXTENSIONS
#include <mpi-ext.h>
#define MPI_Neighbor_alltoallv_init MPIX_Neighbor_alltoallv_init
#endif

#include "expecting.h"

enum { wait, waitall, waitany, waitsome, test, testall, testany, testsome, num_functions };

static void complete(int how, MPI_Request* request) {
    MPI_Status status;
    int index, number = 0, flag = 0, code = MPI_SUCCESS, class = MPI_SUCCESS, is_bad = num_told;
    status.MPI_ERROR = MPI_SUCCESS;
    while (!flag && code == MPI_SUCCESS) {
        flag = 1;
        switch (how) {
            case wait: code = MPI_Wait(request, &status); break;
            case waitall: code = MPI_Waitall(1, request, &status); break;
            case waitany: code = MPI_Waitany(1, request, &index, &status); break;
            case waitsome: code = MPI_Waitsome(1, request, &number, &index, &status); break;
            case test: code = MPI_Test(request, &flag, &status); break;
            case testall: code = MPI_Testall(1, request, &flag, &status); break;
            case testany: code = MPI_Testany(1, request, &index, &flag, &status); break;
            default: code = MPI_Testsome(1, request, &number, &index, &status); flag = number != 0;
        }
    }
    is_bad = num_told > is_bad;
    expect("an error", how, is_bad, code != MPI_SUCCESS);
    if (how != wait && how != waitall) return;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    expect("class of the error", how,
           !is_bad          ? MPI_SUCCESS
           : how == waitall ? MPI_ERR_IN_STATUS
                            : MPI_ERR_OTHER,
           class);
    if (how == wait || !is_bad) return;
    MPI_Error_class(status.MPI_ERROR, &class);
    expect("class of the error in the status", how, MPI_ERR_OTHER, class);
}

int main(int argc, char** argv) {
    int num_ranks, how, repetition, neighbors[2], weights[2] = {1, 1}, sent[2], got = 0;
    int counts[2] = {1, 1}, apart[2] = {0, 1}, in_one_place[2] = {0, 0};
    MPI_Errhandler telling;
    MPI_Comm ring;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    neighbors[0] = (rank + 1) % num_ranks;
    neighbors[1] = (rank + num_ranks - 1) % num_ranks;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbors, weights, 2, neighbors, weights,
                                   MPI_INFO_NULL, 0, &ring);
    MPI_Comm_create_errhandler(tell, &telling);
    MPI_Comm_set_errhandler(ring, telling);
    for (how = 0; how < num_functions; ++how) {
        MPI_Request request, message;
        int from_itself = -1;
        MPI_Neighbor_alltoallv_init(sent, counts, apart, MPI_INT, &got, counts, in_one_place,
                                    MPI_INT, ring, MPI_INFO_NULL, &request);
        for (repetition = 0; repetition < 3 && request != MPI_REQUEST_NULL; ++repetition) {
            const int is_bad = repetition == 1;
            num_told = 0;
            sent[0] = sent[1] = is_bad ? rank : 7;
            MPI_Start(&request);
            complete(how, &request);
            expect("times that the handler was told", how, is_bad, num_told);
            if (!is_bad) expect("what came", how, 7, got);
        }
        /* A request that may have the handle of the one that failed. */
        MPI_Recv_init(&from_itself, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &message);
        got = -1;
        MPI_Start(&message);
        MPI_Send(&rank, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
        expect("the next request's code", how, MPI_SUCCESS, MPI_Wait(&message, MPI_STATUS_IGNORE));
        expect("what the next request brought", how, rank, from_itself);
        expect("the old request's values afterwards", how, -1, got);
        MPI_Request_free(&message);
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    MPI_Errhandler_free(&telling);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return num_faults > 0;
}
