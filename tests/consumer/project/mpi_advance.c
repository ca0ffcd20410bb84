/* What a program for MPI Advance writes, in its older style: fails unless the library links and exchanges. */
#include <mpi_advance.h>

int main(int argc, char** argv) {
    int sent = 7, came = 0, one = 1, zero = 0, self = 0;
    MPIX_Comm* comm = 0;
    MPIX_Request* request = 0;
    MPI_Init(&argc, &argv);
    int result = MPIX_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, &self, &one, 1, &self, &one,
                                                 MPI_INFO_NULL, 0, &comm);
    result |= MPIX_Neighbor_alltoallv_init(&sent, &one, &zero, MPI_INT, &came, &one, &zero, MPI_INT,
                                           comm, MPI_INFO_NULL, &request);
    result |= MPIX_Start(request) | MPIX_Wait(request, MPI_STATUS_IGNORE);
    result |= MPIX_Request_free(request) | MPIX_Comm_free(&comm);
    MPI_Finalize();
    return result == MPI_SUCCESS && came == sent ? 0 : 1;
}
