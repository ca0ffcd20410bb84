/* Every rank owns OWNED indices. Each needs the very first one and the first two of the next rank, and
 * tells their owners, who do not know who will ask. Fails unless all are asked for as often as needed. */
#include <stdio.h>

#include "crossdock/crossdock.h"

enum { OWNED = 4 };

static void check(crossdock_status status, const char* what) {
    if (status == CROSSDOCK_SUCCESS) return;
    fprintf(stderr, "%s: %s: %s\n", what, crossdock_status_name((int)status),
            crossdock_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Asks for what this rank needs, and counts how often each of its own indices is asked for. */
static void ask(const crossdock_context* world, int rank, int num_ranks, int times_asked[OWNED]) {
    const int next = (rank + 1) % num_ranks;
    const int owners[2] = {0, next};
    const int64_t num_needed[2] = {1, 2};
    const int64_t needed[3] = {0, (int64_t)OWNED * next, (int64_t)OWNED * next + 1};

    int64_t num_questions = 0, num_asked = 0;
    int* askers = NULL;
    int64_t *counts = NULL, *displacements = NULL;
    void* asked = NULL;
    check(crossdock_sparse_exchange_v_alloc(world, 2, 3, owners, num_needed, NULL, MPI_INT64_T,
                                            needed, &num_questions, &num_asked, &askers, &counts,
                                            &displacements, &asked, NULL),
          "exchange");

    for (int64_t q = 0; q < num_questions; ++q) {
        const int64_t* question = (const int64_t*)asked + displacements[q];
        for (int64_t i = 0; i < counts[q]; ++i) {
            printf("rank %d needs index %lld of rank %d\n", askers[q], (long long)question[i],
                   rank);
            ++times_asked[question[i] - (int64_t)OWNED * rank];
        }
    }
    check(crossdock_free(askers), "free the askers");
    check(crossdock_free(counts), "free the counts");
    check(crossdock_free(displacements), "free the displacements");
    check(crossdock_free(asked), "free what was asked");
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, num_ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);

    crossdock_context* world = NULL;
    check(crossdock_context_create(MPI_COMM_WORLD, NULL, &world), "context");
    int times_asked[OWNED] = {0};
    ask(world, rank, num_ranks, times_asked);
    check(crossdock_context_close(world), "close");
    check(crossdock_context_free(world), "free the context");

    const int everyone = rank == 0 ? num_ranks : 0;
    int is_right = times_asked[0] == 1 + everyone && times_asked[1] == 1 && times_asked[2] == 0 &&
                   times_asked[3] == 0;
    MPI_Allreduce(MPI_IN_PLACE, &is_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    MPI_Finalize();
    return is_right ? 0 : 1;
}
