// A program that still uses a communicator with a topology while MPI_Finalize deletes the attributes of MPI_COMM_SELF,
// and whose rank 0 asks for MPI_THREAD_MULTIPLE while the others do not, with which MPICH 5.0 hangs when it makes
// windows.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Comm ring;
static int received[2] = {-1, -1};

static int use(MPI_Comm self, int key, void* value, void* state) {
    const int sent[2] = {1, 2};
    (void)self, (void)key, (void)value, (void)state;
    MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, ring);
    return MPI_Comm_free(&ring);
}

static int wanted_level(void) {
#ifdef OPEN_MPI
    const char* const rank = getenv("OMPI_COMM_WORLD_RANK");
    if (rank != NULL && atoi(rank) == 0) return MPI_THREAD_MULTIPLE;
#endif
    return MPI_THREAD_FUNNELED;
}

int main(int argc, char** argv) {
    const int periodic = 1;
    int level = 0, rank = 0, num_ranks = 0, key = MPI_KEYVAL_INVALID;
    MPI_Init_thread(&argc, &argv, wanted_level(), &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    // Before the drop-in sets an attribute of its own: MPI deletes the last one first.
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &num_ranks, &periodic, 0, &ring);
    MPI_Finalize();
    if (received[0] == 2 && received[1] == 1) return 0;
    printf("rank %d: received %d and %d\n", rank, received[0], received[1]);
    return 1;
}
