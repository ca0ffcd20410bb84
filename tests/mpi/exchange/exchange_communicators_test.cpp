// Exchanges among others: on several communicators, beside a neighbor exchange, and as the
// environment wants them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "crossdock/neighbor_exchange.hpp"
#include "exchange/sends.hpp"
#include "src/model/machine_mpi.hpp"
#include "support/arrivals.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::exchange_communicators_test {
namespace {

using test::expect_thrown;

// A communicator of some of the ranks, in an order of its own.
class part {
  public:
    part(int color, int key) {
        MPI_Comm_split(MPI_COMM_WORLD, color, key, &user_);
        comm_.emplace(user_);
    }
    ~part() {
        comm_->close();
        MPI_Comm_free(&user_);
    }
    part(const part&) = delete;
    part& operator=(const part&) = delete;

    const communicator& comm() const { return *comm_; }

  private:
    MPI_Comm user_ = MPI_COMM_NULL;
    std::optional<communicator> comm_;
};

int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

void expect_delivered(const communicator& comm, const std::string& algorithm, std::uint64_t seed) {
    SCOPED_TRACE(seed);
    const auto regions = test::conformance_topologies(comm.num_ranks()).back();
    const auto messages =
        test::make_messages(test::skewed_destinations(comm.num_ranks(), seed),
                            [&](rank_t, std::int64_t) { return static_cast<count_t>(seed % 4); });
    const auto sends = test::sends_of(comm.rank(), messages);
    const auto count = static_cast<count_t>(seed % 4);
    test::expect_equal(
        sparse_exchange(context(comm, regions), sends.constant(count), {.algorithm = algorithm}),
        test::expected_at(comm.rank(), messages));
}

class ExchangeAmongOthers : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Algorithms, ExchangeAmongOthers,
                         testing::ValuesIn(test::exchange_algorithms()),
                         [](const auto& tested) { return test::test_name(tested.param); });

TEST_P(ExchangeAmongOthers, WorksOnPartsAtTheSameTime) {
    const int parity = world_rank() % 2;
    const part own(parity, world_rank());
    // The parts exchange other things and a different number of times.
    for (int round = 0; round < 10 + 5 * parity; ++round)
        expect_delivered(own.comm(), GetParam(), static_cast<std::uint64_t>(2 * round + parity));
}

TEST_P(ExchangeAmongOthers, WorksOnOverlappingCommunicatorsInTurn) {
    const part all(0, world_rank()), reversed(0, -world_rank());
    const part half(world_rank() % 2, 0);
    for (std::uint64_t round = 0; round < 5; ++round) {
        for (const part* one : {&all, &reversed, &half, &reversed})
            expect_delivered(one->comm(), GetParam(), round);
    }
}

// Some wait for the neighbor exchange first, and some exchange first and must forward meanwhile.
TEST_P(ExchangeAmongOthers, WorksWhileANeighborExchangeIsActive) {
    const part all(0, world_rank());
    const auto& comm = all.comm();
    const auto patterns = test::all_to_all_pattern(comm.num_ranks());
    const auto& own = patterns[static_cast<std::size_t>(comm.rank())];
    const bool waits_first = comm.rank() % 2 == 0;
    neighbor_exchange halo(context(comm, topology::one_region(comm.num_ranks())), own,
                           {.route = "grid:2", .item_bytes = sizeof(int)});
    for (int round = 0; round < 3; ++round) {
        test::forward_arrays<int> arrays(patterns, comm.rank(), round);
        // So that what is to be forwarded comes while the others are busy with the exchange.
        if (waits_first) std::this_thread::sleep_for(std::chrono::milliseconds(5));

        halo.start(arrays.items, arrays.slots);
        if (waits_first) halo.wait();
        expect_delivered(comm, GetParam(), static_cast<std::uint64_t>(round + 1));
        if (!waits_first) halo.wait();

        EXPECT_EQ(arrays.slots, arrays.expected);
    }
}

// `CROSSDOCK_ALGORITHM` on rank 0 only, as it is read there.
class ExchangeEnvironment : public testing::Test {
  protected:
    void SetUp() override { unsetenv("CROSSDOCK_ALGORITHM"); }
    void TearDown() override {
        unsetenv("CROSSDOCK_ALGORITHM");
        unsetenv("CROSSDOCK_CHECK");
    }

    static void choose(const char* name) {
        if (world_rank() == 0) setenv("CROSSDOCK_ALGORITHM", name, 1);
    }

    // What each rank sends if it has a value for each of the next two.
    static exchange_traffic traffic(const communicator& comm, const std::string& algorithm) {
        const rank_t num_ranks = comm.num_ranks();
        const auto messages = test::make_messages(
            test::make_destinations(
                num_ranks,
                [&](rank_t rank) {
                    return std::vector<rank_t>{(rank + 1) % num_ranks, (rank + 2) % num_ranks};
                }),
            [](rank_t, std::int64_t) { return count_t{1}; });
        exchange_traffic sent;
        const auto sends = test::sends_of(comm.rank(), messages);
        test::expect_equal(
            sparse_exchange(context(comm, topology::one_region(num_ranks)), sends.constant(1),
                            {.algorithm = algorithm, .sent = &sent}),
            test::expected_at(comm.rank(), messages));
        return sent;
    }
};

TEST_F(ExchangeEnvironment, ChoosesForAuto) {
    const part before(0, world_rank());
    const auto by_rule = traffic(before.comm(), "auto");
    for (const char* name :
         {"nonblocking", "pex", "rma", "rma_fence", "locality_nonblocking", "routed:grid:3"}) {
        SCOPED_TRACE(name);
        choose(name);
        const part chosen(0, world_rank());
        EXPECT_EQ(traffic(chosen.comm(), "auto"), traffic(before.comm(), name));
        EXPECT_EQ(traffic(chosen.comm(), "routed:hypercube"),
                  traffic(before.comm(), "routed:hypercube"));
    }
    if (before.comm().num_ranks() > 1) {
        EXPECT_NE(traffic(before.comm(), "nonblocking"), by_rule);
        EXPECT_NE(traffic(before.comm(), "routed:grid:3"), traffic(before.comm(), "nonblocking"));
    }
    EXPECT_EQ(traffic(before.comm(), "auto"), by_rule) << "what was read first stays";
}

TEST_F(ExchangeEnvironment, ChecksKnownNumbersOfSourcesThatAreWrongButAddUp) {
    if (world_rank() == 0) setenv("CROSSDOCK_CHECK", "1", 1);
    const part checked(0, world_rank());
    const rank_t rank = checked.comm().rank(), num_ranks = checked.comm().num_ranks();
    if (num_ranks == 1) GTEST_SKIP() << "one number cannot be wrong and add up";
    const std::vector<rank_t> destinations{(rank + 1) % num_ranks};
    const std::vector<int> values{rank};
    const auto exchange = [&](const std::string& algorithm, std::optional<count_t> num_sources) {
        return sparse_exchange(context(checked.comm(), topology::one_region(num_ranks)),
                               constant_messages<int>{destinations, 1, values},
                               {.algorithm = algorithm, .num_sources = num_sources});
    };
    for (const auto& algorithm : test::exchange_algorithms()) {
        SCOPED_TRACE(algorithm);
        // The last two ranks' numbers are wrong, and add up.
        const count_t said = rank == num_ranks - 2 ? 0 : rank == num_ranks - 1 ? 2 : 1;
        expect_thrown(errc::count_mismatch, num_ranks - 2, [&] { exchange(algorithm, said); });
        expect_thrown(errc::count_mismatch, 1, [&] {
            exchange(algorithm, rank == 1 ? std::optional<count_t>() : std::optional<count_t>(1));
        });
        EXPECT_EQ(exchange(algorithm, 1).num_messages(), 1u);
        EXPECT_EQ(exchange(algorithm, std::nullopt).num_messages(), 1u);
    }
}

TEST_F(ExchangeEnvironment, ChecksThatOptionsAreEqual) {
    if (world_rank() == 0) setenv("CROSSDOCK_CHECK", "1", 1);
    const part checked(0, world_rank());
    const rank_t rank = checked.comm().rank(), num_ranks = checked.comm().num_ranks();
    if (num_ranks == 1) GTEST_SKIP() << "options of one rank do not differ";
    const auto exchange = [&](const topology& regions, const exchange_options& options) {
        return sparse_exchange(context(checked.comm(), regions), {(rank + 1) % num_ranks}, {1},
                               std::vector<int>{rank}, options);
    };
    const auto one_region = topology::one_region(num_ranks);
    const auto each_alone = topology::from_string(std::to_string(num_ranks) + "x1");
    const auto expect_refused = [&](const topology& regions, const exchange_options& options) {
        expect_thrown(errc::invalid_argument, 1, [&] { exchange(regions, options); });
    };
    const bool is_odd = rank == 1;
    expect_refused(one_region, {.algorithm = is_odd ? "personalized" : "nonblocking"});
    expect_refused(one_region, {.max_message_bytes = is_odd ? 8 : 16});
    expect_refused(one_region, {.max_forwarded_bytes = is_odd ? 8 : 16});
    expect_refused(is_odd ? each_alone : one_region, {});
    EXPECT_EQ(exchange(one_region, {}).num_messages(), 1u);
}

TEST_F(ExchangeEnvironment, LeavesAutoToARouteUntilMemoryPays) {
    const part all(0, world_rank()), asked(0, world_rank());
    const auto one_region = topology::one_region(all.comm().num_ranks());
    const auto by_route = traffic(
        all.comm(), to_string(choose_exchange_algorithm(one_region, machine_of(all.comm()))));
    for (int round = 0; round < 16; ++round) EXPECT_EQ(traffic(all.comm(), "auto"), by_route);
    EXPECT_EQ(traffic(all.comm(), "auto"), exchange_traffic{});

    // Who asks means to exchange often.
    const auto found = resolve_exchange_algorithm({asked.comm(), one_region}, "auto", true);
    EXPECT_EQ(to_string(found), one_region.num_ranks() > 1 ? "shared_memory" : "routed:direct");
    EXPECT_EQ(traffic(asked.comm(), "auto"), exchange_traffic{});
}

TEST_F(ExchangeEnvironment, MayNameAutoOrNothing) {
    const part before(0, world_rank());
    for (const char* name : {"auto", ""}) {
        choose(name);
        const part chosen(0, world_rank());
        EXPECT_EQ(traffic(chosen.comm(), "auto"), traffic(before.comm(), "auto"));
    }
}

TEST_F(ExchangeEnvironment, LeavesMessagesOfAnySizeToTheRuleUnderRma) {
    choose("rma");
    const part all(0, world_rank());
    const auto messages = test::make_messages(test::skewed_destinations(all.comm().num_ranks(), 1),
                                              test::uneven_count);
    const auto sends = test::sends_of(all.comm().rank(), messages);
    const auto regions = topology::one_region(all.comm().num_ranks());
    for (int round = 0; round < 3; ++round) {
        test::expect_equal(sparse_exchange(context(all.comm(), regions), sends.variable()),
                           test::expected_at(all.comm().rank(), messages));
        expect_delivered(all.comm(), "auto", 1);
    }
}

TEST_F(ExchangeEnvironment, IsRefusedOnAllRanksIfItNamesNothingKnown) {
    choose("telepathy");
    const part all(0, world_rank());
    const auto use = [&] { expect_delivered(all.comm(), "auto", 1); };
    for (int round = 0; round < 2; ++round) expect_thrown(errc::invalid_argument, use);
    expect_delivered(all.comm(), "nonblocking", 2);
}

}  // namespace
}  // namespace crossdock::exchange_communicators_test
