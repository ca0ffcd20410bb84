// Threads have to be asked for when MPI starts: linked into tests that need them.
#include <mpi.h>

extern "C" int MPI_Init(int* argc, char*** argv) {
    int provided = 0;
    return MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
}
