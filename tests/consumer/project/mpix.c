/* What a program of the study of sparse exchanges writes: fails unless the library links and exchanges. */
#include <crossdock/mpix.h>

int main(int argc, char** argv) {
    int sent = 7, came = 0, self = 0, source = -1, num = 1;
    MPIX_Comm* comm = 0;
    MPI_Init(&argc, &argv);
    int result = MPIX_Comm_init(&comm, MPI_COMM_SELF);
    result |=
        MPIX_Alltoall_crs(1, &self, 1, MPI_INT, &sent, &num, &source, 1, MPI_INT, &came, 0, comm);
    result |= MPIX_Comm_free(&comm);
    MPI_Finalize();
    return result == MPI_SUCCESS && came == sent && source == 0 ? 0 : 1;
}
