/* A library in Fortran that the program loads, as Python loads solvers: names of Open MPI's in Fortran are then no names
 * of the program's. Usage: loading_fortran LIBRARY, with libcrossdock_mpi.so preloaded. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int num_faults = 1;
    void (*complete_messages)(int*);
    MPI_Init(&argc, &argv);
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
    } else {
        *(void**)&complete_messages = dlsym(library, "complete_messages");
        complete_messages(&num_faults);
    }
    MPI_Finalize();
    return num_faults != 0;
}
