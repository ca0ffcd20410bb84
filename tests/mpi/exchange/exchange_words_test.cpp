#include "src/exchange/exchange_words_mpi.hpp"

#include <gtest/gtest.h>

#include "src/base/named_values_mpi.hpp"
#include "support/all_ranks.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::exchange_words_test {
namespace {

class ExchangeWords : public test::AllRanks {
  protected:
    std::vector<word_message> exchange(std::vector<word_message> to_send) {
        return exchange_words(comm, one_region, to_send);
    }

    void expect_rounds_apart();
};

TEST_F(ExchangeWords, DeliversNothingWhereNothingIsSent) { EXPECT_TRUE(exchange({}).empty()); }

TEST_F(ExchangeWords, SortsBySourceAndDeliversEmptyAndOwnMessages) {
    std::vector<word_message> to_send;
    for (rank_t peer = num_ranks - 1; peer >= 0; --peer) {
        to_send.push_back({peer, std::vector<std::int64_t>(static_cast<std::size_t>(peer), rank)});
    }
    std::vector<word_message> expected;
    for (rank_t source = 0; source < num_ranks; ++source) {
        expected.push_back(
            {source, std::vector<std::int64_t>(static_cast<std::size_t>(rank), source)});
    }

    EXPECT_EQ(exchange(to_send), expected);
}

void ExchangeWords::expect_rounds_apart() {
    for (int round = 0; round < 200; ++round) {
        const rank_t to = (rank + round) % num_ranks;
        const rank_t from = (rank - round % num_ranks + num_ranks) % num_ranks;
        // Every third rank is silent, so that ranks leave the rounds at different times.
        std::vector<word_message> to_send;
        if ((rank + round) % 3 != 0) to_send.push_back({to, {round, rank}});
        std::vector<word_message> expected;
        if ((from + round) % 3 != 0) expected.push_back({from, {round, from}});

        ASSERT_EQ(exchange(to_send), expected) << round;
    }
}

TEST_F(ExchangeWords, KeepsExchangesThatFollowEachOtherApart) { expect_rounds_apart(); }

TEST_F(ExchangeWords, KeepsThemApartInTheMemoryThatOthersHaveMade) {
    resolve_exchange_algorithm(where, "auto", false);

    expect_rounds_apart();
}

TEST_F(ExchangeWords, TellsInPassingThatArgumentsDiffer) {
    const auto exchange_colored = [&](const char* color) {
        const auto list = [color](named_values& values) { values.add("color", color); };
        return exchange_words(comm, one_region, {}, std::nullopt,
                              equal_arguments("a picture", list));
    };
    for (const char* const color : {"red", "green", "blue"})
        EXPECT_TRUE(exchange_colored(color).empty());
    if (num_ranks == 1) return;
    const error fault = test::thrown_by([&] { exchange_colored(rank == 1 ? "red" : "green"); });
    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_STREQ(fault.what(), "rank 1 has color = red, rank 0 has green; give all ranks the same");
    EXPECT_TRUE(exchange_colored("blue").empty());
}

}  // namespace
}  // namespace crossdock::exchange_words_test
