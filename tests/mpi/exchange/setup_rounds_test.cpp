#include "src/exchange/setup_rounds_mpi.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "src/base/named_values_mpi.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::setup_rounds_test {
namespace {

class SetupRounds : public testing::Test {
  protected:
    void TearDown() override { comm.close(); }

    rank_t rank() const { return comm.rank(); }
    rank_t num_ranks() const { return comm.num_ranks(); }
    // Those that `from` sends to in a round, whose messages may be empty.
    bool sends(rank_t from, rank_t to, int round) const {
        return from != to && (3 * from + to + round) % 3 != 0;
    }
    std::vector<std::int64_t> words(rank_t from, rank_t to, int round) const {
        std::vector<std::int64_t> result(static_cast<std::size_t>((from + 2 * to + round) % 4));
        std::iota(result.begin(), result.end(), 1000 * round + 10 * from + to);
        return result;
    }
    void expect_round(setup_rounds& rounds, int round) {
        std::vector<word_message> to_send, expected;
        for (rank_t peer = 0; peer < num_ranks(); ++peer) {
            if (sends(rank(), peer, round)) to_send.push_back({peer, words(rank(), peer, round)});
            if (sends(peer, rank(), round)) expected.push_back({peer, words(peer, rank(), round)});
        }
        EXPECT_EQ(rounds.next(to_send, expected.size()), expected);
    }

    communicator comm{MPI_COMM_WORLD};
    topology regions = topology::one_region(comm.num_ranks());
};

TEST_F(SetupRounds, RoundsStayApartFromEachOtherAndFromOtherExchanges) {
    for (int i = 0; i < 20; ++i) {
        setup_rounds rounds(comm, regions);
        rounds.hear_partners([&] {
            for (int round = 0; round < 7; ++round) expect_round(rounds, round + i);
        });
        if (i % 3 == 0) {
            rounds.hear_anybody({});
        } else {
            rounds.finish();
        }
    }
}

TEST_F(SetupRounds, HasABoundedNumberOfRounds) {
    setup_rounds rounds(comm, regions);
    rounds.hear_partners([&] {
        for (int round = 0; round < setup_rounds::max_rounds; ++round) expect_round(rounds, round);

        const error fault = test::thrown_by([&] { rounds.next({}, 0); });

        EXPECT_EQ(fault.code(), errc::invalid_state);
    });
    rounds.finish();
}

TEST_F(SetupRounds, CarriesLongMessages) {
    setup_rounds rounds(comm, regions);
    const rank_t next = (rank() + 1) % num_ranks();
    const std::vector<std::int64_t> long_one(300000, rank());
    std::vector<word_message> inbox;
    rounds.hear_partners([&] { inbox = rounds.next({{next, long_one}}, 1); });
    ASSERT_EQ(inbox.size(), 1U);
    EXPECT_EQ(inbox[0].peer, (rank() + num_ranks() - 1) % num_ranks());
    EXPECT_EQ(inbox[0].words, std::vector<std::int64_t>(300000, inbox[0].peer));
    rounds.finish();
}

// Where in a conversation the last rank fails; all hear of it at its next round with all ranks.
TEST_F(SetupRounds, OneRanksFaultIsThrownByAllAndNobodyMakesAStepAfterIt) {
    const rank_t last = num_ranks() - 1;
    const auto same = equal_arguments("a test", [](named_values&) {});
    for (int place = 0; place < 5; ++place) {
        setup_rounds rounds(comm, regions);
        int num_steps = 0;
        const auto step = [&](int here) {
            rounds.attempt([&] {
                if (here == place && rank() == last) throw error(errc::count_overflow, "here");
                ++num_steps;
            });
        };
        const auto ring = [&] {
            rounds.hear_partners([&] {
                rounds.next({{(rank() + 1) % num_ranks(), {1}}}, 1);
                step(3);
                if (rounds.fault()) throw error(*rounds.fault());
                rounds.next({{(rank() + 1) % num_ranks(), {2}}}, 1);
            });
        };
        std::int64_t num_faults = 0;
        const error fault = test::thrown_by([&] {
            step(0);
            rounds.open({}, same);
            step(1);
            rounds.hear_anybody({});
            step(2);
            ring();
            step(4);
            num_faults = rounds.fault() ? 1 : 0;
            rounds.run(
                [&](MPI_Request* request) {
                    return MPI_Iallreduce(MPI_IN_PLACE, &num_faults, 1, MPI_INT64_T, MPI_SUM,
                                          comm.get(), request);
                },
                [&] { return num_faults > 0; });
        });

        EXPECT_EQ(fault.code(), errc::count_overflow) << place;
        EXPECT_EQ(fault.rank(), last) << place;
        EXPECT_TRUE(rank() != last || num_steps == place) << num_steps << ' ' << place;
        EXPECT_EQ(num_faults > 0, place >= 2) << place;
    }
}

TEST_F(SetupRounds, OtherArgumentsAreAnErrorOnAllRanksEvenAnotherTopology) {
    if (num_ranks() == 1) GTEST_SKIP() << "needs two ranks";
    const auto same_of = [](int value) {
        return equal_arguments("a test", [=](named_values& v) { v.add("value", value); });
    };
    for (int i = 0; i < 2; ++i) {
        setup_rounds rounds(comm, regions);
        const error fault =
            test::thrown_by([&] { rounds.open({}, same_of(rank() == num_ranks() - 1 ? 2 : 1)); });
        EXPECT_EQ(fault.code(), errc::invalid_argument);
        EXPECT_EQ(fault.rank(), num_ranks() - 1);
        setup_rounds(comm, regions).open({}, same_of(1));  // has a topology from now on
    }
}

}  // namespace
}  // namespace crossdock::setup_rounds_test
