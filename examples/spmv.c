/* y = A x, as spmv.cpp has it: a rank has some rows of A in CSR, with global columns, and the same rows of x.
 * A is the Laplacian of a grid of 24 x 24 points, and x_i = i. Fails unless y and the sum of x are right. */
#include <stdio.h>

#include "crossdock/crossdock.h"

enum { SIDE = 24, NUM_POINTS = SIDE * SIDE };

typedef struct csr_rows {
    int64_t num_rows;
    int64_t starts[NUM_POINTS + 1]; /* row i has the entries starts[i] ... starts[i + 1] - 1 */
    int64_t columns[5 * NUM_POINTS];
    double values[5 * NUM_POINTS];
} csr_rows;

static void check(crossdock_status status) {
    if (status == CROSSDOCK_SUCCESS) return;
    fprintf(stderr, "%s: %s\n", crossdock_status_name((int)status), crossdock_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void add(csr_rows* a, int64_t* k, int64_t column, double value) {
    a->columns[*k] = column;
    a->values[(*k)++] = value;
}

static void make_laplacian(csr_rows* a, int64_t first, int64_t num_rows) {
    int64_t k = 0;
    a->num_rows = num_rows;
    a->starts[0] = 0;
    for (int64_t i = 0; i < num_rows; ++i) {
        const int64_t row = first + i;
        if (row >= SIDE) add(a, &k, row - SIDE, -1);
        if (row % SIDE > 0) add(a, &k, row - 1, -1);
        add(a, &k, row, 4);
        if (row % SIDE < SIDE - 1) add(a, &k, row + 1, -1);
        if (row < NUM_POINTS - SIDE) add(a, &k, row + SIDE, -1);
        a->starts[i + 1] = k;
    }
}

/* The rows that need ghosts, or the others. */
static void multiply(const csr_rows* a, int with_ghosts, const double* x, double* y) {
    for (int64_t row = 0; row < a->num_rows; ++row) {
        int needs_ghosts = 0;
        for (int64_t k = a->starts[row]; k < a->starts[row + 1]; ++k)
            needs_ghosts |= a->columns[k] >= a->num_rows;
        if (needs_ghosts != with_ghosts) continue;
        y[row] = 0;
        for (int64_t k = a->starts[row]; k < a->starts[row + 1]; ++k)
            y[row] += a->values[k] * x[a->columns[k]];
    }
}

static int is_right(const csr_rows* global, const double* y) {
    for (int64_t row = 0; row < global->num_rows; ++row) {
        double expected = 0;
        for (int64_t k = global->starts[row]; k < global->starts[row + 1]; ++k)
            expected += global->values[k] * (double)global->columns[k];
        if (y[row] != expected) return 0;
    }
    return 1;
}

int main(int argc, char** argv) {
    static csr_rows a, global;
    static int64_t ghosts[5 * NUM_POINTS];
    static double x[NUM_POINTS], y[NUM_POINTS]; /* x: own entries, then ghosts */

    MPI_Init(&argc, &argv);
    crossdock_context* world;
    check(crossdock_context_create(MPI_COMM_WORLD, NULL, &world));
    int rank, num_ranks;
    check(crossdock_context_rank(world, &rank));
    check(crossdock_context_num_ranks(world, &num_ranks));
    const int64_t first = (int64_t)NUM_POINTS * rank / num_ranks;
    const int64_t num_rows = (int64_t)NUM_POINTS * (rank + 1) / num_ranks - first;
    make_laplacian(&a, first, num_rows);
    make_laplacian(&global, first, num_rows);

    int64_t num_ghosts;
    check(crossdock_renumber_columns(first, num_rows, a.starts[num_rows], a.columns, a.columns,
                                     ghosts, &num_ghosts));
    crossdock_pattern* pattern;
    check(
        crossdock_pattern_from_needed_range(world, first, num_rows, num_ghosts, ghosts, &pattern));
    crossdock_neighbor_exchange* halo;
    check(crossdock_neighbor_exchange_create(world, pattern, NULL, &halo));

    double sum = 0;
    for (int64_t row = 0; row < num_rows; ++row) x[row] = (double)(first + row);
    check(crossdock_neighbor_exchange_start(halo, x, x + num_rows, MPI_DOUBLE));
    for (int64_t row = 0; row < num_rows; ++row) sum += x[row];
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    multiply(&a, 0, x, y);
    check(crossdock_neighbor_exchange_wait(halo));
    multiply(&a, 1, x, y);

    int all_right = sum == NUM_POINTS * (NUM_POINTS - 1) / 2 && is_right(&global, y);
    MPI_Allreduce(MPI_IN_PLACE, &all_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0) printf("y is %s\n", all_right ? "right" : "WRONG");

    check(crossdock_neighbor_exchange_free(halo));
    check(crossdock_pattern_free(pattern));
    check(crossdock_context_close(world));
    check(crossdock_context_free(world));
    MPI_Finalize();
    return all_right ? 0 : 1;
}
