/* What the programs here share: ranks, and expectations that are counted. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "crossdock/crossdock.h"

static int rank, num_ranks, num_failures;

static void expect(int is_true, int line, const char* what) {
    if (is_true) return;
    ++num_failures;
    fprintf(stderr, "[rank %d] line %d: %s (last error: %s)\n", rank, line, what,
            crossdock_last_error());
}
#define EXPECT(condition) expect(condition, __LINE__, #condition)

static inline int are_equal(const int* a, const int* b, int length) {
    return memcmp(a, b, (size_t)length * sizeof(int)) == 0;
}

static void start_ranks(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
}

/* The program's exit status, the same on all ranks. */
static int end_ranks(void) {
    MPI_Allreduce(MPI_IN_PLACE, &num_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d expectations failed on %d ranks\n", num_failures, num_ranks);
    MPI_Finalize();
    return num_failures != 0;
}
