#include "src/exchange/agreement.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace crossdock::agreement_test {
namespace {

bool is_merged_good(const std::vector<error_vote>& votes) {
    agreement all(votes[0]);
    for (const auto& vote : votes) all.merge(agreement(vote));
    return all.is_good();
}

bool is_sum_good(const std::vector<error_vote>& votes, const std::vector<count_t>& balances = {}) {
    summed_votes::words sums{};
    for (std::size_t rank = 0; rank < votes.size(); ++rank) {
        const auto words = summed_votes::of(votes[rank], balances.empty() ? 0 : balances[rank]);
        for (std::size_t i = 0; i < words.size(); ++i) sums[i] += words[i];
    }
    return summed_votes::is_good(sums.data(), static_cast<rank_t>(votes.size()));
}

void expect_both(bool is_good, const std::vector<error_vote>& votes) {
    EXPECT_EQ(is_merged_good(votes), is_good);
    EXPECT_EQ(is_sum_good(votes), is_good);
}

constexpr error_vote any_number{false, {-1, 8}};
constexpr error_vote three{false, {3, 8}};

TEST(Agreement, IsGoodIfAllVoteTheSame) {
    for (const error_vote& vote :
         {any_number, three, error_vote{false, {0, 1}}, error_vote{false, {count_t{1} << 40, 1}}}) {
        for (const std::size_t num_ranks : {1u, 2u, 5u, 1000u})
            expect_both(true, std::vector<error_vote>(num_ranks, vote));
    }
}

TEST(Agreement, IsBadIfOneRankHasAFault) {
    for (const std::size_t num_ranks : {1u, 2u, 5u, 8u}) {
        for (std::size_t faulty = 0; faulty < num_ranks; ++faulty) {
            std::vector<error_vote> votes(num_ranks, three);
            votes[faulty].has_fault = true;
            expect_both(false, votes);
        }
    }
}

TEST(Agreement, IsBadIfOneRankHasAnotherShape) {
    for (const error_vote& other :
         {any_number, error_vote{false, {4, 8}}, error_vote{false, {3, 4}},
          error_vote{false, {0, 8}}, error_vote{false, {8, 3}}}) {
        for (const std::size_t num_ranks : {2u, 3u, 8u, 1024u}) {
            for (const std::size_t at : {std::size_t{0}, num_ranks / 2, num_ranks - 1}) {
                std::vector<error_vote> votes(num_ranks, three);
                votes[at] = other;
                expect_both(false, votes);
            }
        }
    }
}

TEST(Agreement, IsBadIfDifferencesWouldCancelInASum) {
    expect_both(false, {{false, {2, 8}}, {false, {3, 8}}, {false, {4, 8}}});
    expect_both(false, {{false, {3, 7}}, {false, {3, 8}}, {false, {3, 9}}});
    expect_both(false, {{false, {4, 7}}, {false, {3, 8}}});
}

TEST(Agreement, IsTheSameMergedAndSummed) {
    std::mt19937_64 random(1);
    const auto draw = [&](count_t limit) {
        return static_cast<count_t>(random() % static_cast<std::uint64_t>(limit));
    };
    int num_good = 0;
    for (int round = 0; round < 2000; ++round) {
        std::vector<error_vote> votes(static_cast<std::size_t>(1 + draw(4)));
        for (auto& vote : votes) vote = {draw(20) == 0, {draw(2) - 1, 8 >> draw(2)}};
        const bool is_good = is_merged_good(votes);
        EXPECT_EQ(is_sum_good(votes), is_good);
        num_good += is_good;
    }
    EXPECT_GT(num_good, 200);
    EXPECT_LT(num_good, 1800);
}

TEST(Agreement, IsTheSameHoweverOftenAVoteIsMerged) {
    agreement once(three), often(three);
    once.merge(agreement(any_number));
    for (int i = 0; i < 3; ++i) {
        often.merge(agreement(any_number));
        often.merge(once);
    }
    EXPECT_EQ(often.least, (std::array<count_t, 2>{-1, 8}));
    EXPECT_EQ(often.greatest, (std::array<count_t, 2>{3, 8}));
    EXPECT_EQ(often.least, once.least);
    EXPECT_EQ(often.greatest, once.greatest);
}

TEST(SummedVotes, AreGoodOnlyIfBalancesAddUpToZero) {
    const std::vector<error_vote> votes(3, three);
    EXPECT_TRUE(is_sum_good(votes, {5, -7, 2}));
    EXPECT_FALSE(is_sum_good(votes, {5, -7, 3}));
    EXPECT_FALSE(is_sum_good(votes, {0, 0, -1}));
}

}  // namespace
}  // namespace crossdock::agreement_test
