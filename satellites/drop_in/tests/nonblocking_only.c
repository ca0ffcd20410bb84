// Nonblocking calls with all ranks, without a blocking one before them: they follow a plan from the next blocking
// collective call on their communicator on.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int num_by_mpi = 0;

int PMPI_Ialltoallv(const void* from, const int* sent, const int* sent_at, MPI_Datatype sent_type,
                    void* to, const int* received, const int* received_at,
                    MPI_Datatype received_type, MPI_Comm comm, MPI_Request* request) {
    typedef int function(const void*, const int*, const int*, MPI_Datatype, void*, const int*,
                         const int*, MPI_Datatype, MPI_Comm, MPI_Request*);
    ++num_by_mpi;
    union {
        void* found;
        function* call;
    } own = {dlsym(RTLD_NEXT, "PMPI_Ialltoallv")};
    return own.call(from, sent, sent_at, sent_type, to, received, received_at, received_type, comm,
                    request);
}

enum { most_ranks = 8 };
static int rank, num_ranks;

static int exchange(MPI_Comm comm, int call) {
    int sent[most_ranks], received[most_ranks], counts[most_ranks], places[most_ranks];
    for (int other = 0; other < num_ranks; ++other) {
        sent[other] = 10000 * call + 100 * rank + other;
        received[other] = -1;
        counts[other] = 1;
        places[other] = other;
    }
    MPI_Request request;
    MPI_Ialltoallv(sent, counts, places, MPI_INT, received, counts, places, MPI_INT, comm,
                   &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int num_wrong = 0;
    for (int other = 0; other < num_ranks; ++other)
        num_wrong += received[other] != 10000 * call + 100 * other + rank;
    return num_wrong;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    MPI_Comm one, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    int num_faults = 0;
    for (int call = 0; call < 3; ++call) num_faults += exchange(one, call);
    // No call on this one.
    MPI_Barrier(other);
    num_faults += exchange(one, 3);
    num_faults += num_by_mpi != 4;
    double norm = 1;
    MPI_Allreduce(MPI_IN_PLACE, &norm, 1, MPI_DOUBLE, MPI_SUM, one);
    for (int call = 4; call < 10; ++call) num_faults += exchange(one, call);
    num_faults += num_by_mpi != 4;
    if (num_faults > 0)
        printf("rank %d: %d faults, %d calls by MPI\n", rank, num_faults, num_by_mpi);
    // One that is freed before a blocking call comes.
    num_faults += exchange(other, 10);
    MPI_Comm_free(&other);
    MPI_Comm_free(&one);
    MPI_Finalize();
    return num_faults > 0;
}
