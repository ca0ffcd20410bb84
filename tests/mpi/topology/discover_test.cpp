#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "crossdock/discover_topology.hpp"
#include "support/all_ranks.hpp"
#include "support/thrown_by.hpp"
#include "support/watched_calls.hpp"

namespace crossdock::discover_test {
namespace {

int num_open_communicators = 0;
int num_sends = 0;

class Discover : public test::AllRanks {
  protected:
    void SetUp() override {
        num_open_communicators = num_sends = 0;
        test::on_mpi_call = [](const test::mpi_call& call) {
            if (call.name == "Isend") ++num_sends;
            if (call.name == "Comm_free") --num_open_communicators;
            if (call.is_one_of({"Comm_split", "Comm_split_type"})) ++num_open_communicators;
        };
    }
    void TearDown() override {
        EXPECT_EQ(num_open_communicators, 0);
        AllRanks::TearDown();
    }

    // Gathers `key_of_rank` and compares with the keys renumbered by their first appearance.
    template <class Key>
    void expect_gathered(Key key_of_rank) {
        std::vector<region_t> keys;
        std::vector<region_t> regions;
        for (rank_t r = 0; r < num_ranks; ++r) {
            const region_t key = key_of_rank(r);
            const auto known = std::find(keys.begin(), keys.end(), key);
            regions.push_back(static_cast<region_t>(known - keys.begin()));
            if (known == keys.end()) keys.push_back(key);
        }

        EXPECT_EQ(gather_topology(comm, key_of_rank(rank)).to_string(),
                  topology::from_regions(regions).to_string());
    }

    void expect_found(const topology& expected, locality level = locality::node) {
        EXPECT_EQ(discover_topology(comm, level).to_string(), expected.to_string());
    }

    void expect_objects(const std::vector<region_t>& regions) {
        for (const locality level : {locality::socket, locality::numa, locality::l3})
            expect_found(topology::from_regions(regions), level);
    }
};

TEST_F(Discover, AMachineIsOneNodeEveryTime) {
    for (int round = 0; round < 50; ++round) expect_found(one_region);
}

TEST_F(Discover, GathersBlocksRoundRobinAndUnevenRegions) {
    expect_gathered([](rank_t r) { return r / 2; });
    expect_gathered([](rank_t r) { return 100 - r / 3; });
    expect_gathered([](rank_t) { return 2147483647; });
    expect_gathered([](rank_t r) { return 1000 - r; });
    expect_gathered([](rank_t r) { return 9 - r % 3; });
    expect_gathered([](rank_t r) { return r / 2 % 2; });
    expect_gathered([](rank_t r) { return r == 0; });
    expect_gathered([](rank_t r) { return r < 1 ? 7 : r < 3 ? 5 : 6; });
}

TEST_F(Discover, GathersRandomRegions) {
    std::mt19937 random(271828);
    for (int round = 0; round < 100; ++round) {
        std::vector<region_t> keys(static_cast<std::size_t>(num_ranks));
        for (region_t& key : keys) key = static_cast<region_t>(random() % 4);

        expect_gathered([&](rank_t r) { return keys[static_cast<std::size_t>(r)]; });
    }
}

TEST_F(Discover, SendsOneMessageForEveryRankButOne) {
    static_cast<void>(gather_topology(comm, rank % 3));

    EXPECT_EQ(num_sends, rank == 0 ? 0 : 1);
}

TEST_F(Discover, FailsOnAllRanksIfAKeyIsNegative) {
    const error fault = test::thrown_by([&] { return gather_topology(comm, is_last ? -3 : 0); });
    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_EQ(fault.what(),
              "the key of rank " + std::to_string(last_rank) + " is -3; the minimum is 0");
}

TEST_F(Discover, FailsOnAllRanksIfTheLevelsDiffer) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank cannot differ";
    const auto own = rank == 0 ? locality::node : locality::socket;
    test::expect_thrown(errc::invalid_argument, [&] { return discover_topology(comm, own); });
}

TEST(Locality, NamesAreReadBack) {
    for (const locality level : {locality::node, locality::socket, locality::numa, locality::l3})
        EXPECT_EQ(parse_locality(to_string(level)), level);
    for (const char* name : {"rack", ""})
        test::expect_thrown(errc::invalid_topology, [&] { parse_locality(name); });
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
    for (rank_t r = 0; r < num_ranks; ++r) regions.push_back(r % 2);
    bind_to_cores({1 - rank % 2});

    expect_objects(regions);
    expect_found(one_region);
}

TEST_F(TwoSockets, RanksThatNoObjectIncludesAreTheRemainder) {
    std::vector<region_t> regions;
    for (rank_t r = 0; r < num_ranks; ++r) regions.push_back(r % 3);
    if (rank % 3 == 2)
        bind_to_cores({0, 1});
    else
        bind_to_cores({rank % 3});

    expect_objects(regions);
}

}  // namespace
}  // namespace crossdock::discover_test
