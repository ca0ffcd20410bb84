// A second communicator with equal neighbors, whose calls have equal counts: it shares what the first one has set up,
// and no exchange is timed again.
#include <dlfcn.h>
#include <mpi.h>

#include <vector>

#include "world.hpp"

namespace {

int num_communicators = 0;
int num_windows = 0;
int num_timed = 0;

template <class Function>
Function* next(Function*, const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
    ++num_communicators;
    return next(PMPI_Comm_split, "PMPI_Comm_split")(comm, color, key, made);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
    ++num_communicators;
    return PMPI_Comm_split_type(comm, type, key, info, made);
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    ++num_communicators;
    return next(PMPI_Comm_dup, "PMPI_Comm_dup")(comm, made);
}

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* made) {
    ++num_windows;
    return PMPI_Win_allocate_shared(size, unit, info, comm, base, made);
}

// What trials time; calls that MPI does are others.
int PMPI_Neighbor_alltoallw(const void* from, const int* sent, const MPI_Aint* sent_at,
                            const MPI_Datatype* sent_types, void* to, const int* received,
                            const MPI_Aint* received_at, const MPI_Datatype* received_types,
                            MPI_Comm comm) {
    ++num_timed;
    return next(PMPI_Neighbor_alltoallw, "PMPI_Neighbor_alltoallw")(
        from, sent, sent_at, sent_types, to, received, received_at, received_types, comm);
}

}  // extern "C"

namespace {

void repeat_calls(world& in) {
    std::vector<int> others;
    for (int other = 0; other < in.num_ranks; ++other)
        if (other != in.rank) others.push_back(other);
    const int degree = in.num_ranks - 1;
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, others.data(), MPI_UNWEIGHTED, degree,
                                   others.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    std::vector<int> sent(others.size() + 1), received(sent.size());
    for (int call = 0; call < 8; ++call) {
        for (std::size_t i = 0; i < others.size(); ++i) {
            sent[i] = 10000 * call + 100 * in.rank + others[i];
            received[i] = -1;
        }
        MPI_Neighbor_alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, graph);
        for (std::size_t i = 0; i < others.size(); ++i)
            in.expect(received[i] == 10000 * call + 100 * others[i] + in.rank, "a value");
    }
    MPI_Comm_free(&graph);
}

}  // namespace

int main(int argc, char** argv) {
    return run_on_all(argc, argv, [](world& in) {
        repeat_calls(in);
        in.expect(num_communicators > 0 && num_timed > 0, "the first communicator sets up");
        num_communicators = num_windows = num_timed = 0;
        repeat_calls(in);
        in.expect(num_communicators == 0, "the second one makes no communicators");
        in.expect(num_windows == 0, "the second one makes no windows");
        in.expect(num_timed == 0, "the second one times nothing");
    });
}
