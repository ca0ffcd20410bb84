/* MPI_DATATYPE_NULL as the datatype of empty blocks: what MPI says of it is said in each call, before a plan is there and
 * afterwards. Where only the last rank has such a block (argument `alone`, with a route), the others get what they are
 * to get; MPI's own function would wait for ever. */
#include <mpi.h>
#ifdef CROSSDOCK_HAS_MPI_EXTENSIONS
#include <mpi-ext.h>
#define MPI_Neighbor_alltoallw_init MPIX_Neighbor_alltoallw_init
#endif

#include "expecting.h"

static int class_of(int code) {
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char** argv) {
    int num_ranks, call, sent, got, expected;
    const int weights[2] = {1, 1}, counts[2] = {1, 0}, none[1] = {0};
    const MPI_Aint places[2] = {0, 0};
    MPI_Datatype types[2] = {MPI_INT, MPI_DATATYPE_NULL};
    MPI_Comm graph, self;
    MPI_Errhandler telling;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    expected =
        class_of(PMPI_Alltoallw(&sent, none, none, &types[1], &got, none, none, &types[1], self));
    if (argc > 1 && rank < num_ranks - 1) {
        types[1] = MPI_INT;
        expected = MPI_SUCCESS;
    }
    const int from[2] = {(rank + 1) % num_ranks, rank};
    const int to[2] = {(rank + num_ranks - 1) % num_ranks, rank};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, weights, 2, to, weights, MPI_INFO_NULL,
                                   0, &graph);
    MPI_Comm_create_errhandler(tell, &telling);
    MPI_Comm_set_errhandler(graph, telling);
    for (call = 0; call < 20; ++call) {
        const int blocks = call % 3 < 2;
        MPI_Request request = MPI_REQUEST_NULL;
        int class;
        sent = 100 * call + rank;
        got = -1;
        if (blocks)
            class = class_of(MPI_Neighbor_alltoallw(&sent, counts, places, types, &got, counts,
                                                    places, types, graph));
        else
            class = class_of(MPI_Ineighbor_alltoallw(&sent, counts, places, types, &got, counts,
                                                     places, types, graph, &request));
        expect("class of the error", call, expected, class);
        expect("times that the handler was told", call, expected != MPI_SUCCESS, num_told);
        num_told = 0;
        if (class == MPI_SUCCESS && !blocks) MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (class == MPI_SUCCESS)
            expect("what came", call, 100 * call + (rank + 1) % num_ranks, got);
    }
#if defined(CROSSDOCK_HAS_NEIGHBOR_INIT) || defined(CROSSDOCK_HAS_MPI_EXTENSIONS)
    MPI_Request request = MPI_REQUEST_NULL;
    expect("class of the error", call, expected,
           class_of(MPI_Neighbor_alltoallw_init(&sent, counts, places, types, &got, counts, places,
                                                types, graph, MPI_INFO_NULL, &request)));
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
#endif
    MPI_Errhandler_free(&telling);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&self);
    MPI_Allreduce(MPI_IN_PLACE, &num_faults, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return num_faults > 0;
}
