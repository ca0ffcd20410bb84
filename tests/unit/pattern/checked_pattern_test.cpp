#include "src/pattern/checked_pattern.hpp"

#include <gtest/gtest.h>

#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::checked_pattern_test {
namespace {

const pattern all = test::all_to_all_pattern(8)[3];

TEST(CheckedPattern, IsValidatedUntilItHasPassed) {
    pattern p = all;
    p.sends.ranks[2] = -4;
    const checked_pattern checked(p);
    for (int round = 0; round < 2; ++round)
        EXPECT_EQ(test::thrown_by([&] { checked.check(); }).code(), errc::rank_out_of_range);
    p = all;
    checked.check();

    p.sends.ranks[2] = -4;
    EXPECT_NO_THROW(checked.check());
}

TEST(CheckedPattern, IsHashedOnce) {
    pattern p = all;
    const checked_pattern checked(p);
    const auto hash = checked.hash();
    ++p.num_slots;

    EXPECT_EQ(hash, pattern_hash(all));
    EXPECT_EQ(checked.hash(), hash);
    EXPECT_NE(pattern_hash(p), hash);
}

TEST(PatternHash, EveryWordCounts) {
    const auto expect_other = [&](auto&& change) {
        pattern p = all;
        change(p);
        EXPECT_NE(pattern_hash(p), pattern_hash(all));
    };
    expect_other([](pattern& p) { ++p.rank; });
    expect_other([](pattern& p) { ++p.num_ranks; });
    expect_other([](pattern& p) { ++p.num_items; });
    expect_other([](pattern& p) { ++p.num_slots; });
    for (const auto side : {&pattern::sends, &pattern::receives}) {
        for (std::size_t e = 0; e < (all.*side).size(); ++e) {
            expect_other([&](pattern& p) { ++(p.*side).ranks[e]; });
            expect_other([&](pattern& p) { ++(p.*side).offsets[e]; });
        }
        for (std::size_t i = 0; i < (all.*side).indices.size(); ++i)
            expect_other([&](pattern& p) { ++(p.*side).indices[i]; });
    }
    expect_other([](pattern& p) { std::swap(p.sends.ranks[0], p.sends.ranks[1]); });
}

}  // namespace
}  // namespace crossdock::checked_pattern_test
