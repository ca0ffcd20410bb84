// MPI refuses to free MPI_COMM_WORLD and MPI_COMM_SELF. A program that tries may go on to use them.
#include <mpi.h>
#include <stdio.h>

enum { num_calls = 40 };

static int num_faults = 0;

// A block to the next rank alone.
static void exchange(MPI_Comm comm, int num_exchanges) {
    int counts_out[16] = {0}, counts_in[16] = {0}, places[16] = {0};
    int rank = 0, num_ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &num_ranks);
    const int next = (rank + 1) % num_ranks, before = (rank + num_ranks - 1) % num_ranks;
    counts_out[next] = counts_in[before] = 1;
    for (int call = 0; call < num_exchanges; ++call) {
        const int sent = 100 * call + rank;
        int received = -1;
        const int code = MPI_Alltoallv(&sent, counts_out, places, MPI_INT, &received, counts_in,
                                       places, MPI_INT, comm);
        if (code == MPI_SUCCESS && received == 100 * call + before) continue;
        if (num_faults++ == 0) printf("rank %d: code %d, received %d\n", rank, code, received);
    }
}

static void expect_refusal(int code) {
    int kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    if (kind == MPI_ERR_COMM) return;
    ++num_faults;
    printf("code %d\n", code);
}

int main(int argc, char** argv) {
    const MPI_Comm kept[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; ++i) {
        MPI_Comm handle = kept[i];
        exchange(kept[i], num_calls);
        expect_refusal(MPI_Comm_free(&handle));
        exchange(kept[i], num_calls);
#ifdef OPEN_MPI
        // MPICH 5.0 does so with MPI_COMM_SELF.
        handle = kept[i];
        expect_refusal(MPI_Comm_disconnect(&handle));
        exchange(kept[i], num_calls);
#endif
    }
    MPI_Allreduce(MPI_IN_PLACE, &num_faults, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return num_faults > 0;
}
