#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"

#include <gtest/gtest.h>

#include "src/base/named_values_mpi.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::exchange_words_test {
namespace {

class ExchangeWords : public testing::Test {
  protected:
    void TearDown() override { comm.close(); }

    std::vector<word_message> exchange(std::vector<word_message> to_send) {
        return exchange_words(comm, topology::one_region(comm.num_ranks()), to_send);
    }

    void expect_rounds_apart();

    communicator comm{MPI_COMM_WORLD};
};

TEST_F(ExchangeWords, DeliversNothingWhereNothingIsSent) { EXPECT_TRUE(exchange({}).empty()); }

TEST_F(ExchangeWords, SortsBySourceAndDeliversEmptyAndOwnMessages) {
    std::vector<word_message> to_send;
    for (rank_t peer = comm.num_ranks() - 1; peer >= 0; --peer) {
        to_send.push_back(
            {peer, std::vector<std::int64_t>(static_cast<std::size_t>(peer), comm.rank())});
    }
    std::vector<word_message> expected;
    for (rank_t source = 0; source < comm.num_ranks(); ++source) {
        expected.push_back(
            {source, std::vector<std::int64_t>(static_cast<std::size_t>(comm.rank()), source)});
    }

    EXPECT_EQ(exchange(to_send), expected);
}

void ExchangeWords::expect_rounds_apart() {
    for (int round = 0; round < 200; ++round) {
        const rank_t to = (comm.rank() + round) % comm.num_ranks();
        const rank_t from =
            (comm.rank() - round % comm.num_ranks() + comm.num_ranks()) % comm.num_ranks();
        // Every third rank is silent, so that ranks leave the rounds at different times.
        std::vector<word_message> to_send;
        if ((comm.rank() + round) % 3 != 0) to_send.push_back({to, {round, comm.rank()}});
        std::vector<word_message> expected;
        if ((from + round) % 3 != 0) expected.push_back({from, {round, from}});

        ASSERT_EQ(exchange(to_send), expected) << round;
    }
}

TEST_F(ExchangeWords, KeepsExchangesThatFollowEachOtherApart) { expect_rounds_apart(); }

TEST_F(ExchangeWords, KeepsThemApartInTheMemoryThatOthersHaveMade) {
    resolve_exchange_algorithm({comm, topology::one_region(comm.num_ranks())}, "auto", false);

    expect_rounds_apart();
}

TEST_F(ExchangeWords, TellsInPassingThatArgumentsDiffer) {
    const auto regions = topology::one_region(comm.num_ranks());
    const auto exchange_colored = [&](const char* color) {
        const auto list = [color](named_values& values) { values.add("color", color); };
        return exchange_words(comm, regions, {}, std::nullopt, equal_arguments("a picture", list));
    };
    for (const char* const color : {"red", "green", "blue"})
        EXPECT_TRUE(exchange_colored(color).empty());
    if (comm.num_ranks() == 1) return;
    const error fault =
        test::thrown_by([&] { exchange_colored(comm.rank() == 1 ? "red" : "green"); });
    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_STREQ(fault.what(), "rank 1 has color = red, rank 0 has green; give all ranks the same");
    EXPECT_TRUE(exchange_colored("blue").empty());
}

}  // namespace
}  // namespace crossdock::exchange_words_test
