// Memory is refused on one rank, every k-th request in turn, while collective calls of MPI go along a plan: run with a
// route. Calls may fail, on any rank, but all end, and what is done afterwards is right. The arguments are how far it
// is to the next k, and `grid` for a grid in place of a graph.
#include <mpi.h>
#include <unistd.h>
#ifdef CROSSDOCK_HAS_MPI_EXTENSIONS
#include <mpi-ext.h>
#define MPI_Neighbor_alltoallv_init MPIX_Neighbor_alltoallv_init
#endif

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

bool is_armed = false;
long number = 0, refused = 0;  // of a request, from the time it was armed
int rank = 0, num_ranks = 1;
bool is_grid = false;
const char* call = "";

void* allocate(std::size_t bytes) {
    if (is_armed && ++number == refused) throw std::bad_alloc();
    if (void* const found = std::malloc(bytes)) return found;
    throw std::bad_alloc();
}

extern "C" void report_hang(int) {
    std::printf("rank %d: %s does not end, request %ld\n", rank, call, refused);
    std::fflush(stdout);
    _exit(2);
}

struct ring {
    MPI_Comm comm = MPI_COMM_NULL;
    std::array<int, 2> neighbors{}, counts{1, 1}, places{0, 1}, sent{}, received{};
    int num_faults = 0, num_failures = 0;

    void note(int code, const char* made) {
        if (code != MPI_SUCCESS) ++num_failures;
        call = made;
    }
    void give(int value) {
        sent = {10 * value + rank, 10 * value + rank};
        received = {-1, -1};
    }
    void check(int code, int value) {
        if (code != MPI_SUCCESS) return;
        for (int i = 0; i < 2; ++i) num_faults += received[i] != 10 * value + neighbors[i];
    }
    // Several at a time.
    void run_persistent() {
#if defined(CROSSDOCK_HAS_NEIGHBOR_INIT) || defined(CROSSDOCK_HAS_MPI_EXTENSIONS)
        std::array<MPI_Request, 3> requests{};
        for (auto& request : requests) {
            request = MPI_REQUEST_NULL;
            call = "MPI_Neighbor_alltoallv_init";
            note(MPI_Neighbor_alltoallv_init(sent.data(), counts.data(), places.data(), MPI_INT,
                                             received.data(), counts.data(), places.data(), MPI_INT,
                                             comm, MPI_INFO_NULL, &request),
                 "MPI_Start");
        }
        for (auto& request : requests) {
            if (request == MPI_REQUEST_NULL) continue;
            give(8);
            int code = MPI_Start(&request);
            call = "MPI_Wait";
            if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
            check(code, 8);
            note(code, "MPI_Request_free");
            MPI_Request_free(&request);
        }
#endif
    }
    void run() {
        call = "making a graph";
        neighbors = {(rank + num_ranks - 1) % num_ranks, (rank + 1) % num_ranks};
        const int is_periodic = 1;
        int code = is_grid ? MPI_Cart_create(MPI_COMM_WORLD, 1, &num_ranks, &is_periodic, 0, &comm)
                           : MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbors.data(),
                                                            counts.data(), 2, neighbors.data(),
                                                            counts.data(), MPI_INFO_NULL, 0, &comm);
        note(code, "MPI_Neighbor_alltoallv");
        if (comm == MPI_COMM_NULL) return;
        run_persistent();
        for (int value = 0; value < 4; ++value) {
            give(value);
            code = MPI_Neighbor_alltoallv(sent.data(), counts.data(), places.data(), MPI_INT,
                                          received.data(), counts.data(), places.data(), MPI_INT,
                                          comm);
            check(code, value);
            note(code, "MPI_Neighbor_alltoallv");
        }
        for (int value = 4; value < 7; ++value) {
            give(value);
            MPI_Request request = MPI_REQUEST_NULL;
            call = "MPI_Ineighbor_alltoallv";
            code = MPI_Ineighbor_alltoallv(sent.data(), counts.data(), places.data(), MPI_INT,
                                           received.data(), counts.data(), places.data(), MPI_INT,
                                           comm, &request);
            call = "MPI_Wait";
            if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
            check(code, value);
            note(code, "MPI_Comm_free");
        }
        note(MPI_Comm_free(&comm), "");
    }
};

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    const long stride = argc > 1 ? std::atol(argv[1]) : 1;
    is_grid = argc > 2;
    std::signal(SIGALRM, &report_hang);
    int num_failures = 0, num_faults = 0;
    for (refused = 1;; refused += stride) {
        alarm(20);
        number = 0;
        is_armed = rank == num_ranks / 2;
        ring tried;
        tried.run();
        is_armed = false;
        call = "MPI_Bcast";
        int is_over = number < refused;
        MPI_Bcast(&is_over, 1, MPI_INT, num_ranks / 2, MPI_COMM_WORLD);
        ring again;
        again.run();
        num_failures += tried.num_failures;
        num_faults += tried.num_faults + again.num_faults + again.num_failures;
        if (again.num_faults + again.num_failures + tried.num_faults > 0)
            std::printf("rank %d: request %ld: %d values differ, then %d, and %d calls fail\n",
                        rank, refused, tried.num_faults, again.num_faults, again.num_failures);
        if (!is_over) continue;
        num_faults += refused == 1;  // nothing was asked of this program
        break;
    }
    if (rank == num_ranks / 2)
        std::printf("%ld requests refused, %d calls failed\n", refused / stride, num_failures);
    alarm(20);
    MPI_Allreduce(MPI_IN_PLACE, &num_faults, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return num_faults > 0;
}
