#include "satellites/studies/drawn_patterns.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "crossdock/plan.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::bench::drawn_patterns_test {
namespace {

using crossdock::test::thrown_by;

const drawn_counts counts{44, 22.9, 2105};

summary sent(const std::vector<pattern>& patterns, bool is_of_items) {
    std::vector<count_t> per_rank;
    for (const auto& p : patterns)
        per_rank.push_back(is_of_items ? p.num_items : static_cast<count_t>(p.sends.size()));
    return summarize(per_rank);
}

TEST(DrawnPatterns, HaveTheMessagesAndItemsThatWereAskedFor) {
    const auto patterns = draw_patterns(64, counts);

    const auto messages = sent(patterns, false);
    EXPECT_EQ(messages.max, 44);
    EXPECT_NEAR(messages.mean, 22.9, 0.5);
    EXPECT_NEAR(sent(patterns, true).mean, 2105, 5);
}

TEST(DrawnPatterns, FitTogether) {
    const auto regions = topology::from_string("64x1");
    const auto patterns = draw_patterns(64, counts);

    for (const auto& p : patterns) validate(p);
    const auto plans = compile(regions, patterns, *make_route("direct", regions));
    EXPECT_NO_THROW(verify(plans, patterns));
}

TEST(DrawnPatterns, SendToWhomTheyReceiveFrom) {
    for (const auto& p : draw_patterns(64, counts)) EXPECT_EQ(p.sends.ranks, p.receives.ranks);
}

TEST(DrawnPatterns, SendLessToPartnersFurtherAway) {
    const auto patterns = draw_patterns(64, {63, 63, 6300});

    const auto& sends = patterns[0].sends;
    ASSERT_EQ(sends.size(), 63U);
    EXPECT_GT(sends[0].size(), sends[1].size());
    EXPECT_EQ(sends[1].size(), sends[2].size());
    EXPECT_GT(sends[2].size(), sends[62].size());
}

TEST(DrawnPatterns, AreDrawnAgainAlike) {
    EXPECT_EQ(draw_patterns(64, counts), draw_patterns(64, counts));
}

TEST(DrawnPatterns, NeedAPowerOfTwoOfRanks) {
    EXPECT_EQ(thrown_by([] { draw_patterns(48, counts); }).code(), errc::invalid_argument);
    EXPECT_EQ(thrown_by([] { draw_patterns(32, counts); }).code(), errc::invalid_argument);
}

TEST(DrawnPatterns, AreReadFromText) {
    const auto read = parse_drawn_counts("drawn:44:22.9:2105");

    EXPECT_EQ(read.most_messages, 44);
    EXPECT_EQ(read.mean_messages, 22.9);
    EXPECT_EQ(read.mean_items, 2105);
    for (const char* text :
         {"drawn", "drawn:44:22.9", "drawn:44:22.9:2105:1", "drawn:44:x:2105", "drawn:44:45:2105",
          "drawn:44:22.9:22", "drawn:44:1:22", "drawn 44:22.9:2105"})
        EXPECT_EQ(thrown_by([&] { parse_drawn_counts(text); }).code(), errc::invalid_argument)
            << text;
}

}  // namespace
}  // namespace crossdock::bench::drawn_patterns_test
