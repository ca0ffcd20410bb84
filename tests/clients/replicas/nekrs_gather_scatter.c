// As nekRS sums copies of points on the host: a blocking exchange of bytes, of one field or of three at once.
#include <stdlib.h>

#include "boxes.h"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int num_exchanges = argc > 1 ? atoi(argv[1]) : 200;
    const struct boxes all = boxes_of(MPI_COMM_WORLD);
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, all.num_neighbors, all.ranks, MPI_UNWEIGHTED,
                                   all.num_neighbors, all.ranks, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    static double fields[3][num_points], sent[3 * most_shared], received[3 * most_shared];
    int rank;
    MPI_Comm_rank(graph, &rank);
    for (int f = 0; f < 3; ++f)
        for (int i = 0; i < num_points; ++i)
            fields[f][i] = 1.0 / (1 + (rank * 7 + f * 3 + i) % 101);
    for (int exchange = 0; exchange < num_exchanges; ++exchange) {
        // A velocity, then three times a pressure.
        const int num_fields = exchange % 4 == 0 ? 3 : 1;
        int counts[most_neighbors], offsets[most_neighbors];
        for (int k = 0; k < all.num_neighbors; ++k) {
            counts[k] = all.counts[k] * num_fields * (int)sizeof(double);
            offsets[k] = all.offsets[k] * num_fields * (int)sizeof(double);
        }
        for (int i = 0; i < all.num_shared; ++i)
            for (int f = 0; f < num_fields; ++f)
                sent[i * num_fields + f] = fields[f][all.points[i]];
        MPI_Neighbor_alltoallv(sent, counts, offsets, MPI_UNSIGNED_CHAR, received, counts, offsets,
                               MPI_UNSIGNED_CHAR, graph);
        for (int i = 0; i < all.num_shared; ++i)
            for (int f = 0; f < num_fields; ++f)
                fields[f][all.points[i]] += received[i * num_fields + f];
        for (int f = 0; f < num_fields; ++f)
            for (int i = 0; i < num_points; ++i) fields[f][i] /= all.num_copies[i];
    }
    print_values(MPI_COMM_WORLD, fields[0], 3 * num_points);
    MPI_Comm_free(&graph);
    MPI_Finalize();
    return 0;
}
