/* A program as it is written for gslib, but for what its library says of errors. Prints what is wrong and
 * fails on all ranks if anything is on one. */
#include <float.h>

#include "gslib.h"

#ifndef GSLIB_USE_MPI
#error "tests of gslib call MPI_Init only if this is defined"
#endif

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

/* Lengths of messages of the router; rank 1 sends none. */
static int sends(int source) { return source != 1; }
static uint length(int source, int destination) { return (uint)(source + 2 * destination) % 4; }

static uint* put_message(uint* to, uint target, uint num_values, uint first) {
    *to++ = target;
    *to++ = (uint)rank;
    *to++ = num_values;
    for (uint k = 0; k < num_values; ++k) *to++ = first + k;
    return to;
}

static const uint* expect_message(const uint* from, int source, uint num_values, uint first) {
    EXPECT(from[0] == (uint)rank && from[1] == (uint)source && from[2] == num_values);
    for (uint k = 0; k < num_values; ++k) EXPECT(from[3 + k] == first + k);
    return from + 3 + num_values;
}

/* To all ranks from the last one on, and a second message to rank 0. */
static void test_router(struct crystal* cr) {
    uint* end = (uint*)buffer_reserve(&cr->data, 8 * (size_t)(num_ranks + 1) * sizeof(uint));
    for (int other = num_ranks - 1; other >= 0 && sends(rank); --other)
        end = put_message(end, (uint)other, length(rank, other), 100 * (uint)rank);
    if (sends(rank)) end = put_message(end, 0, 1, 7);
    cr->data.n = (size_t)(end - (uint*)cr->data.ptr);

    crystal_router(cr);

    const uint* next = (const uint*)cr->data.ptr;
    for (int source = 0; source < num_ranks; ++source) {
        if (!sends(source)) continue;
        next = expect_message(next, source, length(source, rank), 100 * (uint)source);
        if (rank == 0) next = expect_message(next, source, 1, 7);
    }
    EXPECT(next == (const uint*)cr->data.ptr + cr->data.n);
}

struct particle {
    double value;
    uint proc;
    char name[3];
};

/* Rank r has 2r particles, which go round from rank r on, and home again. */
static void test_transfer(struct crystal* cr) {
    struct array particles;
    array_init(struct particle, &particles, 1);
    for (int i = 0; i < 2 * rank; ++i) {
        const struct particle one = {10 * rank + i, (uint)(rank + i) % (uint)num_ranks, "ab"};
        array_cat(struct particle, &particles, &one, 1);
    }

    sarray_transfer(struct particle, &particles, proc, 1, cr);

    const struct particle* p = (const struct particle*)particles.ptr;
    size_t num_here = 0;
    for (int source = 0; source < num_ranks; ++source)
        for (int i = 0; i < 2 * source; ++i) {
            if ((source + i) % num_ranks != rank) continue;
            EXPECT(num_here < particles.n && p[num_here].value == 10 * source + i);
            EXPECT(p[num_here].proc == (uint)source && strcmp(p[num_here].name, "ab") == 0);
            ++num_here;
        }
    EXPECT(particles.n == num_here);

    sarray_transfer(struct particle, &particles, proc, 0, cr);

    p = (const struct particle*)particles.ptr;
    EXPECT(particles.n == (size_t)(2 * rank));
    num_here = 0;
    for (int from = 0; from < num_ranks; ++from)
        for (int i = 0; i < 2 * rank; ++i) {
            if ((rank + i) % num_ranks != from) continue;
            EXPECT(p[num_here].value == 10 * rank + i && p[num_here].proc == (uint)rank);
            ++num_here;
        }
    array_free(&particles);
}

/* Letters, all to the last rank, whose number stands in every second place. */
static void test_transfer_ext(struct crystal* cr) {
    const uint procs[4] = {(uint)num_ranks - 1, 77, (uint)num_ranks - 1, 77};
    struct array letters = null_array;
    const char own[2] = {(char)('a' + rank), (char)('A' + rank)};
    array_cat(char, &letters, own, 2);

    sarray_transfer_ext(char, &letters, procs, 2 * sizeof(uint), cr);

    EXPECT(letters.n == (rank == num_ranks - 1 ? 2 * (size_t)num_ranks : 0));
    for (size_t i = 0; i < letters.n; ++i)
        EXPECT(((char*)letters.ptr)[i] == (i % 2 ? 'A' : 'a') + (char)(i / 2));
    array_free(&letters);
}

/* Arrays that have room for two records, of which rank 0 gets one of each rank. */
static void test_fixed_arrays(struct crystal* cr) {
    uint procs[2] = {0, 77};
    double values[2] = {rank + 0.5, -1};
    struct array first = {procs, 1, 2}, second = {values, 1, 2};
    struct array* const arrays[2] = {&first, &second};
    const unsigned sizes[2] = {sizeof(uint), sizeof(double)};

    const uint num_came = sarray_transfer_many(arrays, sizes, 2, 1, 0, 1, 0, procs, sizes[0], cr);

    EXPECT(num_came == (rank == 0 ? (uint)num_ranks : 0));
    EXPECT(first.n == (num_came < 2 ? num_came : 2) && second.n == first.n);
    for (size_t i = 0; i < first.n; ++i) EXPECT(procs[i] == i && values[i] == (double)i + 0.5);
    EXPECT(first.n == 2 || values[1] == -1);
}

/* What is wrong on the last rank fails on all, and changes nothing. */
static void test_errors_of_router(struct crystal* cr) {
    const int is_last = rank == num_ranks - 1;
    uint procs[1] = {is_last ? (uint)num_ranks : 0};
    struct array array = {procs, 1, 1};
    sarray_transfer_ext(uint, &array, procs, sizeof(uint), cr);
    EXPECT(array.n == 1 && procs[0] == (is_last ? (uint)num_ranks : 0));
    EXPECT(crossdock_gslib_last_error()[0] != 0);
    sarray_transfer_ext(uint, &array, is_last ? NULL : procs, sizeof(uint), cr);
    EXPECT(array.n == 1);
    sarray_transfer_ext_(&array, 0, procs, sizeof(uint), cr);
    EXPECT(array.n == 1);

    uint* const data = (uint*)buffer_reserve(&cr->data, 4 * sizeof(uint));
    cr->data.n = (size_t)(put_message(data, 0, 1, 7) - data) - (size_t)is_last;
    crystal_router(cr);
    EXPECT(cr->data.n == 4 - (size_t)is_last && data[0] == 0 && data[2] == 1);
    crystal_router(NULL);
    crystal_free(NULL);
}

static void test_crystal(const struct comm* ranks) {
    struct comm passing;
    struct crystal cr;
    comm_dup(&passing, ranks);
    crystal_init(&cr, &passing);
    comm_free(&passing);
    EXPECT(cr.comm.id == (uint)rank && cr.comm.np == (uint)num_ranks);
    test_router(&cr);
    test_transfer(&cr);
    test_transfer_ext(&cr);
    test_fixed_arrays(&cr);
    test_errors_of_router(&cr);
    test_router(&cr);
    crystal_free(&cr);
}

/* Equal records stay in their order. */
static void test_sort(void) {
    struct record {
        double weight;
        unsigned long long id;
        uint part;
        float height;
        int place;
    };
    struct record all[6];
    const uint parts[6] = {2, 0, 2, 1, 0, 2};
    for (int i = 0; i < 6; ++i) {
        const struct record one = {-(double)(i % 3), 1ULL << (40 - i), parts[i],
                                   0.5F * (float)(i / 2), i};
        all[i] = one;
    }
    const int by_part[6] = {1, 4, 3, 0, 2, 5}, by_id[6] = {5, 4, 3, 2, 1, 0},
              by_weight_and_part[6] = {5, 2, 4, 1, 3, 0};
    const int by_height_and_id[6] = {1, 0, 3, 2, 5, 4};
    buffer buf = null_buffer;
    sarray_sort(struct record, all, 6, part, 0, &buf);
    for (int i = 0; i < 6; ++i) EXPECT(all[i].place == by_part[i]);
    sarray_sort(struct record, all, 6, id, 1, &buf);
    for (int i = 0; i < 6; ++i) EXPECT(all[i].place == by_id[i]);
    sarray_sort_2(struct record, all, 6, weight, 3, part, 0, &buf);
    for (int i = 0; i < 6; ++i) EXPECT(all[i].place == by_weight_and_part[i]);
    sarray_sort_2(struct record, all, 6, height, 2, id, 1, &buf);
    for (int i = 0; i < 6; ++i) EXPECT(all[i].place == by_height_and_id[i]);
    sarray_sort(struct record, all, 6, id, 4, &buf);
    EXPECT(all[0].place == 1 && crossdock_gslib_last_error()[0] != 0);
    sarray_sort(struct record, NULL, 0, id, 1, &buf);
}

static void test_reductions(const struct comm* ranks) {
    int most[2] = {rank, -rank}, unused[2];
    comm_allreduce(ranks, gs_int, gs_max, most, 2, unused);
    EXPECT(most[0] == num_ranks - 1 && most[1] == 0);
    const slong counts[2] = {rank + 1, 10};
    slong scan[2][2];
    comm_scan(scan, ranks, gs_slong, gs_add, counts, 2, unused);
    EXPECT(scan[0][0] == rank * (rank + 1) / 2 && scan[0][1] == 10 * rank);
    EXPECT(scan[1][0] == num_ranks * (num_ranks + 1) / 2 && scan[1][1] == 10 * num_ranks);
    const double height = rank + 0.5;
    double heights[2];
    comm_scan(heights, ranks, gs_double, gs_min, &height, 1, unused);
    EXPECT(heights[0] == (rank == 0 ? DBL_MAX : 0.5) && heights[1] == 0.5);
    comm_allreduce(ranks, gs_int, gs_bpr, most, 2, unused);
    EXPECT(most[0] == num_ranks - 1 && crossdock_gslib_last_error()[0] != 0);
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
    test_crystal(&ranks);
    test_sort();
    test_reductions(&ranks);
    /* The handle lives on when its communicator is gone. */
    struct gs_data* data = gs_setup(id, LENGTH, &other, 0, gs_auto, 0);
    comm_free(&other);
    test_operations(data);
    gs_free(data);
    comm_barrier(&ranks);

    /* What is freed only after MPI_Finalize. */
    struct crystal router;
    crystal_init(&router, &ranks);
    data = gs_setup(id, LENGTH, &ranks, 0, gs_auto, 0);
    EXPECT(router.communicator != NULL && data != NULL);

    MPI_Allreduce(MPI_IN_PLACE, &num_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    crystal_free(&router);
    EXPECT(router.communicator == NULL);
    gs_free(data);
    comm_free(&ranks);
    return num_failures != 0;
}
