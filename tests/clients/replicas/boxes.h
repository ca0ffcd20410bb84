// Ranks as boxes of points in a grid: each shares faces, edges and corners with up to 26 others.
#pragma once
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum {
    side = 6,
    num_points = side * side * side,
    most_neighbors = 26,
    most_shared = most_neighbors * side * side
};

struct boxes {
    int num_neighbors, ranks[most_neighbors], counts[most_neighbors], offsets[most_neighbors];
    int num_shared, points[most_shared];  // of this rank, by neighbor; both ends list them alike
    int num_copies[num_points];           // how many ranks have a point
};

static int point_at(int x, int y, int z) { return (z * side + y) * side + x; }

static struct boxes boxes_of(MPI_Comm comm) {
    struct boxes all = {0};
    int num_ranks, rank, shape[3] = {0, 0, 0};
    MPI_Comm_size(comm, &num_ranks);
    MPI_Comm_rank(comm, &rank);
    MPI_Dims_create(num_ranks, 3, shape);
    const int mine[] = {rank % shape[0], rank / shape[0] % shape[1], rank / shape[0] / shape[1]};
    for (int i = 0; i < num_points; ++i) all.num_copies[i] = 1;
    for (int step = 0; step < 27; ++step) {
        const int to[] = {step % 3 - 1, step / 3 % 3 - 1, step / 9 - 1};
        int first[3], last[3], is_inside = step != 13;
        for (int d = 0; d < 3; ++d) {
            first[d] = to[d] > 0 ? side - 1 : 0;
            last[d] = to[d] < 0 ? 0 : side - 1;
            is_inside = is_inside && mine[d] + to[d] >= 0 && mine[d] + to[d] < shape[d];
        }
        if (!is_inside) continue;
        const int k = all.num_neighbors++;
        all.ranks[k] =
            ((mine[2] + to[2]) * shape[1] + mine[1] + to[1]) * shape[0] + mine[0] + to[0];
        all.offsets[k] = all.num_shared;
        for (int z = first[2]; z <= last[2]; ++z)
            for (int y = first[1]; y <= last[1]; ++y)
                for (int x = first[0]; x <= last[0]; ++x) {
                    all.points[all.num_shared++] = point_at(x, y, z);
                    ++all.num_copies[point_at(x, y, z)];
                }
        all.counts[k] = all.num_shared - all.offsets[k];
    }
    return all;
}

// All bits of all values, the same in each run.
static void print_values(MPI_Comm comm, const double* values, int count) {
    uint64_t sum = 0, total = 0, bits;
    int rank;
    for (int i = 0; i < count; ++i) {
        memcpy(&bits, values + i, sizeof bits);
        sum = sum * 31 + bits;
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Reduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, 0, comm);
    if (rank == 0) printf("values %016" PRIx64 "\n", total);
}
