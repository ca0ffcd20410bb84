/* A program as it is written for gslib, but for what its library says of errors. Prints what is wrong and
 * fails on all ranks if anything is on one. */
#include "gslib.h"

#include <limits.h>
#include <stdio.h>

static int rank, num_ranks, num_failures;

static void expect(int is_true, int line, const char* what) {
    if (is_true) return;
    ++num_failures;
    fprintf(stderr, "[rank %d] line %d: %s (last error: %s)\n", rank, line, what,
            crossdock_gslib_last_error());
}
#define EXPECT(condition) expect(condition, __LINE__, #condition)

/* A chain of elements of two points, one to each rank, and a flagged copy of the first point of all. */
enum { LENGTH = 4 };
static void chain(slong* id) {
    id[0] = rank + 1;
    id[1] = rank + 2;
    id[2] = 0;
    id[3] = rank == 0 ? -1000 : -1;
}

static int has_left(void) { return rank > 0; }
static int has_right(void) { return rank + 1 < num_ranks; }

#define EXPECT_VALUES(v, a, b, c, d) \
    EXPECT((v)[0] == (a) && (v)[1] == (b) && (v)[2] == (c) && (v)[3] == (d))

/* Sums of 1, 2, 3, 4 on every rank. */
static void expect_sums(const double* v, int line, double factor) {
    const double first = (has_left() ? 3 : 1) * factor;
    const double second = (has_right() ? 3 : 2) * factor;
    expect(
        v[0] == first && v[1] == second && v[2] == 3 * factor && v[3] == (rank == 0 ? 0 : factor),
        line, "sums");
}

static void fill(double* v, double factor) {
    for (int i = 0; i < LENGTH; ++i) v[i] = (i + 1) * factor;
}

static void test_operations(struct gs_data* data) {
    double v[LENGTH];
    fill(v, 1);
    gs(v, gs_double, gs_add, 0, data, 0);
    expect_sums(v, __LINE__, 1);

    /* Flagged copies give: 4 of each rank but the first goes to id 1. */
    fill(v, 1);
    gs(v, gs_double, gs_add, 1, data, 0);
    EXPECT_VALUES(v, rank == 0 ? 1 + 4 * (num_ranks - 1) : 3, has_right() ? 3 : 2, 3, 4);

    float f[LENGTH] = {2, 3, 4, 5};
    buffer buf = null_buffer;
    gs(f, gs_float, gs_mul, 0, data, &buf);
    EXPECT_VALUES(f, has_left() ? 6 : 2, has_right() ? 6 : 3, 4, rank == 0 ? 1 : 2);
    buffer_free(&buf);

    int i[LENGTH] = {-7, 7, 0, 1};
    buffer_init(&buf, 1024);
    gs(i, gs_sint, gs_min, 0, data, &buf);
    EXPECT_VALUES(i, -7, has_right() ? -7 : 7, 0, rank == 0 ? INT_MAX : -7);
    buffer_free(&buf);

    slong l[LENGTH] = {-7, 7, 0, 1};
    gs(l, gs_slong, gs_max, 0, data, 0);
    EXPECT_VALUES(l, has_left() ? 7 : -7, 7, 0, rank == 0 ? LLONG_MIN : -7);

    /* In the binary tree 10 and 11 are below 5, and 5 and 6 below 2 and 3. */
    long t[LENGTH] = {10, 11, 6, 6};
    gs(t, gs_long, gs_bpr, 0, data, 0);
    EXPECT_VALUES(t, has_left() ? 5 : 10, has_right() ? 5 : 11, 6, rank == 0 ? 0 : 10);
}

static void test_several_values(struct gs_data* data) {
    double pairs[LENGTH][2], first[LENGTH], second[LENGTH];
    for (int i = 0; i < LENGTH; ++i) {
        pairs[i][0] = i + 1;
        pairs[i][1] = 10 * (i + 1);
    }
    gs_vec(pairs, 2, gs_double, gs_add, 0, data, 0);
    for (int i = 0; i < LENGTH; ++i) {
        first[i] = pairs[i][0];
        second[i] = pairs[i][1];
    }
    expect_sums(first, __LINE__, 1);
    expect_sums(second, __LINE__, 10);

    void* arrays[2] = {first, second};
    fill(first, 1);
    fill(second, 100);
    gs_many(arrays, 2, gs_double, gs_add, 0, data, 0);
    expect_sums(first, __LINE__, 1);
    expect_sums(second, __LINE__, 100);
}

/* Several at a time of one handle, waited for in another order. */
static void test_requests(struct gs_data* data) {
    double v[3][LENGTH];
    for (int round = 0; round < 3; ++round) {
        int request[3];
        for (int k = 0; k < 3; ++k) {
            fill(v[k], k + 1);
            if (k == 0) igs(v[k], gs_double, gs_add, 0, data, 0, &request[k]);
            if (k == 1) igs_vec(v[k], 1, gs_double, gs_add, 0, data, 0, &request[k]);
            void* const arrays[1] = {v[k]};
            if (k == 2) igs_many(arrays, 1, gs_double, gs_add, 0, data, 0, &request[k]);
            EXPECT(request[k] == k);
        }
        for (int k = 0; k < 3; ++k) gs_wait(request[(k + rank) % 3]);
        for (int k = 0; k < 3; ++k) expect_sums(v[k], __LINE__, k + 1);
    }
}

static void test_unique(const struct comm* ranks) {
    slong id[LENGTH] = {5, rank + 6, 5, 0};
    struct gs_data* data = gs_setup(id, LENGTH, ranks, 1, gs_crystal_router, 1);
    double v[LENGTH] = {1, 1, 1, 1};
    v[0] = rank + 8;
    gs(v, gs_double, gs_add, 0, data, 0);
    EXPECT_VALUES(v, 8, 1, 8, 1);
    gs_free(data);
    gs_unique(id, LENGTH, ranks);
    EXPECT_VALUES(id, rank == 0 ? 5 : -5, rank + 6, -5, 0);
}

static void test_errors(const struct comm* ranks, struct gs_data* data) {
    double v[LENGTH];
    slong id[1] = {rank == 0 ? LLONG_MIN : 1};
    EXPECT(gs_setup(id, 1, ranks, 0, gs_auto, 0) == NULL);
    EXPECT(crossdock_gslib_last_error()[0] != 0);
    EXPECT(gs_setup(id, 1, NULL, 0, gs_auto, 0) == NULL);
    EXPECT(gs_setup(NULL, 1, ranks, 0, gs_auto, 0) == NULL);
    fill(v, 1);
    gs(v, gs_double, gs_add, 0, NULL, 0);
    gs(NULL, gs_double, gs_add, 0, data, 0);
    gs(v, gs_dom_n, gs_add, 0, data, 0);
    gs(v, gs_double, gs_op_n, 0, data, 0);
    gs_many(NULL, 0, gs_double, gs_add, 0, data, 0);
    int request = 7;
    igs(v, gs_double, gs_op_n, 0, data, 0, &request);
    EXPECT(request == -1);
    gs_wait(request);
    gs_wait(77);
    EXPECT_VALUES(v, 1, 2, 3, 4);
    gs_free(NULL);
    EXPECT(gs_hf2c(0) == NULL);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    struct comm ranks, other;
    comm_init(&ranks, MPI_COMM_WORLD);
    rank = (int)ranks.id;
    num_ranks = (int)ranks.np;
    comm_dup(&other, &ranks);

    slong id[LENGTH];
    chain(id);
    const gs_method methods[] = {gs_auto, gs_pairwise, gs_crystal_router, gs_all_reduce};
    for (int m = 0; m < 4; ++m) {
        struct gs_data* data = gs_setup(id, LENGTH, m % 2 ? &other : &ranks, 0, methods[m], 1);
        EXPECT(data != NULL);
        test_operations(data);
        test_several_values(data);
        test_requests(data);
        if (m == 0) test_errors(&ranks, data);
        gs_free(data);
    }
    test_unique(&ranks);
    /* The handle lives on when its communicator is gone. */
    struct gs_data* data = gs_setup(id, LENGTH, &other, 0, gs_auto, 0);
    comm_free(&other);
    test_operations(data);
    gs_free(data);
    comm_barrier(&ranks);
    comm_free(&ranks);

    MPI_Allreduce(MPI_IN_PLACE, &num_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return num_failures != 0;
}
