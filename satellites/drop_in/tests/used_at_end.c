// A program that still uses a communicator with a topology while MPI_Finalize deletes the attributes of MPI_COMM_SELF,
// and whose rank 0 asks for MPI_THREAD_MULTIPLE while the others do not.
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

static int rank_of_launcher(void) {
    const char* const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    for (int i = 0; i < 2; ++i)
        if (getenv(names[i]) != NULL) return atoi(getenv(names[i]));
    return 0;
}

int main(int argc, char** argv) {
    const int periodic = 1;
    int level = 0, rank = 0, num_ranks = 0, key = MPI_KEYVAL_INVALID;
    MPI_Init_thread(&argc, &argv,
                    rank_of_launcher() == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
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
