/* A program as it is written for MPI Advance, but for what its library says of errors. Prints what is wrong
 * and fails on all ranks if anything is on one. */
#include "locality_aware.h"

#include <unistd.h>

#include "expecting.h"

enum { MOST = 128, ITEMS = 6, UNTOUCHED = -77 };

static int last, is_last;

/* Advice may follow. */
static int error_says(const char* sentence) {
    return strncmp(crossdock_last_error(), sentence, strlen(sentence)) == 0;
}

/* Everyone sends to rank 0, to itself and to the next two ranks: 0 to 3 of its items, the same ones to several. */
static int sends(int source, int destination) {
    return destination == 0 || (destination - source + num_ranks) % num_ranks < 3;
}

static int count_of(int source, int destination) { return (source + 2 * destination) % 4; }
static int item_of(int destination, int k) { return (destination / 2 + k) % ITEMS; }

/* One side of the collective. A place stays free before each message. */
typedef struct side {
    int num, size;
    int ranks[MOST], counts[MOST], displs[MOST], values[MOST];
    long indices[MOST];
} side;

static void add(side* to, int peer, int source, int destination, int scale) {
    to->ranks[to->num] = peer;
    to->counts[to->num] = count_of(source, destination);
    to->displs[to->num] = ++to->size;
    for (int k = 0; k < to->counts[to->num]; ++k) {
        const int item = ITEMS * source + item_of(destination, k);
        to->indices[to->size] = item;
        to->values[to->size++] = scale * item;
    }
    ++to->num;
}

static side sent(int scale) {
    side list = {0};
    for (int k = 0; k < MOST; ++k) list.indices[k] = -1 - k;
    for (int other = 0; other < num_ranks; ++other)
        if (sends(rank, other)) add(&list, other, rank, other, scale);
    return list;
}

static side received(int scale) {
    side list = {0};
    for (int k = 0; k < MOST; ++k) list.values[k] = UNTOUCHED;
    for (int other = 0; other < num_ranks; ++other)
        if (sends(other, rank)) add(&list, other, other, rank, scale);
    return list;
}

static void clear(int* values) {
    for (int k = 0; k < MOST; ++k) values[k] = UNTOUCHED;
}

static MPIL_Comm* with_neighbors(void) {
    const side out = sent(1), in = received(1);
    MPIL_Comm* comm = NULL;
    MPIL_Info* info = NULL;
    EXPECT(MPIL_Info_init(&info) == MPI_SUCCESS);
    EXPECT(MPIL_Dist_graph_create_adjacent(MPI_COMM_WORLD, in.num, in.ranks, MPI_UNWEIGHTED,
                                           out.num, out.ranks, MPI_UNWEIGHTED, info, 0,
                                           &comm) == MPI_SUCCESS);
    EXPECT(MPIL_Info_free(&info) == MPI_SUCCESS && info == NULL);
    return comm;
}

/* Once, with the communicator's neighbors and with others. */
static void exchange_once(MPIL_Comm* neighbors, MPIL_Comm* plain, MPIL_Topo* topo) {
    for (int scale = 1; scale <= 3; ++scale) {
        const side out = sent(scale), in = received(scale);
        int came[MOST];
        clear(came);
        EXPECT(MPIL_Neighbor_alltoallv(out.values, out.counts, out.displs, MPI_INT, came, in.counts,
                                       in.displs, MPI_INT, neighbors) == MPI_SUCCESS);
        EXPECT(are_equal(came, in.values, MOST));
        clear(came);
        EXPECT(MPIL_Neighbor_alltoallv_topo(out.values, out.counts, out.displs, MPI_INT, came,
                                            in.counts, in.displs, MPI_INT, topo,
                                            plain) == MPI_SUCCESS);
        EXPECT(are_equal(came, in.values, MOST));
    }
}

enum { INIT, INIT_TOPO, INIT_EXT, INIT_EXT_TOPO, NUM_FORMS };

static int make(int form, const side* out, const side* in, MPI_Datatype sendtype, int* came,
                MPI_Datatype recvtype, MPIL_Topo* topo, MPIL_Comm* comm, MPIL_Request** request) {
    switch (form) {
        case INIT:
            return MPIL_Neighbor_alltoallv_init(out->values, out->counts, out->displs, sendtype,
                                                came, in->counts, in->displs, recvtype, comm, NULL,
                                                request);
        case INIT_TOPO:
            return MPIL_Neighbor_alltoallv_init_topo(out->values, out->counts, out->displs,
                                                     sendtype, came, in->counts, in->displs,
                                                     recvtype, topo, comm, NULL, request);
        case INIT_EXT:
            return MPIL_Neighbor_alltoallv_init_ext(
                out->values, out->counts, out->displs, out->indices, sendtype, came, in->counts,
                in->displs, in->indices, recvtype, comm, NULL, request);
        default:
            return MPIL_Neighbor_alltoallv_init_ext_topo(
                out->values, out->counts, out->displs, out->indices, sendtype, came, in->counts,
                in->displs, in->indices, recvtype, topo, comm, NULL, request);
    }
}

/* Again and again, in every form. */
static void exchange_repeatedly(MPIL_Comm* neighbors, MPIL_Topo* topo, const char* const* routes) {
    for (int form = 0; form < NUM_FORMS; ++form) {
        side out = sent(1), in = received(1);
        int came[MOST];
        char* text = NULL;
        MPI_Status status;
        MPIL_Request* request = NULL;
        EXPECT(make(form, &out, &in, MPI_INT, came, MPI_INT, topo, neighbors, &request) ==
               MPI_SUCCESS);
        EXPECT(crossdock_explain_request(request, &text) == MPI_SUCCESS);
        if (routes != NULL) EXPECT(strstr(text, routes[form >= INIT_EXT]) != NULL);
        EXPECT(MPIL_Free(text) == MPI_SUCCESS);
        memset(out.counts, 0, sizeof out.counts);
        memset(in.displs, 0, sizeof in.displs);
        for (int scale = 1; scale <= 3; ++scale) {
            const side now = sent(scale), wanted = received(scale);
            memcpy(out.values, now.values, sizeof now.values);
            clear(came);
            EXPECT(MPIL_Start(request) == MPI_SUCCESS);
            EXPECT(MPIL_Wait(request, &status) == MPI_SUCCESS);
            EXPECT(MPIL_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            EXPECT(are_equal(came, wanted.values, MOST));
        }
        EXPECT(MPIL_Request_reorder(request, 1) == MPI_SUCCESS);
        EXPECT(MPIL_Request_free(&request) == MPI_SUCCESS && request == NULL);
    }
}

/* Algorithms that came after 2.0. */
static void newer_algorithms_join_no_messages(MPIL_Comm* neighbors, MPIL_Comm* plain,
                                              MPIL_Topo* topo, const char* const* routes) {
    const enum NeighborAlltoallvInitMethod init[] = {NEIGHBOR_ALLTOALLV_INIT_COLL_A2A,
                                                     NEIGHBOR_ALLTOALLV_INIT_RMA,
                                                     NEIGHBOR_ALLTOALLV_INIT_PSCW};
    EXPECT(MPIL_Set_alltoallv_neighbor_algorithm(NEIGHBOR_ALLTOALLV_COLL_A2A) == MPI_SUCCESS);
    exchange_once(neighbors, plain, topo);
    for (int i = 0; i < 3; ++i) {
        EXPECT(MPIL_Set_alltoallv_neighbor_init_algorithm(init[i]) == MPI_SUCCESS);
        exchange_repeatedly(neighbors, topo, routes);
    }
}

static void every_algorithm_reaches_all_neighbors(MPIL_Comm* neighbors, MPIL_Comm* plain) {
    const char* const standard[] = {": direct,", ": direct+dedup,"};
    const char* const locality[] = {": three_step,", ": three_step+dedup,"};
    MPIL_Topo* topo = NULL;
    EXPECT(MPIL_Topo_from_neighbor_comm(neighbors, &topo) == MPI_SUCCESS);
    for (int ppn = 0; ppn <= 2; ++ppn) {
        if (ppn > 0) EXPECT(MPIL_Comm_update_locality(neighbors, ppn) == MPI_SUCCESS);
        exchange_once(neighbors, plain, topo);
        exchange_repeatedly(neighbors, topo, NULL);
        EXPECT(MPIL_Set_alltoallv_neighbor_alogorithm(NEIGHBOR_ALLTOALLV_STANDARD) == MPI_SUCCESS);
        EXPECT(MPIL_Set_alltoallv_neighbor_init_alogorithm(NEIGHBOR_ALLTOALLV_INIT_STANDARD) ==
               MPI_SUCCESS);
        exchange_once(neighbors, plain, topo);
        exchange_repeatedly(neighbors, topo, standard);
        EXPECT(MPIL_Set_alltoallv_neighbor_algorithm(NEIGHBOR_ALLTOALLV_LOCALITY) == MPI_SUCCESS);
        mpil_neighbor_alltoallv_init_implementation = NEIGHBOR_ALLTOALLV_INIT_LOCALITY;
        exchange_once(neighbors, plain, topo);
        exchange_repeatedly(neighbors, topo, locality);
        if (ppn == 1) newer_algorithms_join_no_messages(neighbors, plain, topo, standard);
        EXPECT(MPIL_Set_alltoallv_neighbor_algorithm(CROSSDOCK_NEIGHBOR_ALLTOALLV_AUTO) ==
               MPI_SUCCESS);
        EXPECT(MPIL_Set_alltoallv_neighbor_init_algorithm(CROSSDOCK_NEIGHBOR_ALLTOALLV_INIT_AUTO) ==
               MPI_SUCCESS);
    }
    EXPECT(MPIL_Topo_free(&topo) == MPI_SUCCESS && topo == NULL);
}

/* More different calls than are kept, of which each comes twice. */
static void exchanges_differ_from_call_to_call(MPIL_Comm* comm) {
    const int next = (rank + 1) % num_ranks, previous = (rank + num_ranks - 1) % num_ranks;
    MPIL_Topo* topo = NULL;
    EXPECT(MPIL_Topo_init(1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, NULL, &topo) ==
           MPI_SUCCESS);
    for (int i = 0; i < 40; ++i) {
        /* Other ranks call with the same numbers again when this one does not. */
        const int count = i % 20 / 2, displ = rank == 0 ? i : 1;
        int values[60], came[60];
        for (int k = 0; k < 60; ++k) values[k] = 100 * rank + k - displ;
        EXPECT(MPIL_Neighbor_alltoallv_topo(values, &count, &displ, MPI_INT, came, &count, &displ,
                                            MPI_INT, topo, comm) == MPI_SUCCESS);
        for (int k = 0; k < count; ++k) EXPECT(came[displ + k] == 100 * previous + k);
    }
    EXPECT(MPIL_Topo_free(&topo) == MPI_SUCCESS);
}

static int num_reductions = 0;

/* Stands between the library and MPI. */
int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
    ++num_reductions;
    return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}

/* The last rank calls with the same numbers each time, and the others with two kinds in turn. */
static void exchanges_are_kept_where_a_rank_is_idle(MPIL_Comm* comm) {
    const int count = 1, displ = 0, num_busy = num_ranks - 1, degree = is_last ? 0 : 1;
    MPIL_Topo* topos[2] = {NULL, NULL};
    for (int i = 0; i < 2; ++i) {
        const int step = i == 0 ? 1 : num_busy - 1;
        const int next = is_last ? 0 : (rank + step) % num_busy;
        const int previous = is_last ? 0 : (rank + num_busy - step) % num_busy;
        EXPECT(MPIL_Topo_init(degree, &previous, MPI_UNWEIGHTED, degree, &next, MPI_UNWEIGHTED,
                              NULL, &topos[i]) == MPI_SUCCESS);
    }
    for (int call = 0; call < 8; ++call) {
        const int step = call % 2 == 0 ? 1 : num_busy - 1;
        int came = UNTOUCHED;
        num_reductions = 0;
        EXPECT(MPIL_Neighbor_alltoallv_topo(&rank, &count, &displ, MPI_INT, &came, &count, &displ,
                                            MPI_INT, topos[call % 2], comm) == MPI_SUCCESS);
        EXPECT(came == (is_last ? UNTOUCHED : (rank + num_busy - step) % num_busy));
        /* Finding a kept exchange takes no other. */
        if (call >= 2) EXPECT(num_reductions == 1);
    }
    for (int i = 0; i < 2; ++i) EXPECT(MPIL_Topo_free(&topos[i]) == MPI_SUCCESS);
}

static void several_requests_are_active_at_once(MPIL_Comm* comm) {
    side out[3], in[3];
    int came[3][MOST];
    MPIL_Request* requests[3];
    for (int i = 0; i < 3; ++i) {
        out[i] = sent(i + 1);
        in[i] = received(i + 1);
        clear(came[i]);
        EXPECT(make(INIT, &out[i], &in[i], MPI_INT, came[i], MPI_INT, NULL, comm, &requests[i]) ==
               MPI_SUCCESS);
    }
    for (int i = 0; i < 3; ++i) EXPECT(MPIL_Start(requests[i]) == MPI_SUCCESS);
    EXPECT(MPIL_Start(requests[0]) == MPI_ERR_OTHER);
    MPIL_Request* active = requests[0];
    EXPECT(MPIL_Request_free(&active) == MPI_ERR_OTHER && active == requests[0]);
    EXPECT(error_says("the request is active"));
    for (int i = 2; i >= 0; --i) {
        EXPECT(MPIL_Wait(requests[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        EXPECT(are_equal(came[i], in[i].values, MOST));
        EXPECT(MPIL_Request_free(&requests[i]) == MPI_SUCCESS);
    }
}

static void datatypes_may_have_gaps_and_be_freed(MPIL_Comm* comm) {
    const side out = sent(1), in = received(1);
    int came[2 * MOST], wanted[2 * MOST];
    for (int k = 0; k < 2 * MOST; ++k) came[k] = wanted[k] = UNTOUCHED;
    for (int k = 0; k < MOST; ++k) wanted[2 * k] = in.values[k];
    MPI_Datatype spaced;
    MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    MPIL_Request* request = NULL;
    EXPECT(make(INIT, &out, &in, MPI_INT, came, spaced, NULL, comm, &request) == MPI_SUCCESS);
    MPI_Type_free(&spaced);
    EXPECT(MPIL_Start(request) == MPI_SUCCESS);
    EXPECT(MPIL_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    EXPECT(are_equal(came, wanted, 2 * MOST));
    EXPECT(MPIL_Request_free(&request) == MPI_SUCCESS);
    /* A request that comes when the communicator has gone is freed nevertheless. */
    MPIL_Comm* short_lived = with_neighbors();
    EXPECT(make(INIT, &out, &in, MPI_INT, came, MPI_INT, NULL, short_lived, &request) ==
           MPI_SUCCESS);
    EXPECT(MPIL_Comm_free(&short_lived) == MPI_SUCCESS && short_lived == NULL);
    EXPECT(MPIL_Request_free(&request) == MPI_SUCCESS);
}

static void nobody_need_have_neighbors(void) {
    MPIL_Comm* comm = NULL;
    MPIL_Request* request = NULL;
    EXPECT(MPIL_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, NULL, 0, NULL, NULL, NULL, 0,
                                           &comm) == MPI_SUCCESS);
    EXPECT(MPIL_Neighbor_alltoallv(NULL, NULL, NULL, MPI_INT, NULL, NULL, NULL, MPI_INT, comm) ==
           MPI_SUCCESS);
    EXPECT(MPIL_Neighbor_alltoallv_init_ext(NULL, NULL, NULL, NULL, MPI_INT, NULL, NULL, NULL, NULL,
                                            MPI_INT, comm, NULL, &request) == MPI_SUCCESS);
    EXPECT(MPIL_Start(request) == MPI_SUCCESS);
    EXPECT(MPIL_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    EXPECT(MPIL_Request_free(&request) == MPI_SUCCESS);
    EXPECT(MPIL_Comm_free(&comm) == MPI_SUCCESS);
}

static void messages_reach_who_does_not_expect_them(MPIL_Comm* comm) {
    const side out = sent(1);
    for (int method = 0; method <= CROSSDOCK_ALLTOALL_CRS_AUTO; ++method) {
        const int values[2] = {10 * rank, 10 * rank + 1};
        const int next = (rank + 1) % num_ranks, previous = (rank + num_ranks - 1) % num_ranks;
        int num = -1, *src = NULL;
        void* came = NULL;
        EXPECT(MPIL_Set_alltoall_crs((enum AlltoallCRSMethod)method) == MPI_SUCCESS);
        EXPECT(MPIL_Alltoall_crs(1, &next, 2, MPI_INT, values, &num, &src, 2, MPI_INT, &came, NULL,
                                 comm) == MPI_SUCCESS);
        EXPECT(num == 1 && src[0] == previous);
        EXPECT(((int*)came)[0] == 10 * previous && ((int*)came)[1] == 10 * previous + 1);
        EXPECT(MPIL_Free(src) == MPI_SUCCESS && MPIL_Free(came) == MPI_SUCCESS);
    }
    for (int method = 0; method <= CROSSDOCK_ALLTOALLV_CRS_AUTO; ++method) {
        const side in = received(1);
        int num = -1, size = -1, *src = NULL, *counts = NULL, *displs = NULL, num_values = 0;
        void* came = NULL;
        EXPECT(MPIL_Set_alltoallv_crs((enum AlltoallvCRSMethod)method) == MPI_SUCCESS);
        EXPECT(MPIL_Alltoallv_crs(out.num, out.size, out.ranks, out.counts, out.displs, MPI_INT,
                                  out.values, &num, &size, &src, &counts, &displs, MPI_INT, &came,
                                  NULL, comm) == MPI_SUCCESS);
        EXPECT(num == in.num && are_equal(src, in.ranks, num) && are_equal(counts, in.counts, num));
        for (int i = 0; i < num; ++i) {
            EXPECT(displs[i] == num_values);
            EXPECT(counts[i] == 0 ||
                   are_equal((int*)came + displs[i], in.values + in.displs[i], counts[i]));
            num_values += counts[i];
        }
        EXPECT(size == num_values && displs[num] == num_values);
        MPIL_Free(src);
        MPIL_Free(counts);
        MPIL_Free(displs);
        MPIL_Free(came);
    }
}

static void all_ranks_exchange_with_all(MPIL_Comm* comm) {
    int values[MOST], came[MOST], counts[MOST], displs[MOST];
    for (int other = 0; other < num_ranks; ++other) {
        values[other] = 100 * rank + other;
        counts[other] = 1;
        displs[other] = num_ranks - 1 - other;
    }
    EXPECT(MPIL_Set_alltoall_algorithm(ALLTOALL_HIERARCHICAL_PAIRWISE) == MPI_SUCCESS);
    EXPECT(MPIL_Alltoall(values, 1, MPI_INT, came, 1, MPI_INT, comm) == MPI_SUCCESS);
    for (int other = 0; other < num_ranks; ++other) EXPECT(came[other] == 100 * other + rank);
    EXPECT(MPIL_Set_alltoallv_algorithm(ALLTOALLV_BATCH) == MPI_SUCCESS);
    EXPECT(MPIL_Alltoallv(values, counts, displs, MPI_INT, came, counts, displs, MPI_INT, comm) ==
           MPI_SUCCESS);
    for (int other = 0; other < num_ranks; ++other)
        EXPECT(came[displs[other]] == 100 * other + num_ranks - 1 - rank);
}

/* A second MPIL_Init replaces the world, here by one with the ranks in reverse order. */
static void the_world_is_there_from_init_to_finalize(void) {
    MPI_Comm reversed;
    int ranks[MOST], came[MOST];
    for (int i = 0; i < num_ranks; ++i) ranks[i] = rank;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    EXPECT(MPIL_COMM_WORLD == NULL && MPIL_Finalize() == MPI_SUCCESS);
    EXPECT(MPIL_Init(MPI_COMM_NULL) == MPI_SUCCESS && MPIL_COMM_WORLD != NULL);
    messages_reach_who_does_not_expect_them(MPIL_COMM_WORLD);
    EXPECT(MPIL_Init(reversed) == MPI_SUCCESS && MPIL_COMM_WORLD != NULL);
    MPI_Comm_free(&reversed);
    EXPECT(MPIL_Alltoall(ranks, 1, MPI_INT, came, 1, MPI_INT, MPIL_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < num_ranks; ++i) EXPECT(came[i] == num_ranks - 1 - i);
    EXPECT(MPIL_Finalize() == MPI_SUCCESS && MPIL_COMM_WORLD == NULL);
}

static void what_prepares_does_nothing(MPIL_Comm* comm) {
    int tag = -1, first = -1, window[2] = {7, 8};
    MPIL_Request* request = NULL;
    MPIL_Topo* topo = NULL;
    EXPECT(MPIL_Topo_init(0, NULL, NULL, 0, NULL, NULL, NULL, &topo) == MPI_SUCCESS);
    EXPECT(MPIL_Neighbor_alltoallv_init_topo(NULL, NULL, NULL, MPI_INT, NULL, NULL, NULL, MPI_INT,
                                             topo, comm, NULL, &request) == MPI_SUCCESS);
    EXPECT(MPIL_Request_win_init(request, window, sizeof window, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    EXPECT(MPIL_Request_win_free(request) == MPI_SUCCESS && window[0] == 7 && window[1] == 8);
    EXPECT(MPIL_Request_win_free(NULL) == MPI_ERR_ARG);
    EXPECT(MPIL_Request_free(&request) == MPI_SUCCESS && MPIL_Topo_free(&topo) == MPI_SUCCESS);
    EXPECT(MPIL_Comm_topo_init(comm) == MPI_SUCCESS && MPIL_Comm_topo_free(comm) == MPI_SUCCESS);
    EXPECT(MPIL_Comm_leader_init(comm, 2) == MPI_SUCCESS);
    EXPECT(MPIL_Comm_leader_free(comm) == MPI_SUCCESS);
    EXPECT(MPIL_Comm_win_init(comm, 8, 1) == MPI_SUCCESS);
    EXPECT(MPIL_Comm_win_free(comm) == MPI_SUCCESS);
    EXPECT(MPIL_Comm_device_init(comm) == MPI_SUCCESS);
    EXPECT(MPIL_Comm_device_free(comm) == MPI_SUCCESS);
    EXPECT(MPIL_Comm_req_resize(comm, 4) == MPI_SUCCESS);
    EXPECT(MPIL_Comm_tag(comm, &first) == MPI_SUCCESS && first == 0);
    for (int i = 0; i < 127; ++i) {
        EXPECT(MPIL_Comm_tag(comm, &tag) == MPI_SUCCESS);
        EXPECT(tag == (i + 1) % 127);
    }
    void* memory = &tag;
    EXPECT(MPIL_Alloc(&memory, 16) == MPI_SUCCESS && memory != NULL && memory != &tag);
    EXPECT(MPIL_Free(memory) == MPI_SUCCESS && MPIL_Free(NULL) == MPI_SUCCESS);
    EXPECT(MPIL_Alloc(&memory, 0) == MPI_SUCCESS && memory == NULL);
}

/* What `spoil` makes of the last rank's arguments is refused on all ranks, in every form. */
typedef struct arguments {
    side out, in;
    const int* counts;
    const long* indices;
    MPI_Datatype recvtype;
    MPIL_Topo* topo;
    MPIL_Request** result;
} arguments;

static void no_topo(arguments* a) { MPIL_Topo_free(&a->topo); }
static void no_counts(arguments* a) { a->counts = NULL; }
static void no_indices(arguments* a) { a->indices = NULL; }
static void no_result(arguments* a) { a->result = NULL; }
static void no_datatype(arguments* a) { a->recvtype = MPI_DATATYPE_NULL; }
static void long_datatype(arguments* a) { a->recvtype = MPI_DOUBLE; }
static void negative_count(arguments* a) { a->in.counts[0] = -5; }
static void far_neighbor(arguments* a) {
    MPIL_Topo_free(&a->topo);
    a->out.ranks[0] = num_ranks;
    MPIL_Topo_init(a->in.num, a->in.ranks, NULL, a->out.num, a->out.ranks, NULL, NULL, &a->topo);
}

static void expect_refused(void (*spoil)(arguments*), int error_class, const char* sentence,
                           MPIL_Comm* comm) {
    MPIL_Request* request = NULL;
    MPIL_Topo* topo = NULL;
    int came[MOST];
    arguments a = {.out = sent(1), .in = received(1)};
    EXPECT(MPIL_Topo_from_neighbor_comm(comm, &topo) == MPI_SUCCESS);
    a.counts = a.out.counts;
    a.indices = a.out.indices;
    a.recvtype = MPI_INT;
    a.topo = topo;
    a.result = &request;
    if (is_last) spoil(&a);
    EXPECT(MPIL_Neighbor_alltoallv_init_ext_topo(
               a.out.values, a.counts, a.out.displs, a.indices, MPI_INT, came, a.in.counts,
               a.in.displs, NULL, a.recvtype, a.topo, comm, NULL, a.result) == error_class);
    EXPECT(error_says(sentence));
    EXPECT(request == NULL);
    if (spoil != no_indices && spoil != no_result) {
        clear(came);
        EXPECT(MPIL_Neighbor_alltoallv_topo(a.out.values, a.counts, a.out.displs, MPI_INT, came,
                                            a.in.counts, a.in.displs, a.recvtype, a.topo,
                                            comm) == error_class);
        EXPECT(error_says(sentence));
        for (int k = 0; k < MOST; ++k) EXPECT(came[k] == UNTOUCHED);
    }
    topo = a.topo;
    EXPECT(MPIL_Topo_free(&topo) == MPI_SUCCESS);
}

static void bad_arguments_of_one_rank_are_errors_on_all(MPIL_Comm* comm) {
    char text[128];
    expect_refused(no_topo, MPI_ERR_ARG,
                   "topo is a null pointer, or the communicator has no neighbors", comm);
    expect_refused(no_counts, MPI_ERR_ARG, "sendcounts is a null pointer", comm);
    expect_refused(no_result, MPI_ERR_ARG, "request_ptr is a null pointer", comm);
    expect_refused(no_datatype, MPI_ERR_ARG, "datatype is MPI_DATATYPE_NULL", comm);
    expect_refused(long_datatype, MPI_ERR_TRUNCATE,
                   "a value of sendtype has 4 bytes, but one of recvtype 8", comm);
    snprintf(text, sizeof text, "rank %d gives source %d count -5 and displacement 1", last,
             last < 2 ? 0 : last - 2);
    expect_refused(negative_count, MPI_ERR_ARG, text, comm);
    snprintf(text, sizeof text, "destination %d of source %d is outside [0, %d)", num_ranks, last,
             num_ranks);
    expect_refused(far_neighbor, MPI_ERR_RANK, text, comm);
    if (num_ranks > 1) /* or else nothing is sent */
        expect_refused(no_indices, MPI_ERR_ARG, "global_sindices is a null pointer", comm);
}

static void senders_and_receivers_agree(MPIL_Comm* comm) {
    side out = sent(1);
    const side in = received(1);
    int came[MOST];
    MPIL_Request* request = NULL;
    if (is_last) ++out.counts[0];
    EXPECT(make(INIT, &out, &in, MPI_INT, came, MPI_INT, NULL, comm, &request) == MPI_ERR_COUNT);
    EXPECT(request == NULL);
    EXPECT(MPIL_Neighbor_alltoallv(out.values, out.counts, out.displs, MPI_INT, came, in.counts,
                                   in.displs, MPI_INT, comm) == MPI_ERR_COUNT);
}

static void bad_objects_are_errors(MPIL_Comm* neighbors, MPIL_Comm* plain) {
    MPIL_Comm* none = NULL;
    MPIL_Topo* topo = NULL;
    MPIL_Request* request = NULL;
    MPIL_Info* info = NULL;
    const int zero = 0, far = num_ranks;
    int number = UNTOUCHED, *array = NULL;
    void* memory = NULL;
    char* text = NULL;
    EXPECT(MPIL_Comm_init(&none, MPI_COMM_NULL) == MPI_ERR_ARG);
    EXPECT(MPIL_Comm_init(is_last ? NULL : &none, MPI_COMM_WORLD) == MPI_ERR_ARG);
    EXPECT(error_says("the result is a null pointer"));
    EXPECT(MPIL_Dist_graph_create_adjacent(MPI_COMM_WORLD, is_last ? -1 : 0, NULL, NULL, 0, NULL,
                                           NULL, NULL, 0, &none) == MPI_ERR_ARG);
    EXPECT(error_says("sources has length -1"));
    EXPECT(MPIL_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, NULL, is_last, &far, NULL, NULL,
                                           0, &none) == MPI_ERR_RANK);
    EXPECT(none == NULL);
    EXPECT(MPIL_Comm_free(&none) == MPI_SUCCESS && MPIL_Comm_free(NULL) == MPI_SUCCESS);
    EXPECT(MPIL_Comm_update_locality(neighbors, 0) == MPI_ERR_ARG);
    EXPECT(error_says("ppn is 0"));
    EXPECT(MPIL_Comm_tag(NULL, &number) == MPI_ERR_ARG);

    EXPECT(MPIL_Info_init(NULL) == MPI_ERR_ARG);
    EXPECT(MPIL_Info_free(&info) == MPI_SUCCESS && MPIL_Info_free(NULL) == MPI_SUCCESS);
    EXPECT(MPIL_Topo_init(0, NULL, NULL, 1, NULL, NULL, NULL, &topo) == MPI_ERR_ARG);
    EXPECT(error_says("destinations is a null pointer"));
    EXPECT(MPIL_Topo_from_neighbor_comm(plain, &topo) == MPI_ERR_ARG);
    EXPECT(error_says("the communicator has no neighbors"));
    EXPECT(topo == NULL);
    EXPECT(MPIL_Topo_free(&topo) == MPI_SUCCESS && MPIL_Topo_free(NULL) == MPI_SUCCESS);

    /* All ranks: a communicator without neighbors, and none at all. */
    for (int i = 0; i < 2; ++i) {
        MPIL_Comm* comm = i == 0 ? plain : NULL;
        EXPECT(MPIL_Neighbor_alltoallv(NULL, &zero, &zero, MPI_INT, NULL, &zero, &zero, MPI_INT,
                                       comm) == MPI_ERR_ARG);
        EXPECT(MPIL_Neighbor_alltoallv_init(NULL, &zero, &zero, MPI_INT, NULL, &zero, &zero,
                                            MPI_INT, comm, NULL, &request) == MPI_ERR_ARG);
    }
    EXPECT(error_says("comm is a null pointer"));
    EXPECT(MPIL_Alltoall_crs(0, NULL, 1, MPI_INT, NULL, is_last ? NULL : &number, &array, 1,
                             MPI_INT, &memory, NULL, plain) == MPI_ERR_BUFFER);
    EXPECT(request == NULL && number == UNTOUCHED && array == NULL && memory == NULL);

    /* As after they were freed. */
    EXPECT(MPIL_Start(request) == MPI_SUCCESS);
    EXPECT(MPIL_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    EXPECT(MPIL_Request_free(&request) == MPI_SUCCESS && MPIL_Request_free(NULL) == MPI_SUCCESS);
    EXPECT(MPIL_Request_reorder(request, 1) == MPI_ERR_ARG);
    EXPECT(crossdock_explain_request(request, &text) == MPI_ERR_ARG);

    EXPECT(MPIL_Alloc(&memory, -1) == MPI_ERR_ARG && error_says("bytes is -1"));
    EXPECT(MPIL_Set_alltoall_crs((enum AlltoallCRSMethod)6) == MPI_ERR_ARG);
    EXPECT(error_says("there is no algorithm 6"));
    EXPECT(mpil_alltoall_crs_implementation == CROSSDOCK_ALLTOALL_CRS_AUTO);
}

static void buffers_are_looked_at_when_a_request_starts(MPIL_Comm* comm) {
    const side out = sent(1), in = received(1);
    MPIL_Request* request = NULL;
    EXPECT(MPIL_Neighbor_alltoallv_init(NULL, out.counts, out.displs, MPI_INT, NULL, in.counts,
                                        in.displs, MPI_INT, comm, NULL, &request) == MPI_SUCCESS);
    int num_values = 0, all = 0;
    for (int i = 0; i < out.num; ++i) num_values += out.counts[i];
    MPI_Allreduce(&num_values, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all > 0) EXPECT(MPIL_Start(request) == MPI_ERR_ARG);
    EXPECT(MPIL_Request_free(&request) == MPI_SUCCESS);
}

static void run(void) {
    MPIL_Comm *neighbors = with_neighbors(), *plain = NULL;
    EXPECT(MPIL_Comm_init(&plain, MPI_COMM_WORLD) == MPI_SUCCESS);
    what_prepares_does_nothing(plain);
    the_world_is_there_from_init_to_finalize();
    every_algorithm_reaches_all_neighbors(neighbors, plain);
    exchanges_differ_from_call_to_call(plain);
    exchanges_are_kept_where_a_rank_is_idle(plain);
    several_requests_are_active_at_once(neighbors);
    datatypes_may_have_gaps_and_be_freed(neighbors);
    nobody_need_have_neighbors();
    messages_reach_who_does_not_expect_them(plain);
    all_ranks_exchange_with_all(plain);
    bad_arguments_of_one_rank_are_errors_on_all(neighbors);
    senders_and_receivers_agree(neighbors);
    bad_objects_are_errors(neighbors, plain);
    buffers_are_looked_at_when_a_request_starts(neighbors);
    EXPECT(MPIL_Comm_free(&neighbors) == MPI_SUCCESS && neighbors == NULL);
    EXPECT(MPIL_Comm_free(&plain) == MPI_SUCCESS && plain == NULL);
}

/* What `test` prints comes out nevertheless. */
static void nothing_is_printed_by(void (*test)(void)) {
    FILE* const file = tmpfile();
    const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    test();
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    rewind(file);
    const int first = fgetc(file);
    EXPECT(first == EOF);
    for (int c = first; c != EOF; c = fgetc(file)) fputc(c, stderr);
    fclose(file);
}

int main(int argc, char** argv) {
    start_ranks(&argc, &argv);
    last = num_ranks - 1;
    is_last = rank == last;

    nothing_is_printed_by(run);

    /* What is freed only after MPI_Finalize. */
    MPIL_Comm* comm = with_neighbors();
    MPIL_Request* request = NULL;
    MPIL_Topo* topo = NULL;
    MPIL_Info* info = NULL;
    int sent = rank, received = -1;
    const int none = 0, one = 1, next = (rank + 1) % num_ranks,
              previous = (rank + num_ranks - 1) % num_ranks;
    EXPECT(MPIL_Info_init(&info) == MPI_SUCCESS);
    EXPECT(MPIL_Topo_init(1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, info, &topo) ==
           MPI_SUCCESS);
    EXPECT(MPIL_Neighbor_alltoallv_init_topo(&sent, &one, &none, MPI_INT, &received, &one, &none,
                                             MPI_INT, topo, comm, info, &request) == MPI_SUCCESS);
    EXPECT(MPIL_Start(request) == MPI_SUCCESS);
    const int status = end_ranks();
    EXPECT(MPIL_Request_free(&request) == MPI_SUCCESS && request == NULL);
    EXPECT(MPIL_Topo_free(&topo) == MPI_SUCCESS && topo == NULL);
    EXPECT(MPIL_Info_free(&info) == MPI_SUCCESS && info == NULL);
    EXPECT(MPIL_Comm_free(&comm) == MPI_SUCCESS && comm == NULL);
    return status != 0 || num_failures != 0;
}
