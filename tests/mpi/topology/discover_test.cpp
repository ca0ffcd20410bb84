#include <gtest/gtest.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "crossdock/discover_topology.hpp"

namespace {

using crossdock::communicator;
using crossdock::discover_topology;
using crossdock::errc;
using crossdock::error;
using crossdock::gather_topology;
using crossdock::locality;
using crossdock::rank_t;
using crossdock::region_t;
using crossdock::topology;

int num_open_communicators = 0;
int num_sends = 0;

}  // namespace

// The library's calls come through here, so that what it leaves open and sends can be counted.
extern "C" {
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part) {
    ++num_open_communicators;
    return PMPI_Comm_split(comm, color, key, part);
}
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* part) {
    ++num_open_communicators;
    return PMPI_Comm_split_type(comm, type, key, info, part);
}
int MPI_Comm_free(MPI_Comm* comm) {
    --num_open_communicators;
    return PMPI_Comm_free(comm);
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int destination, int tag,
              MPI_Comm comm, MPI_Request* request) {
    ++num_sends;
    return PMPI_Isend(data, count, type, destination, tag, comm, request);
}
}

namespace {

class Discover : public testing::Test {
  protected:
    void SetUp() override { num_open_communicators = num_sends = 0; }
    void TearDown() override {
        EXPECT_EQ(num_open_communicators, 0);
        comm.close();
    }

    // Gathers `key_of_rank` and compares with the keys renumbered by their first appearance.
    template <class Key>
    void expect_gathered(Key key_of_rank) {
        std::vector<region_t> keys;
        std::vector<region_t> regions;
        for (rank_t rank = 0; rank < comm.num_ranks(); ++rank) {
            const region_t key = key_of_rank(rank);
            const auto known = std::find(keys.begin(), keys.end(), key);
            regions.push_back(static_cast<region_t>(known - keys.begin()));
            if (known == keys.end()) keys.push_back(key);
        }

        EXPECT_EQ(gather_topology(comm, key_of_rank(comm.rank())).to_string(),
                  topology::from_regions(regions).to_string());
    }

    communicator comm{MPI_COMM_WORLD};
};

template <class Call>
void expect_error(Call call, errc code, const std::string& message) {
    try {
        call();
        ADD_FAILURE() << "nothing was thrown instead of: " << message;
    } catch (const error& caught) {
        EXPECT_EQ(caught.code(), code);
        EXPECT_EQ(caught.what(), message);
    }
}

TEST_F(Discover, AMachineIsOneNode) {
    EXPECT_EQ(discover_topology(comm).to_string(),
              topology::one_region(comm.num_ranks()).to_string());
}

TEST_F(Discover, GathersBlocks) {
    expect_gathered([](rank_t rank) { return rank / 2; });
    expect_gathered([](rank_t rank) { return 100 - rank / 3; });
    expect_gathered([](rank_t) { return 2147483647; });
    expect_gathered([](rank_t rank) { return rank; });
    expect_gathered([](rank_t rank) { return 1000 - rank; });
}

TEST_F(Discover, GathersRoundRobin) {
    expect_gathered([](rank_t rank) { return rank % 2; });
    expect_gathered([](rank_t rank) { return 9 - rank % 3; });
    expect_gathered([](rank_t rank) { return rank / 2 % 2; });
}

TEST_F(Discover, GathersUnevenRegions) {
    expect_gathered([](rank_t rank) { return rank == 0; });
    expect_gathered([](rank_t rank) { return rank < 3 ? 4 : 2; });
    expect_gathered([](rank_t rank) { return rank < 1 ? 7 : rank < 3 ? 5 : 6; });
}

TEST_F(Discover, GathersRandomRegions) {
    std::mt19937 random(271828);
    for (int round = 0; round < 100; ++round) {
        std::vector<region_t> keys(static_cast<std::size_t>(comm.num_ranks()));
        for (region_t& key : keys) key = static_cast<region_t>(random() % 4);

        expect_gathered([&](rank_t rank) { return keys[static_cast<std::size_t>(rank)]; });
    }
}

TEST_F(Discover, SendsOneMessageForEveryRankButOne) {
    static_cast<void>(gather_topology(comm, comm.rank() % 3));

    EXPECT_EQ(num_sends, comm.rank() == 0 ? 0 : 1);
}

TEST_F(Discover, RepeatsWithTheSameResult) {
    for (int round = 0; round < 50; ++round)
        EXPECT_EQ(discover_topology(comm).to_string(),
                  topology::one_region(comm.num_ranks()).to_string());
}

TEST_F(Discover, FailsOnAllRanksIfAKeyIsNegative) {
    const rank_t last = comm.num_ranks() - 1;

    expect_error([&] { return gather_topology(comm, comm.rank() == last ? -3 : 0); },
                 errc::invalid_argument,
                 "the key of rank " + std::to_string(last) + " is -3; the least is 0");
}

TEST_F(Discover, FailsOnAllRanksIfTheLevelsDiffer) {
    if (comm.num_ranks() == 1) GTEST_SKIP() << "one rank cannot differ";

    expect_error(
        [&] {
            return discover_topology(comm, comm.rank() == 0 ? locality::node : locality::socket);
        },
        errc::invalid_argument,
        "the localities of rank 1 differ from those of rank 0; give all ranks the same");
}

TEST(Locality, NamesAreReadBack) {
    for (const locality level : {locality::node, locality::socket, locality::numa, locality::l3})
        EXPECT_EQ(crossdock::parse_locality(to_string(level)), level);
    expect_error([] { crossdock::parse_locality("rack"); }, errc::invalid_topology,
                 "locality \"rack\" is none of node, socket, numa, l3");
    expect_error([] { crossdock::parse_locality(""); }, errc::invalid_topology,
                 "locality \"\" is none of node, socket, numa, l3");
}

// Two single-core packages, each with a NUMA node and an L3 cache, in place of the real machine.
class TwoSockets : public Discover {
  protected:
    void SetUp() override {
        Discover::SetUp();
        sched_getaffinity(0, sizeof allowed, &allowed);
        int is_usable = CPU_ISSET(0, &allowed) && CPU_ISSET(1, &allowed);
        MPI_Allreduce(MPI_IN_PLACE, &is_usable, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (!is_usable) GTEST_SKIP() << "needs the machine's first two cores";
        setenv("HWLOC_SYNTHETIC", "pack:2 [numa] l3:1 core:1 pu:1", 1);
        setenv("HWLOC_THISSYSTEM", "1", 1);
    }
    void TearDown() override {
        unsetenv("HWLOC_SYNTHETIC");
        unsetenv("HWLOC_THISSYSTEM");
        sched_setaffinity(0, sizeof allowed, &allowed);
        Discover::TearDown();
    }

    static void bind_to_cores(std::initializer_list<int> cores) {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (const int core : cores) CPU_SET(core, &set);
        ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    }

    cpu_set_t allowed{};
};

TEST_F(TwoSockets, BoundRanksBelongToTheirObject) {
    std::vector<region_t> regions;
    for (rank_t rank = 0; rank < comm.num_ranks(); ++rank) regions.push_back(rank % 2);
    bind_to_cores({1 - comm.rank() % 2});

    for (const locality level : {locality::socket, locality::numa, locality::l3})
        EXPECT_EQ(discover_topology(comm, level).to_string(),
                  topology::from_regions(regions).to_string());
    EXPECT_EQ(discover_topology(comm).to_string(),
              topology::one_region(comm.num_ranks()).to_string());
}

TEST_F(TwoSockets, RanksThatNoObjectIncludesAreTheRemainder) {
    std::vector<region_t> regions;
    for (rank_t rank = 0; rank < comm.num_ranks(); ++rank) regions.push_back(rank % 3);
    if (comm.rank() % 3 == 2)
        bind_to_cores({0, 1});
    else
        bind_to_cores({comm.rank() % 3});

    for (const locality level : {locality::socket, locality::numa, locality::l3})
        EXPECT_EQ(discover_topology(comm, level).to_string(),
                  topology::from_regions(regions).to_string());
}

}  // namespace
