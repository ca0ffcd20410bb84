// Stands between the library and MPI, hence a program of its own: no collective whose arguments
// grow with the number of ranks may be called while planning.
#include <gtest/gtest.h>

#include <algorithm>

#include "crossdock/neighbor/neighbor.hpp"
#include "crossdock/pattern/pattern_mpi.hpp"
#include "crossdock/route/route.hpp"
#include "support/patterns.hpp"

namespace {

int num_long_collectives = 0;
int longest_reduction = 0;

}  // namespace

#define CROSSDOCK_COUNT_LONG_COLLECTIVE(name, parameters, arguments) \
    int MPI_##name parameters {                                      \
        ++num_long_collectives;                                      \
        return PMPI_##name arguments;                                \
    }

extern "C" {
CROSSDOCK_COUNT_LONG_COLLECTIVE(Allgather,
                                (const void* a, int b, MPI_Datatype c, void* d, int e,
                                 MPI_Datatype f, MPI_Comm g),
                                (a, b, c, d, e, f, g))
CROSSDOCK_COUNT_LONG_COLLECTIVE(Gather,
                                (const void* a, int b, MPI_Datatype c, void* d, int e,
                                 MPI_Datatype f, int r, MPI_Comm g),
                                (a, b, c, d, e, f, r, g))
CROSSDOCK_COUNT_LONG_COLLECTIVE(Scatter,
                                (const void* a, int b, MPI_Datatype c, void* d, int e,
                                 MPI_Datatype f, int r, MPI_Comm g),
                                (a, b, c, d, e, f, r, g))
CROSSDOCK_COUNT_LONG_COLLECTIVE(Alltoall,
                                (const void* a, int b, MPI_Datatype c, void* d, int e,
                                 MPI_Datatype f, MPI_Comm g),
                                (a, b, c, d, e, f, g))
CROSSDOCK_COUNT_LONG_COLLECTIVE(Alltoallv,
                                (const void* a, const int* b, const int* c, MPI_Datatype d, void* e,
                                 const int* f, const int* g, MPI_Datatype h, MPI_Comm i),
                                (a, b, c, d, e, f, g, h, i))
CROSSDOCK_COUNT_LONG_COLLECTIVE(Reduce_scatter_block,
                                (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e,
                                 MPI_Comm f),
                                (a, b, c, d, e, f))
CROSSDOCK_COUNT_LONG_COLLECTIVE(Reduce_scatter,
                                (const void* a, void* b, const int* c, MPI_Datatype d, MPI_Op e,
                                 MPI_Comm f),
                                (a, b, c, d, e, f))

CROSSDOCK_COUNT_LONG_COLLECTIVE(Allgatherv,
                                (const void* a, int b, MPI_Datatype c, void* d, const int* e,
                                 const int* f, MPI_Datatype g, MPI_Comm h),
                                (a, b, c, d, e, f, g, h))
CROSSDOCK_COUNT_LONG_COLLECTIVE(Gatherv,
                                (const void* a, int b, MPI_Datatype c, void* d, const int* e,
                                 const int* f, MPI_Datatype g, int r, MPI_Comm h),
                                (a, b, c, d, e, f, g, r, h))

int MPI_Allreduce(const void* a, void* b, int count, MPI_Datatype d, MPI_Op e, MPI_Comm f) {
    longest_reduction = std::max(longest_reduction, count);
    return PMPI_Allreduce(a, b, count, d, e, f);
}

int MPI_Iallreduce(const void* a, void* b, int count, MPI_Datatype d, MPI_Op e, MPI_Comm f,
                   MPI_Request* g) {
    longest_reduction = std::max(longest_reduction, count);
    return PMPI_Iallreduce(a, b, count, d, e, f, g);
}
}

namespace crossdock {
namespace {

TEST(Planning, CallsNoCollectiveWhoseArgumentsGrowWithTheRanks) {
    communicator comm(MPI_COMM_WORLD);
    const auto regions = topology::one_region(comm.num_ranks());
    const auto patterns = test::all_to_all_pattern(comm.num_ranks());
    num_long_collectives = longest_reduction = 0;

    const std::vector<count_t> owned{comm.rank()}, needed{(comm.rank() + 1) % comm.num_ranks()};
    from_needed(comm, owned, needed);
    for (const auto& entry : registered_routes()) {
        neighbor(comm, regions, patterns[static_cast<std::size_t>(comm.rank())], entry.example,
                 {.executor = executor_kind::persistent});
    }

    EXPECT_EQ(num_long_collectives, 0);
    EXPECT_EQ(longest_reduction, 3);  // `agree`
    comm.close();
}

}  // namespace
}  // namespace crossdock
