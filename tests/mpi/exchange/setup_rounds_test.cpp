#include "src/exchange/setup_rounds_mpi.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "src/base/named_values_mpi.hpp"
#include "support/all_ranks.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::setup_rounds_test {
namespace {

class SetupRounds : public test::AllRanks {
  protected:
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
        for (rank_t peer = 0; peer < num_ranks; ++peer) {
            if (sends(rank, peer, round)) to_send.push_back({peer, words(rank, peer, round)});
            if (sends(peer, rank, round)) expected.push_back({peer, words(peer, rank, round)});
        }
        EXPECT_EQ(rounds.next(to_send, expected.size()), expected);
    }
};

TEST_F(SetupRounds, RoundsStayApartFromEachOtherAndFromOtherExchanges) {
    for (int i = 0; i < 20; ++i) {
        setup_rounds rounds(comm, one_region);
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
    setup_rounds rounds(comm, one_region);
    rounds.hear_partners([&] {
        for (int round = 0; round < setup_rounds::max_rounds; ++round) expect_round(rounds, round);

        test::expect_thrown(errc::invalid_state, [&] { rounds.next({}, 0); });
    });
    rounds.finish();
}

TEST_F(SetupRounds, CarriesLongMessages) {
    setup_rounds rounds(comm, one_region);
    const std::vector<std::int64_t> long_one(300000, rank);
    std::vector<word_message> inbox;
    rounds.hear_partners([&] { inbox = rounds.next({{next, long_one}}, 1); });
    ASSERT_EQ(inbox.size(), 1U);
    EXPECT_EQ(inbox[0].peer, previous);
    EXPECT_EQ(inbox[0].words, std::vector<std::int64_t>(300000, inbox[0].peer));
    rounds.finish();
}

// Where in a conversation the last rank fails; all hear of it at its next round with all ranks.
TEST_F(SetupRounds, OneRanksFaultIsThrownByAllAndNobodyMakesAStepAfterIt) {
    const auto same = equal_arguments("a test", [](named_values&) {});
    for (int place = 0; place < 5; ++place) {
        setup_rounds rounds(comm, one_region);
        int num_steps = 0;
        const auto step = [&](int here) {
            rounds.attempt([&] {
                if (here == place && is_last) throw error(errc::count_overflow, "here");
                ++num_steps;
            });
        };
        const auto ring = [&] {
            rounds.hear_partners([&] {
                rounds.next({{next, {1}}}, 1);
                step(3);
                if (rounds.fault()) throw error(*rounds.fault());
                rounds.next({{next, {2}}}, 1);
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
        EXPECT_EQ(fault.rank(), last_rank) << place;
        EXPECT_TRUE(!is_last || num_steps == place) << num_steps << ' ' << place;
        EXPECT_EQ(num_faults > 0, place >= 2) << place;
        // No message is left.
        int is_left = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm.get(), &is_left, MPI_STATUS_IGNORE);
        EXPECT_EQ(is_left, 0) << place;
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

TEST_F(SetupRounds, OtherArgumentsAreAnErrorOnAllRanksEvenAnotherTopology) {
    if (num_ranks == 1) GTEST_SKIP() << "needs two ranks";
    const auto same_of = [](int value) {
        return equal_arguments("a test", [=](named_values& v) { v.add("value", value); });
    };
    for (int i = 0; i < 2; ++i) {
        setup_rounds rounds(comm, one_region);
        test::expect_thrown(errc::invalid_argument, last_rank,
                            [&] { rounds.open({}, same_of(is_last ? 2 : 1)); });
        setup_rounds(comm, one_region).open({}, same_of(1));  // has a topology from now on
    }
}

}  // namespace
}  // namespace crossdock::setup_rounds_test
