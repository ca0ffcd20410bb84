/* What programs of wrong calls count: how often the communicator's handler was told, and what was not as expected. */
#include <mpi.h>
#include <stdio.h>

static int num_told, rank, num_faults;

static void tell(MPI_Comm* comm, int* code, ...) {
    (void)comm;
    (void)code;
    ++num_told;
}

static void expect(const char* what, int how, int expected, int got) {
    if (expected == got) return;
    ++num_faults;
    printf("rank %d, function %d: %s: %d expected, got %d\n", rank, how, what, expected, got);
}
