// Preloaded into programs all of whose neighborhood collectives are to be taken over: MPI's own end them.
#include <stdio.h>
#include <stdlib.h>

#define REFUSE(name)                            \
    int name(void) {                            \
        fprintf(stderr, #name " was called\n"); \
        abort();                                \
    }
#define REFUSE_FORMS(name)              \
    REFUSE(PMPI_Neighbor_##name)        \
    REFUSE(PMPI_Ineighbor_##name)       \
    REFUSE(PMPI_Neighbor_##name##_init) \
    REFUSE(PMPIX_Neighbor_##name##_init)

REFUSE_FORMS(alltoall)
REFUSE_FORMS(alltoallv)
REFUSE_FORMS(alltoallw)
REFUSE_FORMS(allgather)
REFUSE_FORMS(allgatherv)
