#include "../../../src/exchange/verdict.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace crossdock::verdict_test {
namespace {

bool is_merged_good(const std::vector<exchange_claim>& claims) {
    exchange_verdict verdict(claims[0]);
    for (const auto& claim : claims) verdict.merge(exchange_verdict(claim));
    return verdict.is_good();
}

bool is_sum_good(const std::vector<exchange_claim>& claims,
                 const std::vector<count_t>& balances = {}) {
    summed_claims::words sums{};
    for (std::size_t rank = 0; rank < claims.size(); ++rank) {
        const auto words = summed_claims::of(claims[rank], balances.empty() ? 0 : balances[rank]);
        for (std::size_t i = 0; i < words.size(); ++i) sums[i] += words[i];
    }
    return summed_claims::is_good(sums.data(), static_cast<rank_t>(claims.size()));
}

void expect_both(bool is_good, const std::vector<exchange_claim>& claims) {
    EXPECT_EQ(is_merged_good(claims), is_good);
    EXPECT_EQ(is_sum_good(claims), is_good);
}

constexpr exchange_claim any_number{false, {-1, 8}};
constexpr exchange_claim three{false, {3, 8}};

TEST(ExchangeVerdict, IsGoodIfAllClaimTheSame) {
    for (const exchange_claim& claim : {any_number, three, exchange_claim{false, {0, 1}},
                                        exchange_claim{false, {count_t{1} << 40, 1}}}) {
        for (const std::size_t num_ranks : {1u, 2u, 5u, 1000u})
            expect_both(true, std::vector<exchange_claim>(num_ranks, claim));
    }
}

TEST(ExchangeVerdict, IsBadIfOneRankHasAFault) {
    for (const std::size_t num_ranks : {1u, 2u, 5u, 8u}) {
        for (std::size_t faulty = 0; faulty < num_ranks; ++faulty) {
            std::vector<exchange_claim> claims(num_ranks, three);
            claims[faulty].has_fault = true;
            expect_both(false, claims);
        }
    }
}

TEST(ExchangeVerdict, IsBadIfOneRankHasAnotherShape) {
    for (const exchange_claim& other :
         {any_number, exchange_claim{false, {4, 8}}, exchange_claim{false, {3, 4}},
          exchange_claim{false, {0, 8}}, exchange_claim{false, {8, 3}}}) {
        for (const std::size_t num_ranks : {2u, 3u, 8u, 1024u}) {
            for (const std::size_t at : {std::size_t{0}, num_ranks / 2, num_ranks - 1}) {
                std::vector<exchange_claim> claims(num_ranks, three);
                claims[at] = other;
                expect_both(false, claims);
            }
        }
    }
}

TEST(ExchangeVerdict, IsBadIfDifferencesWouldCancelInASum) {
    expect_both(false, {{false, {2, 8}}, {false, {3, 8}}, {false, {4, 8}}});
    expect_both(false, {{false, {3, 7}}, {false, {3, 8}}, {false, {3, 9}}});
    expect_both(false, {{false, {4, 7}}, {false, {3, 8}}});
}

TEST(ExchangeVerdict, IsTheSameMergedAndSummed) {
    std::mt19937_64 random(1);
    const auto draw = [&](count_t limit) {
        return static_cast<count_t>(random() % static_cast<std::uint64_t>(limit));
    };
    int num_good = 0;
    for (int round = 0; round < 2000; ++round) {
        std::vector<exchange_claim> claims(static_cast<std::size_t>(1 + draw(4)));
        for (auto& claim : claims) claim = {draw(20) == 0, {draw(2) - 1, 8 >> draw(2)}};
        const bool is_good = is_merged_good(claims);
        EXPECT_EQ(is_sum_good(claims), is_good);
        num_good += is_good;
    }
    EXPECT_GT(num_good, 200);
    EXPECT_LT(num_good, 1800);
}

TEST(ExchangeVerdict, IsTheSameHoweverOftenAClaimIsMerged) {
    exchange_verdict once(three), often(three);
    once.merge(exchange_verdict(any_number));
    for (int i = 0; i < 3; ++i) {
        often.merge(exchange_verdict(any_number));
        often.merge(once);
    }
    EXPECT_EQ(often.least, (std::array<count_t, 2>{-1, 8}));
    EXPECT_EQ(often.greatest, (std::array<count_t, 2>{3, 8}));
    EXPECT_EQ(often.least, once.least);
    EXPECT_EQ(often.greatest, once.greatest);
}

TEST(SummedClaims, AreGoodOnlyIfBalancesAddUpToZero) {
    const std::vector<exchange_claim> claims(3, three);
    EXPECT_TRUE(is_sum_good(claims, {5, -7, 2}));
    EXPECT_FALSE(is_sum_good(claims, {5, -7, 3}));
    EXPECT_FALSE(is_sum_good(claims, {0, 0, -1}));
}

}  // namespace
}  // namespace crossdock::verdict_test
