// On 4 emulated nodes with 2 ranks each; the map of ranks to nodes chooses the tests.
#include <gtest/gtest.h>
#include <mpi.h>

#include <numeric>
#include <string>
#include <vector>

#include "crossdock/discover_topology.hpp"

namespace {

using crossdock::communicator;
using crossdock::discover_topology;
using crossdock::rank_t;
using crossdock::topology;

std::string discovered_text() {
    communicator comm(MPI_COMM_WORLD);
    const std::string text = discover_topology(comm).to_string();
    comm.close();
    return text;
}

TEST(BlockMap, IsDiscovered) { EXPECT_EQ(discovered_text(), "4x2"); }

TEST(CyclicMap, IsDiscovered) { EXPECT_EQ(discovered_text(), "cyclic:4x2"); }

TEST(AnyMap, RanksOfOneRegionAreOnOneMachineByName) {
    communicator comm(MPI_COMM_WORLD);
    std::vector<char> names(static_cast<std::size_t>(comm.num_ranks()) * MPI_MAX_PROCESSOR_NAME);
    std::vector<char> name(MPI_MAX_PROCESSOR_NAME);
    int length = 0;
    MPI_Get_processor_name(name.data(), &length);
    MPI_Allgather(name.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names.data(),
                  MPI_MAX_PROCESSOR_NAME, MPI_CHAR, comm.get());
    const auto name_of = [&](rank_t rank) {
        return std::string(&names[static_cast<std::size_t>(rank) * MPI_MAX_PROCESSOR_NAME]);
    };

    const topology topo = discover_topology(comm);

    for (rank_t rank = 0; rank < comm.num_ranks(); ++rank)
        EXPECT_EQ(topo.region_of(rank) == topo.region_of(comm.rank()),
                  name_of(rank) == name_of(comm.rank()))
            << name_of(rank);
    comm.close();
}

TEST(AnyMap, MessagesReachEveryRankOfEveryNode) {
    constexpr int length = 100'000;  // more than MPI sends eagerly
    int rank = 0;
    int num_ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    std::vector<int> sent(length);
    std::iota(sent.begin(), sent.end(), rank);

    for (int shift = 1; shift < num_ranks; ++shift) {
        const int source = (rank + num_ranks - shift) % num_ranks;
        std::vector<int> received(length);
        std::vector<int> expected(length);
        std::iota(expected.begin(), expected.end(), source);
        MPI_Sendrecv(sent.data(), length, MPI_INT, (rank + shift) % num_ranks, 0, received.data(),
                     length, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_TRUE(received == expected) << "from rank " << source;
    }
}

}  // namespace
