#include "src/exchange/peer_exchange_mpi.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::peer_exchange_test {
namespace {

class PeerExchange : public testing::Test {
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
    void expect_round(peer_exchange& rounds, int round) {
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

TEST_F(PeerExchange, RoundsStayApartFromEachOtherAndFromOtherExchanges) {
    for (int i = 0; i < 20; ++i) {
        peer_exchange rounds(comm, regions);
        for (int round = 0; round < 7; ++round) expect_round(rounds, round + i);
        if (i % 3 == 0) {
            exchange_words(comm, regions, {});
        } else {
            agree(comm, std::nullopt);
        }
    }
}

TEST_F(PeerExchange, HasABoundedNumberOfRounds) {
    peer_exchange rounds(comm, regions);
    for (int round = 0; round < peer_exchange::max_rounds; ++round) expect_round(rounds, round);

    const error fault = test::thrown_by([&] { rounds.next({}, 0); });

    EXPECT_EQ(fault.code(), errc::invalid_state);
    agree(comm, std::nullopt);
}

TEST_F(PeerExchange, CarriesLongMessages) {
    peer_exchange rounds(comm, regions);
    const rank_t next = (rank() + 1) % num_ranks();
    const std::vector<std::int64_t> long_one(300000, rank());
    const auto inbox = rounds.next({{next, long_one}}, 1);
    ASSERT_EQ(inbox.size(), 1U);
    EXPECT_EQ(inbox[0].peer, (rank() + num_ranks() - 1) % num_ranks());
    EXPECT_EQ(inbox[0].words, std::vector<std::int64_t>(300000, inbox[0].peer));
    agree(comm, std::nullopt);
}

}  // namespace
}  // namespace crossdock::peer_exchange_test
