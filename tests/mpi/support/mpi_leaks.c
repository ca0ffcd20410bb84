// Preloaded under LeakSanitizer, which could not tell MPI's own leaks from ours: those of a plugin
// that MPI has unloaded carry no name that lsan.supp could list, and some of MPI_Init and
// MPI_Intercomm_create end in libc.
#include <mpi.h>
#include <sanitizer/lsan_interface.h>

int dlclose(void* handle);

int dlclose(void* handle) {
    (void)handle;
    return 0;
}

int MPI_Init(int* argc, char*** argv) {
    __lsan_disable();
    const int status = PMPI_Init(argc, argv);
    __lsan_enable();
    return status;
}

// As Fortran programs call it, which may leave `ierror` out.
void mpi_init_(MPI_Fint* ierror);
void mpi_init_f08_(MPI_Fint* ierror) __attribute__((alias("mpi_init_")));

void mpi_init_(MPI_Fint* ierror) {
    const int status = MPI_Init(0, 0);
    if (ierror) *ierror = status;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    __lsan_disable();
    const int status = PMPI_Init_thread(argc, argv, required, provided);
    __lsan_enable();
    return status;
}

void mpi_init_thread_(const MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror);
void mpi_init_thread_f08_(const MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror)
    __attribute__((alias("mpi_init_thread_")));

void mpi_init_thread_(const MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror) {
    const int status = MPI_Init_thread(0, 0, *required, provided);
    if (ierror) *ierror = status;
}

int MPI_Intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader,
                         int tag, MPI_Comm* made) {
    __lsan_disable();
    const int status = PMPI_Intercomm_create(local, local_leader, peer, remote_leader, tag, made);
    __lsan_enable();
    return status;
}
