/* A halo in a ring whose second rank makes a mistake, and which looks at no status. With an argument errors are
 * returned, or the mistake is made once the user's communicator is gone. */
#include <stdio.h>
#include <string.h>

#include "crossdock/crossdock.h"

int main(int argc, char** argv) {
    const char* how = argc > 1 ? argv[1] : "";
    int rank = 0;
    MPI_Comm ring;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &ring);
    if (strcmp(how, "returned") == 0) MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    const int64_t needed = 1 - rank;
    double item = rank, slot = -1;
    crossdock_context* world;
    crossdock_pattern* pattern;
    crossdock_neighbor_exchange* halo;
    crossdock_context_create(ring, NULL, &world);
    if (strcmp(how, "freed") == 0) MPI_Comm_free(&ring);
    crossdock_pattern_from_needed_range(world, rank, 1, 1, &needed, &pattern);
    crossdock_neighbor_exchange_create(world, pattern, NULL, &halo);
    crossdock_neighbor_exchange_start(halo, &item, &slot, MPI_DOUBLE);
    crossdock_neighbor_exchange_wait(halo);
    MPI_Barrier(MPI_COMM_WORLD);
    const crossdock_status status =
        rank == 1 ? crossdock_neighbor_exchange_wait(halo) : CROSSDOCK_SUCCESS;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) printf("%s, slot %g\n", crossdock_status_name((int)status), slot);
    crossdock_neighbor_exchange_free(halo);
    crossdock_pattern_free(pattern);
    crossdock_context_close(world);
    crossdock_context_free(world);
    MPI_Finalize();
    return 0;
}
