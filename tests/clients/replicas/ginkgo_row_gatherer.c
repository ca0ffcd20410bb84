// As Ginkgo's distributed matrices gather rows: sizes by MPI_Alltoall, and then a loop of MPI_Ialltoallv over all
// ranks, with the local part of the product before the wait.
#include <stdlib.h>

#include "boxes.h"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int num_products = argc > 1 ? atoi(argv[1]) : 200;
    const struct boxes all = boxes_of(MPI_COMM_WORLD);
    int rank, num_ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    int* const sizes = calloc(4 * (size_t)num_ranks, sizeof(int));
    int *const send_counts = sizes, *const receive_counts = sizes + num_ranks,
               *const offsets = sizes + 2 * num_ranks;
    for (int k = 0; k < all.num_neighbors; ++k) {
        send_counts[all.ranks[k]] = all.counts[k];
        offsets[all.ranks[k]] = all.offsets[k];
    }
    MPI_Alltoall(send_counts, 1, MPI_INT, receive_counts, 1, MPI_INT, MPI_COMM_WORLD);
    static double x[num_points], y[num_points], sent[most_shared], received[most_shared];
    for (int i = 0; i < num_points; ++i) x[i] = 1.0 / (1 + (rank * 7 + i) % 101);
    for (int product = 0; product < num_products; ++product) {
        MPI_Request request;
        for (int i = 0; i < all.num_shared; ++i) sent[i] = x[all.points[i]];
        MPI_Ialltoallv(sent, send_counts, offsets, MPI_DOUBLE, received, receive_counts, offsets,
                       MPI_DOUBLE, MPI_COMM_WORLD, &request);
        for (int i = 0; i < num_points; ++i)
            y[i] = 0.5 * x[i] +
                   0.25 * (x[(i + 1) % num_points] + x[(i + num_points - 1) % num_points]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < all.num_shared; ++i) y[all.points[i]] += 0.125 * received[i];
        for (int i = 0; i < num_points; ++i) x[i] = y[i] / all.num_copies[i];
    }
    print_values(MPI_COMM_WORLD, x, num_points);
    free(sizes);
    MPI_Finalize();
    return 0;
}
