/* Nonblocking calls that fail, whatever function completes them, alone and among messages: run with a route that does
 * not exist, of which the first call of a communicator tells. The others of an array complete as ever, and the
 * communicator's handler is told once. */
#include <mpi.h>

#include "expecting.h"

enum { wait, waitall, waitall_ignoring, waitany, waitsome, test, testall, testany, testsome };
enum { num_functions = 9, num_requests = 3, failing = 1 };

static int class_of(int code) {
    int found = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &found);
    return found;
}

/* Completes all; classes[i] is that of the error of requests[i]. */
static void complete(int how, MPI_Request requests[], int classes[]) {
    MPI_Status statuses[num_requests];
    int i, code, index, num_done, flag, num_left = num_requests, indices[num_requests];
    for (i = 0; i < num_requests; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
    switch (how) {
        case wait:
            for (i = 0; i < num_requests; ++i)
                classes[i] = class_of(MPI_Wait(&requests[i], &statuses[i]));
            return;
        case test:
            for (i = 0; i < num_requests; ++i) {
                do code = MPI_Test(&requests[i], &flag, &statuses[i]);
                while (code == MPI_SUCCESS && !flag);
                classes[i] = class_of(code);
            }
            return;
        case waitall:
        case testall:
            do {
                flag = 1;
                code = how == waitall ? MPI_Waitall(num_requests, requests, statuses)
                                      : MPI_Testall(num_requests, requests, &flag, statuses);
            } while (code == MPI_SUCCESS && !flag);
            expect("class of what Waitall or Testall returns", how, MPI_ERR_IN_STATUS,
                   class_of(code));
            for (i = 0; i < num_requests; ++i) {
                classes[i] = class_of(statuses[i].MPI_ERROR);
                if (how != testall || requests[i] == MPI_REQUEST_NULL) continue;
                /* MPICH's Testall does not free the others, and says of some that they are pending. */
                code = MPI_Wait(&requests[i], &statuses[i]);
                if (i != failing) classes[i] = class_of(code);
            }
            return;
        case waitall_ignoring:
            code = MPI_Waitall(num_requests, requests, MPI_STATUSES_IGNORE);
            expect("class of what Waitall returns", how, MPI_ERR_IN_STATUS, class_of(code));
            for (i = 0; i < num_requests; ++i) classes[i] = i == failing ? class_of(code) : 0;
            return;
        case waitany:
        case testany:
            while (num_left > 0) {
                index = MPI_UNDEFINED;
                flag = 1;
                code = how == waitany
                           ? MPI_Waitany(num_requests, requests, &index, &statuses[0])
                           : MPI_Testany(num_requests, requests, &index, &flag, &statuses[0]);
                if (index == MPI_UNDEFINED) continue;
                classes[index] = class_of(code);
                --num_left;
            }
            return;
        default:
            while (num_left > 0) {
                num_done = 0;
                code = how == waitsome
                           ? MPI_Waitsome(num_requests, requests, &num_done, indices, statuses)
                           : MPI_Testsome(num_requests, requests, &num_done, indices, statuses);
                for (i = 0; i < num_done; ++i)
                    classes[indices[i]] =
                        code == MPI_SUCCESS ? MPI_SUCCESS : class_of(statuses[i].MPI_ERROR);
                num_left -= num_done;
            }
    }
}

int main(int argc, char** argv) {
    int num_ranks, how, is_told_before, i, flag, next, previous, is_own_code, weight = 1;
    MPI_Errhandler telling;
    MPI_Comm ring, comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    next = (rank + 1) % num_ranks;
    previous = (rank + num_ranks - 1) % num_ranks;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, &weight, 1, &next, &weight,
                                   MPI_INFO_NULL, 0, &ring);
    MPI_Comm_create_errhandler(tell, &telling);
    MPI_Comm_set_errhandler(ring, telling);
    for (how = 0; how < num_functions; ++how) {
        for (is_told_before = 0; is_told_before < 2; ++is_told_before) {
            int sent = rank, got_message = -1, got = -1, classes[num_requests] = {-1, -1, -1};
            MPI_Request requests[num_requests];
            MPI_Comm_dup(ring, &comm);
            num_told = 0;
            MPI_Ineighbor_alltoall(&sent, 1, MPI_INT, &got, 1, MPI_INT, comm, &requests[failing]);
            if (is_told_before)
                while (num_told == 0)
                    MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            MPI_Irecv(&got_message, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(&sent, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[2]);
            complete(how, requests, classes);
            expect("what the message brought", how, previous, got_message);
            expect("times that the handler was told", how, 1, num_told);
            for (i = 0; i < num_requests; ++i) {
                is_own_code = i == failing && how != waitall_ignoring;
                if (is_own_code)
                    expect("an error of the call", how, 1, classes[i] != MPI_SUCCESS);
                else if (i != failing)
                    expect("error of a message", how, MPI_SUCCESS, classes[i]);
                expect("a request is null afterwards", how, 1, requests[i] == MPI_REQUEST_NULL);
            }
            if (how == wait || how == waitall)
                expect("class of the error of the call", how, MPI_ERR_OTHER, classes[failing]);
            MPI_Comm_free(&comm);
        }
    }
    MPI_Errhandler_free(&telling);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return num_faults > 0;
}
