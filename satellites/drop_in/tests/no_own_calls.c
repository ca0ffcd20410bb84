// Preloaded into programs all of whose exchanges between neighbors and all ranks are to be taken over: MPI's own end
// them.
#include <stdio.h>
#include <stdlib.h>

#define REFUSE(name)                            \
    int name(void) {                            \
        fprintf(stderr, #name " was called\n"); \
        abort();                                \
    }
#define REFUSE_FORMS(name, nonblocking_name) \
    REFUSE(PMPI_##name)                      \
    REFUSE(PMPI_##nonblocking_name)          \
    REFUSE(PMPI_##name##_init)               \
    REFUSE(PMPIX_##name##_init)
#define REFUSE_NEIGHBOR(name) REFUSE_FORMS(Neighbor_##name, Ineighbor_##name)

REFUSE_NEIGHBOR(alltoall)
REFUSE_NEIGHBOR(alltoallv)
REFUSE_NEIGHBOR(alltoallw)
REFUSE_NEIGHBOR(allgather)
REFUSE_NEIGHBOR(allgatherv)
REFUSE_FORMS(Alltoall, Ialltoall)
REFUSE_FORMS(Alltoallv, Ialltoallv)
REFUSE_FORMS(Alltoallw, Ialltoallw)
