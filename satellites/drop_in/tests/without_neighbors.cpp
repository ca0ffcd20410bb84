// Ranks without neighbors, which leave calls out as PETSc's star forest does: nobody may wait for them.
#include <mpi.h>
#ifdef CROSSDOCK_HAS_MPI_EXTENSIONS
#include <mpi-ext.h>
#endif
#include <unistd.h>

#include <array>
#include <atomic>
#include <numeric>
#include <vector>

#include "world.hpp"

namespace {

constexpr int num_exchanges = 40;

struct ring_world : world {
    // The first and the last rank have no neighbors if there are more than two, else the last one.
    bool is_idle() const { return rank == num_ranks - 1 || (num_ranks > 2 && rank == 0); }
    int first() const { return num_ranks > 2 ? 1 : 0; }
    int num_in_ring() const { return num_ranks - 1 - first(); }
    int neighbor(int distance) const {
        return first() + (rank - first() + distance + num_in_ring()) % num_in_ring();
    }
};

enum class making { adjacent, general, graph };

// A ring, each rank of which sends to the next one, or to both, of a graph that knows no directions.
MPI_Comm ring_of(const ring_world& in, making how) {
    MPI_Comm made = MPI_COMM_NULL;
    const int degree = in.is_idle() ? 0 : 1;
    const int before = degree > 0 ? in.neighbor(-1) : 0, after = degree > 0 ? in.neighbor(1) : 0;
    if (how == making::adjacent) {
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, &before, MPI_UNWEIGHTED, degree,
                                       &after, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    } else if (how == making::general) {
        MPI_Dist_graph_create(MPI_COMM_WORLD, degree, &in.rank, &degree, &after, MPI_UNWEIGHTED,
                              MPI_INFO_NULL, 0, &made);
    } else {
        std::vector<int> ends, neighbors;
        for (ring_world other{{0, in.num_ranks}}; other.rank < in.num_ranks; ++other.rank) {
            if (!other.is_idle())
                neighbors.insert(neighbors.end(), {other.neighbor(-1), other.neighbor(1)});
            ends.push_back(static_cast<int>(neighbors.size()));
        }
        MPI_Graph_create(MPI_COMM_WORLD, in.num_ranks, ends.data(), neighbors.data(), 0, &made);
    }
    return made;
}

enum class form { blocking, nonblocking, persistent };

// `num_exchanges` of them; a rank without neighbors has no blocks.
void exchange(ring_world& in, MPI_Comm comm, form how, bool has_both) {
    const int degree = in.is_idle() ? 0 : has_both ? 2 : 1;
    std::array<int, 2> counts{2, 2}, places{0, 2};
    std::array<int, 4> sent{}, received{};
    MPI_Request request = MPI_REQUEST_NULL;
#ifdef CROSSDOCK_HAS_NEIGHBOR_INIT
#define NEIGHBOR_INIT MPI_Neighbor_alltoallv_init
#elif defined(CROSSDOCK_HAS_MPI_EXTENSIONS)
#define NEIGHBOR_INIT MPIX_Neighbor_alltoallv_init
#endif
    if (how == form::persistent) {
#ifdef NEIGHBOR_INIT
        NEIGHBOR_INIT(sent.data(), counts.data(), places.data(), MPI_INT, received.data(),
                      counts.data(), places.data(), MPI_INT, comm, MPI_INFO_NULL, &request);
#else
        return;
#endif
    }
    for (int call = 0; call < num_exchanges; ++call) {
        received.fill(-1);
        for (int i = 0; i < 4; ++i)
            sent[static_cast<std::size_t>(i)] = 1000 * call + 10 * in.rank + i;
        if (how == form::blocking) {
            MPI_Neighbor_alltoallv(sent.data(), counts.data(), places.data(), MPI_INT,
                                   received.data(), counts.data(), places.data(), MPI_INT, comm);
        } else {
            if (how == form::persistent)
                MPI_Start(&request);
            else
                MPI_Ineighbor_alltoallv(sent.data(), counts.data(), places.data(), MPI_INT,
                                        received.data(), counts.data(), places.data(), MPI_INT,
                                        comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        // In a graph the rank before sends its second block here; in one of one or two ranks, any.
        for (int block = 0; block < degree && in.num_in_ring() > 2; ++block) {
            const int from = in.neighbor(block == 0 ? -1 : 1);
            const int first = 1000 * call + 10 * from + (has_both && block == 0 ? 2 : 0);
            const auto at = static_cast<std::size_t>(2 * block);
            in.expect(received[at] == first && received[at + 1] == first + 1,
                      "call " + std::to_string(call) + " brought " + std::to_string(received[at]) +
                          " in place of " + std::to_string(first));
        }
    }
    if (how == form::persistent) MPI_Request_free(&request);
}

// Set by one rank for those that are in no call of MPI.
class signal_in_shared_memory {
  public:
    explicit signal_in_shared_memory(const ring_world& in) {
        void* address = nullptr;
        MPI_Aint size = in.rank == 0 ? sizeof(std::atomic<int>) : 0;
        int unit = 0;
        MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &address, &window_);
        MPI_Win_shared_query(window_, 0, &size, &unit, &address);
        count_ = static_cast<std::atomic<int>*>(address);
        if (in.rank == 0) count_->store(0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~signal_in_shared_memory() { MPI_Win_free(&window_); }
    signal_in_shared_memory(const signal_in_shared_memory&) = delete;
    signal_in_shared_memory& operator=(const signal_in_shared_memory&) = delete;

    void add_one() { ++*count_; }
    void wait_for(int count) const {
        while (count_->load() < count) usleep(1000);
    }

  private:
    MPI_Win window_ = MPI_WIN_NULL;
    std::atomic<int>* count_ = nullptr;
};

void try_all(ring_world& in, making how) {
    const bool has_both = how == making::graph;
    std::array<MPI_Comm, 3> comms{ring_of(in, how), MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Comm_dup(comms[0], &comms[1]);
    MPI_Comm_dup(comms[1], &comms[2]);
    // What is freed is no loss to its duplicates.
    MPI_Comm_free(&comms[1]);
    {
        signal_in_shared_memory done(in);
        if (in.is_idle()) {
            done.wait_for(in.num_in_ring());
        } else {
            for (const auto by : {form::blocking, form::nonblocking, form::persistent}) {
                exchange(in, comms[0], by, has_both);
                exchange(in, comms[2], by, has_both);
            }
            done.add_one();
        }
    }
    MPI_Comm_free(&comms[2]);
    MPI_Comm_free(&comms[0]);
    // Ranks that do call, and other calls with all ranks on the same communicator.
    comms[0] = ring_of(in, how);
    for (const auto by : {form::blocking, form::nonblocking, form::persistent}) {
        exchange(in, comms[0], by, has_both);
        int sum = 1;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comms[0], &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        in.expect(sum == in.num_ranks, "the sum is " + std::to_string(sum));
    }
    MPI_Comm_free(&comms[0]);
}

// A graph without edges; and one that no call could be made on, since only the other ranks name the first.
void try_odd_graphs(const ring_world& in) {
    std::vector<int> ends(static_cast<std::size_t>(in.num_ranks), 0);
    const std::vector<int> firsts(ends);
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Graph_create(MPI_COMM_WORLD, in.num_ranks, ends.data(), firsts.data(), 0, &made);
    int nothing = 0;
    for (int call = 0; call < num_exchanges; ++call)
        MPI_Neighbor_alltoall(&nothing, 1, MPI_INT, &nothing, 1, MPI_INT, made);
    MPI_Comm_free(&made);
    std::iota(ends.begin(), ends.end(), 0);
    MPI_Graph_create(MPI_COMM_WORLD, in.num_ranks, ends.data(), firsts.data(), 0, &made);
    MPI_Comm_free(&made);
}

}  // namespace

int main(int argc, char** argv) {
    return run_on_all(argc, argv, [](world& given) {
        ring_world in{given};
        for (const auto how : {making::adjacent, making::general, making::graph}) try_all(in, how);
        try_odd_graphs(in);
        given = in;
    });
}
