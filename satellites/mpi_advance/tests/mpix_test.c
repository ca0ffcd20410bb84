/* The functions of mpix.h, called from C as a program of the study calls them. Prints what is wrong and
 * fails on all ranks if anything is on one. */
#include "crossdock/mpix.h"

#include "expecting.h"

enum { MOST = 64, UNTOUCHED = -77 };

static int last;

/* One rank's messages; the values of each say who sends to whom and which they are. Everyone sends to
 * rank 0 and to itself, and rank r to rank r + 2. */
typedef struct messages {
    int num, size;
    int peers[MOST], counts[MOST], displacements[MOST], values[MOST];
} messages;

static int sends(int source, int destination) {
    return destination == 0 || destination == source || destination == source + 2;
}

static void add(messages* list, int peer, int source, int destination, int count) {
    list->peers[list->num] = peer;
    list->counts[list->num] = count;
    list->displacements[list->num] = list->size;
    ++list->num;
    for (int k = 0; k < count; ++k)
        list->values[list->size++] = 100 * source + 10 * destination + k;
}

static int any_count(int source, int destination) { return (source + destination) % 3; }

/* What this rank sends (or receives), `count` values a message or, if that is -1, any number. */
static messages sent(int count) {
    messages list = {0};
    for (int other = 0; other < num_ranks; ++other)
        if (sends(rank, other))
            add(&list, other, rank, other, count < 0 ? any_count(rank, other) : count);
    return list;
}

static messages expected(int count) {
    messages list = {0};
    for (int other = 0; other < num_ranks; ++other)
        if (sends(other, rank))
            add(&list, other, other, rank, count < 0 ? any_count(other, rank) : count);
    return list;
}

static messages untouched(int num, int size) {
    messages list;
    for (int i = 0; i < MOST; ++i)
        list.peers[i] = list.counts[i] = list.displacements[i] = list.values[i] = UNTOUCHED;
    list.num = num;
    list.size = size;
    return list;
}

static int is_untouched(const messages* list) {
    const messages fresh = untouched(0, 0);
    return are_equal(list->peers, fresh.peers, MOST) &&
           are_equal(list->counts, fresh.counts, MOST) &&
           are_equal(list->displacements, fresh.displacements, MOST) &&
           are_equal(list->values, fresh.values, MOST);
}

static int alltoall_crs(messages* to_send, int count, messages* got, MPIX_Info* xinfo,
                        MPIX_Comm* xcomm) {
    return MPIX_Alltoall_crs(to_send->num, to_send->peers, count, MPI_INT, to_send->values,
                             &got->num, got->peers, count, MPI_INT, got->values, xinfo, xcomm);
}

static int alltoallv_crs(messages* to_send, messages* got, MPIX_Info* xinfo, MPIX_Comm* xcomm) {
    return MPIX_Alltoallv_crs(to_send->num, to_send->size, to_send->peers, to_send->counts,
                              to_send->displacements, MPI_INT, to_send->values, &got->num,
                              &got->size, got->peers, got->counts, got->displacements, MPI_INT,
                              got->values, xinfo, xcomm);
}

/* With the sizes known (`num` and `size`) or not (-1). */
static void check_constant(int num, MPIX_Info* xinfo, MPIX_Comm* xcomm) {
    messages out = sent(2), in = expected(2), got = untouched(num, UNTOUCHED);
    EXPECT(alltoall_crs(&out, 2, &got, xinfo, xcomm) == MPI_SUCCESS);
    EXPECT(got.num == in.num);
    EXPECT(are_equal(got.peers, in.peers, in.num));
    EXPECT(are_equal(got.values, in.values, 2 * in.num));
    EXPECT(got.values[2 * in.num] == UNTOUCHED);
}

static void check_variable(int num, int size, MPIX_Info* xinfo, MPIX_Comm* xcomm) {
    messages out = sent(-1), in = expected(-1), got = untouched(num, size);
    EXPECT(alltoallv_crs(&out, &got, xinfo, xcomm) == MPI_SUCCESS);
    EXPECT(got.num == in.num && got.size == in.size);
    EXPECT(are_equal(got.peers, in.peers, in.num));
    EXPECT(are_equal(got.counts, in.counts, in.num));
    EXPECT(are_equal(got.displacements, in.displacements, in.num));
    EXPECT(are_equal(got.values, in.values, in.size));
    EXPECT(got.values[in.size] == UNTOUCHED);
}

static void check_all(MPIX_Info* xinfo, MPIX_Comm* xcomm) {
    const messages in = expected(-1);
    check_constant(-1, xinfo, xcomm);
    check_constant(in.num, xinfo, xcomm);
    check_variable(-1, -1, xinfo, xcomm);
    check_variable(in.num, in.size, xinfo, xcomm);
}

static int are_equal_or_empty(const int* a, const int* b, int length) {
    return length == 0 ? a == NULL : are_equal(a, b, length);
}

static void constant_is_allocated(int num, const MPIX_Info* xinfo, const MPIX_Comm* xcomm) {
    const messages out = sent(2), in = expected(2);
    int* src = NULL;
    void* values = NULL;
    EXPECT(MPIX_Alltoall_crs_alloc(out.num, out.peers, 2, MPI_INT, out.values, &num, &src, 2,
                                   MPI_INT, &values, xinfo, xcomm) == MPI_SUCCESS);
    EXPECT(num == in.num);
    EXPECT(are_equal_or_empty(src, in.peers, in.num));
    EXPECT(are_equal_or_empty(values, in.values, 2 * in.num));
    EXPECT(MPIX_Free(src) == MPI_SUCCESS && MPIX_Free(values) == MPI_SUCCESS);
}

static void the_library_allocates(const MPIX_Info* xinfo, const MPIX_Comm* xcomm) {
    const messages all = sent(-1), any = expected(-1);
    int num = UNTOUCHED, size = UNTOUCHED, *src = NULL, *counts = NULL, *displs = NULL;
    void* values = NULL;
    constant_is_allocated(UNTOUCHED, xinfo, xcomm);
    EXPECT(MPIX_Alltoallv_crs_alloc(all.num, all.size, all.peers, all.counts, all.displacements,
                                    MPI_INT, all.values, &num, &size, &src, &counts, &displs,
                                    MPI_INT, &values, xinfo, xcomm) == MPI_SUCCESS);
    EXPECT(num == any.num && size == any.size);
    EXPECT(are_equal_or_empty(src, any.peers, any.num));
    EXPECT(are_equal_or_empty(counts, any.counts, any.num));
    EXPECT(are_equal(displs, any.displacements, any.num) && displs[any.num] == any.size);
    EXPECT(are_equal_or_empty(values, any.values, any.size));
    MPIX_Free(src);
    MPIX_Free(counts);
    MPIX_Free(displs);
    MPIX_Free(values);
    EXPECT(MPIX_Free(NULL) == MPI_SUCCESS);
}

static void allocated_values_are_of_the_received_datatype(const MPIX_Comm* xcomm) {
    int next = (rank + 1) % num_ranks, previous = (rank + num_ranks - 1) % num_ranks, num = 0;
    const int values[2] = {10 * rank, 10 * rank + 1};
    const int wanted[4] = {10 * previous, 0, 10 * previous + 1, 0};
    int* src = NULL;
    void* came = NULL;
    MPI_Datatype spaced;
    MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    EXPECT(MPIX_Alltoall_crs_alloc(1, &next, 2, MPI_INT, values, &num, &src, 2, spaced, &came, NULL,
                                   xcomm) == MPI_SUCCESS);
    EXPECT(num == 1 && src[0] == previous && are_equal(came, wanted, 3));
    MPIX_Free(src);
    MPIX_Free(came);
    MPI_Type_free(&spaced);
}

static void allocating_is_refused_on_all_ranks(const MPIX_Comm* xcomm) {
    const messages out = sent(2);
    const int is_last = rank == last;
    int num = UNTOUCHED, size = UNTOUCHED, *src = NULL, *counts = NULL, *displs = NULL;
    void* values = NULL;
    EXPECT(MPIX_Alltoall_crs_alloc(out.num, out.peers, 2, MPI_INT, out.values, &num,
                                   is_last ? NULL : &src, 2, MPI_INT, &values, NULL,
                                   xcomm) == MPI_ERR_BUFFER);
    EXPECT(MPIX_Alltoall_crs_alloc(out.num, out.peers, is_last ? -1 : 2, MPI_INT, out.values, &num,
                                   &src, 2, MPI_INT, &values, NULL, xcomm) == MPI_ERR_COUNT);
    EXPECT(MPIX_Alltoallv_crs_alloc(out.num, out.size, out.peers, out.counts, NULL, MPI_INT,
                                    out.values, &num, &size, &src, &counts,
                                    is_last ? NULL : &displs, MPI_INT, &values, NULL,
                                    xcomm) == MPI_ERR_BUFFER);
    EXPECT(MPIX_Alltoall_crs_alloc(out.num, out.peers, 2, MPI_INT, out.values, &num, &src, 2,
                                   MPI_INT, &values, NULL, NULL) == MPI_ERR_ARG);
    EXPECT(num == UNTOUCHED && size == UNTOUCHED);
    EXPECT(src == NULL && counts == NULL && displs == NULL && values == NULL);
}

/* Objects of crossdock.h give those of mpix.h, and the other way round. */
static void objects_convert(MPIX_Comm* xcomm) {
    crossdock_context* context = NULL;
    MPIX_Comm* again = NULL;
    MPIX_Info* xinfo = NULL;
    crossdock_exchange_options options = CROSSDOCK_EXCHANGE_OPTIONS_INIT;
    int size = 0;

    EXPECT(MPIX_Comm_get_context(xcomm, &context) == MPI_SUCCESS);
    EXPECT(crossdock_context_num_ranks(context, &size) == CROSSDOCK_SUCCESS && size == num_ranks);
    EXPECT(MPIX_Comm_from_context(&again, context) == MPI_SUCCESS);
    EXPECT(crossdock_context_free(context) == CROSSDOCK_SUCCESS);
    check_all(NULL, again);

    options.algorithm = "routed:direct";
    options.num_sources = expected(2).num;
    EXPECT(MPIX_Info_from_options(&xinfo, &options) == MPI_SUCCESS);
    check_constant(-1, xinfo, again);
    options.num_sources = 77;
    EXPECT(MPIX_Info_get_options(xinfo, &options) == MPI_SUCCESS);
    EXPECT(strcmp(options.algorithm, "routed:direct") == 0);
    EXPECT(options.num_sources == expected(2).num && options.order == CROSSDOCK_BY_SOURCE);
    EXPECT(options.max_forwarded_bytes == -1 && options.sent == NULL);
    /* A program that knows fewer fields keeps what lies behind them. */
    options.size = offsetof(crossdock_exchange_options, num_sources);
    options.num_sources = 77;
    options.algorithm = NULL;
    EXPECT(MPIX_Info_get_options(xinfo, &options) == MPI_SUCCESS);
    EXPECT(strcmp(options.algorithm, "routed:direct") == 0 && options.num_sources == 77);
    EXPECT(options.size == offsetof(crossdock_exchange_options, num_sources));
    options.size = 0;
    EXPECT(MPIX_Info_get_options(xinfo, &options) == MPI_ERR_ARG && options.size == 0);
    options.size = sizeof options;
    EXPECT(MPIX_Info_free(&xinfo) == MPI_SUCCESS);

    /* The duplicate stays. */
    EXPECT(MPIX_Comm_free(&again) == MPI_SUCCESS);
    EXPECT(again == NULL);
    check_all(NULL, xcomm);

    EXPECT(MPIX_Comm_from_context(&again, NULL) == MPI_ERR_ARG);
    EXPECT(MPIX_Comm_get_context(NULL, &context) == MPI_ERR_ARG);
    options.size = 0;
    EXPECT(MPIX_Info_from_options(&xinfo, &options) == MPI_ERR_ARG);
    EXPECT(MPIX_Info_get_options(NULL, &options) == MPI_ERR_ARG);
    EXPECT(again == NULL && xinfo == NULL);
}

static void every_algorithm_delivers(MPIX_Comm* xcomm) {
    const char* const algorithms[] = {"auto", "reduce_scatter", "locality_rma", "routed:grid:2"};
    check_all(NULL, xcomm);
    MPIX_Info* xinfo = NULL;
    EXPECT(MPIX_Info_init(&xinfo) == MPI_SUCCESS);
    check_all(xinfo, xcomm);
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; ++i) {
        EXPECT(MPIX_Info_set(xinfo, "algorithm", algorithms[i]) == MPI_SUCCESS);
        check_all(xinfo, xcomm);
        the_library_allocates(xinfo, xcomm);
    }
    EXPECT(MPIX_Info_set(xinfo, "algorithm", "rma") == MPI_SUCCESS);
    check_constant(-1, xinfo, xcomm);
    EXPECT(MPIX_Info_set(xinfo, "algorithm", "rma_fence") == MPI_SUCCESS);
    check_constant(-1, xinfo, xcomm);
    messages out = sent(-1), got = untouched(-1, -1);
    EXPECT(alltoallv_crs(&out, &got, xinfo, xcomm) == MPI_ERR_ARG);
    EXPECT(MPIX_Info_free(&xinfo) == MPI_SUCCESS);
    EXPECT(xinfo == NULL);
}

static void a_known_number_takes_the_place_of_counting(MPIX_Comm* xcomm) {
    const char* const algorithms[] = {"auto", "personalized", "reduce_scatter", "nonblocking"};
    const messages in = expected(2), any = expected(-1);
    MPIX_Info* xinfo = NULL;
    EXPECT(MPIX_Info_init(&xinfo) == MPI_SUCCESS);
    EXPECT(MPIX_Info_set(xinfo, "recv_nnz", "known") == MPI_SUCCESS);
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; ++i) {
        EXPECT(MPIX_Info_set(xinfo, "algorithm", algorithms[i]) == MPI_SUCCESS);
        check_constant(in.num, xinfo, xcomm);
        check_variable(any.num, any.size, xinfo, xcomm);
        check_variable(any.num, -1, xinfo, xcomm);
        constant_is_allocated(in.num, xinfo, xcomm);
    }
    EXPECT(MPIX_Info_free(&xinfo) == MPI_SUCCESS);
}

static void a_wrong_number_is_an_error_on_all_ranks(MPIX_Comm* xcomm) {
    const char* const algorithms[] = {"personalized", "reduce_scatter"};
    messages out = sent(2), in = expected(2);
    MPIX_Info* xinfo = NULL;
    EXPECT(MPIX_Info_init(&xinfo) == MPI_SUCCESS);
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; ++i) {
        EXPECT(MPIX_Info_set(xinfo, "algorithm", algorithms[i]) == MPI_SUCCESS);
        EXPECT(MPIX_Info_set(xinfo, "recv_nnz", "known") == MPI_SUCCESS);
        for (int wrong = -1; wrong <= 1; wrong += 2) {
            messages got = untouched(in.num + (rank == last ? wrong : 0), UNTOUCHED);
            EXPECT(alltoall_crs(&out, 2, &got, xinfo, xcomm) == MPI_ERR_COUNT);
            EXPECT(strstr(crossdock_last_error(), "do not add up to the messages") != NULL);
            EXPECT(is_untouched(&got));
            check_constant(in.num, xinfo, xcomm);
        }
        messages got = untouched(rank == last ? -1 : in.num, UNTOUCHED);
        EXPECT(alltoall_crs(&out, 2, &got, xinfo, xcomm) == MPI_ERR_ARG);
        EXPECT(strstr(crossdock_last_error(), "expects -1 messages") != NULL);
        EXPECT(MPIX_Alltoall_crs(out.num, out.peers, 2, MPI_INT, out.values,
                                 rank == last ? NULL : &got.num, got.peers, 2, MPI_INT, got.values,
                                 xinfo, xcomm) == MPI_ERR_BUFFER);
        EXPECT(is_untouched(&got));
        EXPECT(MPIX_Info_set(xinfo, "recv_nnz", "room") == MPI_SUCCESS);
        check_constant(-1, xinfo, xcomm);
    }
    EXPECT(MPIX_Info_set(xinfo, "recv_nnz", "guessed") == MPI_ERR_ARG);
    EXPECT(MPIX_Info_free(&xinfo) == MPI_SUCCESS);
}

static void nothing_at_all_arrives(MPIX_Comm* xcomm) {
    int num = -1, size = -1;
    EXPECT(MPIX_Alltoall_crs(0, NULL, 1, MPI_INT, NULL, &num, NULL, 1, MPI_INT, NULL, NULL,
                             xcomm) == MPI_SUCCESS);
    EXPECT(num == 0);
    num = -1;
    EXPECT(MPIX_Alltoallv_crs(0, 0, NULL, NULL, NULL, MPI_INT, NULL, &num, &size, NULL, NULL, NULL,
                              MPI_INT, NULL, NULL, xcomm) == MPI_SUCCESS);
    EXPECT(num == 0 && size == 0);
}

static void sizes_are_asked_for_without_arrays(MPIX_Comm* xcomm) {
    messages out = sent(2);
    int num = -1, size = -1;
    EXPECT(MPIX_Alltoall_crs(out.num, out.peers, 2, MPI_INT, out.values, &num, NULL, 2, MPI_INT,
                             NULL, NULL, xcomm) == MPI_ERR_TRUNCATE);
    EXPECT(num == expected(2).num);
    check_constant(num, NULL, xcomm);

    out = sent(-1);
    num = -1;
    EXPECT(MPIX_Alltoallv_crs(out.num, out.size, out.peers, out.counts, NULL, MPI_INT, out.values,
                              &num, &size, NULL, NULL, NULL, MPI_INT, NULL, NULL,
                              xcomm) == MPI_ERR_TRUNCATE);
    EXPECT(num == expected(-1).num && size == expected(-1).size);
    check_variable(num, size, NULL, xcomm);
}

static void too_little_room_is_told_to_all(MPIX_Comm* xcomm) {
    messages out = sent(2), in = expected(2), got = untouched(rank == 0 ? in.num - 1 : -1, 0);
    EXPECT(alltoall_crs(&out, 2, &got, NULL, xcomm) == MPI_ERR_TRUNCATE);
    EXPECT(got.num == in.num && is_untouched(&got));
    EXPECT(strstr(crossdock_last_error(), "came to rank 0, which has room for") != NULL);
    EXPECT(alltoall_crs(&out, 2, &got, NULL, xcomm) == MPI_SUCCESS);
    EXPECT(are_equal(got.values, in.values, 2 * in.num));

    out = sent(-1);
    in = expected(-1);
    got = untouched(in.num, rank == last ? 0 : in.size);
    int size_at_last = in.size;
    MPI_Bcast(&size_at_last, 1, MPI_INT, last, MPI_COMM_WORLD);
    const int result = alltoallv_crs(&out, &got, NULL, xcomm);
    EXPECT(result == (size_at_last > 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    EXPECT(got.num == in.num && got.size == in.size);
    EXPECT(result == MPI_SUCCESS || is_untouched(&got));
    check_variable(got.num, got.size, NULL, xcomm);
}

/* What a rank's arguments are to the function under test; the last rank's are spoiled. */
typedef struct arguments {
    messages out, got;
    int *src, *recv_nnz, *recv_size;
    void* recvvals;
    int count, recvcount;
    MPI_Datatype recvtype;
} arguments;

static void prepare(arguments* a, int count) {
    a->out = sent(count);
    a->got = untouched(-1, -1);
    a->src = a->got.peers;
    a->recv_nnz = &a->got.num;
    a->recv_size = &a->got.size;
    a->recvvals = a->got.values;
    a->count = a->recvcount = count;
    a->recvtype = MPI_INT;
}

static void expect_refused(const arguments* a, int result, int error_class, const char* text) {
    EXPECT(result == error_class);
    EXPECT(strstr(crossdock_last_error(), text) != NULL);
    EXPECT(is_untouched(&a->got));
}

static void expect_constant_refused(arguments* a, int error_class, const char* text,
                                    MPIX_Comm* xcomm) {
    const int result =
        MPIX_Alltoall_crs(a->out.num, a->out.peers, a->count, MPI_INT, a->out.values, a->recv_nnz,
                          a->src, a->recvcount, a->recvtype, a->recvvals, NULL, xcomm);
    expect_refused(a, result, error_class, text);
    check_constant(-1, NULL, xcomm);
    prepare(a, 2);
}

static void expect_variable_refused(arguments* a, int error_class, const char* text,
                                    MPIX_Comm* xcomm) {
    const int result = MPIX_Alltoallv_crs(a->out.num, a->out.size, a->out.peers, a->out.counts,
                                          a->out.displacements, MPI_INT, a->out.values, a->recv_nnz,
                                          a->recv_size, a->src, a->got.counts, a->got.displacements,
                                          a->recvtype, a->recvvals, NULL, xcomm);
    expect_refused(a, result, error_class, text);
    check_variable(-1, -1, NULL, xcomm);
    prepare(a, -1);
}

/* What the sentences say of the last rank. */
static const char* of_last(const char* before, const char* after) {
    static char text[128];
    snprintf(text, sizeof text, "%s of rank %d %s", before, last, after);
    return text;
}

static void bad_constant_arguments_of_one_rank_are_errors_on_all(MPIX_Comm* xcomm) {
    const int is_last = rank == last;
    char destination[32];
    snprintf(destination, sizeof destination, "destination %d", num_ranks);
    arguments a;
    prepare(&a, 2);
    if (is_last) a.out.peers[0] = num_ranks;
    expect_constant_refused(&a, MPI_ERR_RANK, of_last(destination, "is outside"), xcomm);
    if (is_last) a.recv_nnz = NULL;
    expect_constant_refused(&a, MPI_ERR_BUFFER, of_last("recv_nnz", "is a null pointer"), xcomm);
    if (is_last) {
        a.src = NULL;
        a.got.num = 3;
    }
    expect_constant_refused(&a, MPI_ERR_BUFFER, of_last("src", "is a null pointer"), xcomm);
    if (is_last) a.out.num = -1;
    expect_constant_refused(&a, MPI_ERR_COUNT, of_last("send_nnz", "is -1"), xcomm);
    if (is_last) a.recvtype = MPI_CHAR;
    expect_constant_refused(&a, MPI_ERR_TYPE, "sends 4 bytes per value, but receives 1", xcomm);
    if (is_last) a.recvcount = 1;
    expect_constant_refused(&a, MPI_ERR_COUNT, "sends 2 values per message, but receives 1", xcomm);
    if (num_ranks == 1) return;
    if (is_last) a.count = a.recvcount = 1;
    expect_constant_refused(&a, MPI_ERR_COUNT,
                            "sends 1 values of 4 bytes per message, rank 0 2 values", xcomm);
}

static void bad_variable_arguments_of_one_rank_are_errors_on_all(MPIX_Comm* xcomm) {
    const int is_last = rank == last;
    arguments a;
    prepare(&a, -1);
    if (is_last) a.out.counts[0] = -8;
    expect_variable_refused(&a, MPI_ERR_COUNT, of_last("sendcounts[0]", "is -8"), xcomm);
    if (is_last) a.recv_size = NULL;
    expect_variable_refused(&a, MPI_ERR_BUFFER, of_last("recv_size", "is a null pointer"), xcomm);
    if (is_last) {
        a.recvvals = NULL;
        a.got.size = 3;
    }
    expect_variable_refused(&a, MPI_ERR_BUFFER, of_last("recvvals", "is a null pointer"), xcomm);
    if (is_last) a.recvtype = MPI_DATATYPE_NULL;
    expect_variable_refused(&a, MPI_ERR_TYPE, "datatype is MPI_DATATYPE_NULL", xcomm);
}

static void values_with_gaps_arrive(MPIX_Comm* xcomm) {
    int next = (rank + 1) % num_ranks, previous = (rank + num_ranks - 1) % num_ranks;
    int values[4] = {10 * rank, -1, 10 * rank + 1, -1};
    int came[4] = {UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED}, src = -1, num = 1;
    MPI_Datatype spaced;
    MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &spaced);
    MPI_Type_commit(&spaced);

    EXPECT(MPIX_Alltoall_crs(1, &next, 2, spaced, values, &num, &src, 2, spaced, came, NULL,
                             xcomm) == MPI_SUCCESS);

    const int wanted[4] = {10 * previous, UNTOUCHED, 10 * previous + 1, UNTOUCHED};
    EXPECT(src == previous && are_equal(came, wanted, 4));
    MPI_Type_free(&spaced);
}

static void regions_are_chosen_by_text(MPIX_Comm* xcomm) {
    char text[16];
    snprintf(text, sizeof text, "%dx1", num_ranks);
    EXPECT(MPIX_Comm_topology(xcomm, text) == MPI_SUCCESS);
    check_all(NULL, xcomm);
    snprintf(text, sizeof text, "%dx1", num_ranks + 1);
    EXPECT(MPIX_Comm_topology(xcomm, text) == MPI_ERR_ARG);
    EXPECT(MPIX_Comm_topology(xcomm, NULL) == MPI_ERR_ARG);
    EXPECT(MPIX_Comm_topology(NULL, "1") == MPI_ERR_ARG);
    check_all(NULL, xcomm);
}

static void bad_objects_are_errors(void) {
    MPIX_Comm* none = NULL;
    MPIX_Info* xinfo = NULL;
    EXPECT(MPIX_Comm_init(&none, MPI_COMM_NULL) == MPI_ERR_ARG);
    EXPECT(MPIX_Comm_init(rank == last ? NULL : &none, MPI_COMM_WORLD) == MPI_ERR_ARG);
    EXPECT(none == NULL);
    EXPECT(MPIX_Comm_free(NULL) == MPI_SUCCESS);
    EXPECT(MPIX_Comm_free(&none) == MPI_SUCCESS);
    EXPECT(MPIX_Info_free(&xinfo) == MPI_SUCCESS);
    EXPECT(MPIX_Info_init(NULL) == MPI_ERR_ARG);
    EXPECT(MPIX_Info_set(NULL, "algorithm", "auto") == MPI_ERR_ARG);
    EXPECT(MPIX_Info_init(&xinfo) == MPI_SUCCESS);
    EXPECT(MPIX_Info_set(xinfo, "algorithm", "pigeon") == MPI_ERR_ARG);
    EXPECT(MPIX_Info_set(xinfo, "color", "auto") == MPI_ERR_ARG);
    EXPECT(strcmp(crossdock_last_error(),
                  "there is no key \"color\"; there are \"algorithm\" and \"recv_nnz\"") == 0);
    EXPECT(MPIX_Info_set(xinfo, "algorithm", NULL) == MPI_ERR_ARG);
    EXPECT(MPIX_Info_free(&xinfo) == MPI_SUCCESS);
    messages out = sent(2), got = untouched(-1, -1);
    EXPECT(alltoall_crs(&out, 2, &got, NULL, NULL) == MPI_ERR_ARG);
}

int main(int argc, char** argv) {
    start_ranks(&argc, &argv);
    last = num_ranks - 1;

    MPIX_Comm* xcomm = NULL;
    EXPECT(MPIX_Comm_init(&xcomm, MPI_COMM_WORLD) == MPI_SUCCESS);
    every_algorithm_delivers(xcomm);
    a_known_number_takes_the_place_of_counting(xcomm);
    a_wrong_number_is_an_error_on_all_ranks(xcomm);
    nothing_at_all_arrives(xcomm);
    sizes_are_asked_for_without_arrays(xcomm);
    too_little_room_is_told_to_all(xcomm);
    bad_constant_arguments_of_one_rank_are_errors_on_all(xcomm);
    bad_variable_arguments_of_one_rank_are_errors_on_all(xcomm);
    values_with_gaps_arrive(xcomm);
    the_library_allocates(NULL, xcomm);
    allocated_values_are_of_the_received_datatype(xcomm);
    allocating_is_refused_on_all_ranks(xcomm);
    objects_convert(xcomm);
    regions_are_chosen_by_text(xcomm);
    bad_objects_are_errors();
    EXPECT(MPIX_Comm_free(&xcomm) == MPI_SUCCESS);
    EXPECT(xcomm == NULL);

    /* What is freed only after MPI_Finalize. */
    MPIX_Info* xinfo = NULL;
    EXPECT(MPIX_Comm_init(&xcomm, MPI_COMM_WORLD) == MPI_SUCCESS);
    EXPECT(MPIX_Info_init(&xinfo) == MPI_SUCCESS);
    const int status = end_ranks();
    EXPECT(MPIX_Comm_free(&xcomm) == MPI_SUCCESS && xcomm == NULL);
    EXPECT(MPIX_Info_free(&xinfo) == MPI_SUCCESS && xinfo == NULL);
    return status != 0 || num_failures != 0;
}
