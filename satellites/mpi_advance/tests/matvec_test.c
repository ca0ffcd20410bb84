/* Calls MPI Advance as a solver does that has hypre's communication packages: a receiver tells who owns what it needs;
 * products exchange by persistent collectives, in the older style, where objects are freed by value and infos are
 * MPI's. Prints what is wrong and fails on all ranks if anything is on one. */
#include "mpi_advance.h"

#include <stdlib.h>

#include "expecting.h"

enum { ROWS = 4, MOST = 128 };

/* Row i of the matrix has the columns i, i + 1, i + ROWS, i + 2 ROWS + 1 and 0, of all columns, in a circle. */
enum { ENTRIES = 5 };
static long column(long row, int k) {
    const long step[ENTRIES] = {0, 1, ROWS, 2 * ROWS + 1, 0};
    return k == ENTRIES - 1 ? 0 : (row + step[k]) % ((long)ROWS * num_ranks);
}
static double entry(long row, int k) { return (double)(1 + (row + 3 * k) % 7); }
static double x_of(long i, int step) { return (double)(i * i % 11 + step); }

/* What hypre has in its package. */
typedef struct package {
    int num_recvs, num_sends, size_recvs, size_sends;
    int recv_procs[MOST], recv_counts[MOST], recv_starts[MOST];
    long needed[MOST];
    int *send_procs, *send_counts, *send_starts;
    long* send_columns; /* global */
} package;

static int place_of(const package* p, long wanted) {
    for (int j = 0; j < p->size_recvs; ++j)
        if (p->needed[j] == wanted) return j;
    return -1;
}

static void find_needed(package* p) {
    for (int owner = 0; owner < num_ranks; ++owner) {
        if (owner == rank) continue;
        const int start = p->size_recvs;
        for (long c = (long)ROWS * owner; c < (long)ROWS * (owner + 1); ++c) {
            int is_needed = 0;
            for (long row = (long)ROWS * rank; row < (long)ROWS * (rank + 1); ++row)
                for (int k = 0; k < ENTRIES; ++k) is_needed |= column(row, k) == c;
            if (is_needed) p->needed[p->size_recvs++] = c;
        }
        if (p->size_recvs == start) continue;
        p->recv_procs[p->num_recvs] = owner;
        p->recv_counts[p->num_recvs] = p->size_recvs - start;
        p->recv_starts[p->num_recvs++] = start;
    }
}

/* The owners learn of it by the sparse exchange. */
static void find_sends(package* p) {
    MPIX_Comm* xcomm = NULL;
    MPIX_Info* xinfo = NULL;
    EXPECT(MPIX_Info_init(&xinfo) == MPI_SUCCESS);
    EXPECT(MPIX_Comm_init(&xcomm, MPI_COMM_WORLD) == MPI_SUCCESS);
    EXPECT(MPIX_Comm_topo_init(xcomm) == MPI_SUCCESS);
    mpix_alltoallv_crs_implementation = ALLTOALLV_CRS_NONBLOCKING_LOC;
    p->num_sends = p->size_sends = -1;
    EXPECT(MPIX_Alltoallv_crs(p->num_recvs, p->size_recvs, p->recv_procs, p->recv_counts,
                              p->recv_starts, MPI_LONG, p->needed, &p->num_sends, &p->size_sends,
                              &p->send_procs, &p->send_counts, &p->send_starts, MPI_LONG,
                              (void**)&p->send_columns, xinfo, xcomm) == MPI_SUCCESS);
    EXPECT(MPIX_Info_free(&xinfo) == MPI_SUCCESS);
    EXPECT(MPIX_Comm_free(&xcomm) == MPI_SUCCESS && xcomm == NULL);
    EXPECT(p->send_starts[p->num_sends] == p->size_sends);
}

static void multiply(package* p, MPIX_Request* request, double* sent, const double* came) {
    MPI_Status status;
    for (int step = 0; step < 4; ++step) {
        for (int j = 0; j < p->size_sends; ++j) sent[j] = x_of(p->send_columns[j], step);
        EXPECT(MPIX_Start(request) == MPI_SUCCESS);
        EXPECT(MPIX_Wait(request, &status) == MPI_SUCCESS);
        for (long row = (long)ROWS * rank; row < (long)ROWS * (rank + 1); ++row) {
            double y = 0, wanted = 0;
            for (int k = 0; k < ENTRIES; ++k) {
                const long c = column(row, k);
                y += entry(row, k) * (c / ROWS == rank ? x_of(c, step) : came[place_of(p, c)]);
                wanted += entry(row, k) * x_of(c, step);
            }
            EXPECT(y == wanted);
        }
    }
}

int main(int argc, char** argv) {
    start_ranks(&argc, &argv);

    package p = {0};
    find_needed(&p);
    find_sends(&p);

    MPIX_Comm* neighbors = NULL;
    EXPECT(MPIX_Dist_graph_create_adjacent(MPI_COMM_WORLD, p.num_recvs, p.recv_procs, p.recv_counts,
                                           p.num_sends, p.send_procs, p.send_counts, MPI_INFO_NULL,
                                           0, &neighbors) == MPI_SUCCESS);
    update_locality(neighbors, 2);

    double sent[MOST], came[MOST];
    MPIX_Request* request = NULL;
    MPIX_Info* xinfo = NULL;
    MPIX_Topo* topo = NULL;
    EXPECT(MPIX_Info_init(&xinfo) == MPI_SUCCESS);
    EXPECT(MPIX_Topo_init(p.num_recvs, p.recv_procs, p.recv_counts, p.num_sends, p.send_procs,
                          p.send_counts, xinfo, &topo) == MPI_SUCCESS);
    for (int form = 0; form < 6; ++form) {
        int made = MPI_ERR_OTHER;
        switch (form) {
            case 0:
                made = MPIX_Neighbor_alltoallv_init(sent, p.send_counts, p.send_starts, MPI_DOUBLE,
                                                    came, p.recv_counts, p.recv_starts, MPI_DOUBLE,
                                                    neighbors, MPI_INFO_NULL, &request);
                break;
            case 1:
                made = MPIX_Neighbor_part_locality_alltoallv_init(
                    sent, p.send_counts, p.send_starts, MPI_DOUBLE, came, p.recv_counts,
                    p.recv_starts, MPI_DOUBLE, neighbors, MPI_INFO_NULL, &request);
                break;
            case 2:
                made = MPIX_Neighbor_locality_alltoallv_init(
                    sent, p.send_counts, p.send_starts, p.send_columns, MPI_DOUBLE, came,
                    p.recv_counts, p.recv_starts, p.needed, MPI_DOUBLE, neighbors, xinfo, &request);
                break;
            case 3:
                made = MPIX_Neighbor_part_locality_topo_alltoallv_init(
                    sent, p.send_counts, p.send_starts, MPI_DOUBLE, came, p.recv_counts,
                    p.recv_starts, MPI_DOUBLE, topo, neighbors, xinfo, &request);
                break;
            case 4:
                made = MPIX_Neighbor_locality_topo_alltoallv_init(
                    sent, p.send_counts, p.send_starts, p.send_columns, MPI_DOUBLE, came,
                    p.recv_counts, p.recv_starts, p.needed, MPI_DOUBLE, topo, neighbors, xinfo,
                    &request);
                break;
            default:
                made = MPIX_Neighbor_alltoallv_init_ext(
                    sent, p.send_counts, p.send_starts, p.send_columns, MPI_DOUBLE, came,
                    p.recv_counts, p.recv_starts, p.needed, MPI_DOUBLE, neighbors, xinfo, &request);
        }
        EXPECT(made == MPI_SUCCESS);
        if (form > 0 && form < 5) {
            char* text = NULL;
            EXPECT(crossdock_explain_request(request, &text) == MPI_SUCCESS);
            EXPECT(strstr(text, form % 2 == 0 ? ": three_step+dedup," : ": three_step,") != NULL);
            MPIX_Free(text);
        }
        multiply(&p, request, sent, came);
        if (form % 2 == 0) {
            EXPECT(MPIX_Request_free(request) == MPI_SUCCESS);
        } else {
            EXPECT(MPIX_Request_free(&request) == MPI_SUCCESS && request == NULL);
        }
    }
    /* Once, without requests. */
    for (int j = 0; j < p.size_sends; ++j) sent[j] = x_of(p.send_columns[j], 0);
    for (int form = 0; form < 3; ++form) {
        for (int j = 0; j < p.size_recvs; ++j) came[j] = -1;
        if (form == 0)
            MPIX_Neighbor_alltoallv(sent, p.send_counts, p.send_starts, MPI_DOUBLE, came,
                                    p.recv_counts, p.recv_starts, MPI_DOUBLE, neighbors);
        if (form == 1)
            MPIX_Neighbor_part_locality_alltoallv(sent, p.send_counts, p.send_starts, MPI_DOUBLE,
                                                  came, p.recv_counts, p.recv_starts, MPI_DOUBLE,
                                                  neighbors);
        if (form == 2)
            MPIX_Neighbor_locality_alltoallv(sent, p.send_counts, p.send_starts, p.send_columns,
                                             MPI_DOUBLE, came, p.recv_counts, p.recv_starts,
                                             p.needed, MPI_DOUBLE, neighbors);
        for (int j = 0; j < p.size_recvs; ++j) EXPECT(came[j] == x_of(p.needed[j], 0));
    }

    EXPECT(MPIX_Topo_free(&topo) == MPI_SUCCESS && topo == NULL);
    EXPECT(MPIX_Info_free(&xinfo) == MPI_SUCCESS);
    EXPECT(MPIX_Comm_free(neighbors) == MPI_SUCCESS);
    MPIX_Free(p.send_procs);
    MPIX_Free(p.send_counts);
    MPIX_Free(p.send_starts);
    free(p.send_columns);

    return end_ranks();
}
