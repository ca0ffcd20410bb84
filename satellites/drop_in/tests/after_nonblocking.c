// MPI_Dist_graph_create after nonblocking collective calls on the same communicator. Open MPI 4.1.4 takes messages of
// the 24th and 25th for edges, and nearly always waits for ever before these graphs are made.
#include <mpi.h>
#include <stdio.h>

enum { fewest_before = 21, most_before = 24, num_graphs = 8 };

int main(int argc, char** argv) {
    int rank, num_ranks, num_faults = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    const int before = (rank + num_ranks - 1) % num_ranks, after = (rank + 1) % num_ranks;
    // Without a callback, the drop-in makes two such calls itself.
    for (int num_before = fewest_before; num_before <= most_before; ++num_before)
        for (int i = 0; i < num_graphs; ++i) {
            MPI_Comm parent, graph;
            MPI_Comm_dup(MPI_COMM_WORLD, &parent);
            for (int call = 0; call < num_before; ++call) {
                MPI_Request request;
                MPI_Ibarrier(parent, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            const int one = 1, weight = 1;
            MPI_Dist_graph_create(parent, 1, &rank, &one, &after, &weight, MPI_INFO_NULL, 0,
                                  &graph);
            int source = -1, destination = -1, weight_in = 0, weight_out = 0;
            MPI_Dist_graph_neighbors(graph, 1, &source, &weight_in, 1, &destination, &weight_out);
            num_faults += source != before || destination != after;
            MPI_Comm_free(&graph);
            MPI_Comm_free(&parent);
        }
    if (num_faults > 0) printf("rank %d: %d graphs have other neighbors\n", rank, num_faults);
    MPI_Finalize();
    return num_faults > 0;
}
