#include "crossdock/route.hpp"

#include <gtest/gtest.h>

#include "support.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::three_step_test {
namespace {

using ranks = std::vector<rank_t>;

TEST(ThreeStep, GoesThroughTheMembersThatSpeak) {
    const auto r = make_route("three_step", topology::from_string("2x2"));
    const leader_table leaders{.senders = {{1, 1}}, .receivers = {{1, 2}}};

    EXPECT_EQ(r->next_hop(0, 3, 0, leaders), 1);
    EXPECT_EQ(r->next_hop(1, 3, 0, leaders), 1);
    EXPECT_EQ(r->next_hop(1, 3, 1, leaders), 2);
    EXPECT_EQ(r->next_hop(2, 3, 2, {}), 3);
}

TEST(ThreeStep, StaysAtADestinationThatReceivesForItsRegion) {
    const auto r = make_route("three_step", topology::from_string("2x2"));

    EXPECT_EQ(r->next_hop(1, 2, 1, {.senders = {{1, 1}}, .receivers = {{1, 2}}}), 2);
    EXPECT_EQ(r->next_hop(2, 2, 2, {}), 2);
}

TEST(ThreeStep, GoesStraightInsideTheOwnRegion) {
    const auto r = make_route("three_step", topology::from_string("cyclic:2x3"));

    EXPECT_EQ(test::path(*r, 1, 5), (ranks{1, 5, 5, 5}));
}

TEST(ThreeStep, GoesByNumberWhereNothingIsAgreed) {
    const auto r = make_route("three_step", topology::from_string("2,3,2"));

    EXPECT_EQ(test::path(*r, 1, 6), (ranks{1, 0, 5, 6}));  // 2 mod 2 of region 0, 0 mod 2 of 2
    EXPECT_EQ(test::path(*r, 2, 6), (ranks{2, 4, 6, 6}));  // 2 mod 3 of region 1, 1 mod 2 of 2
    EXPECT_EQ(test::path(*r, 5, 2), (ranks{5, 6, 4, 2}));  // and back by the same members
}

TEST(ThreeStep, TakesWhatIsAgreedAndTheRestByNumber) {
    const auto r = make_route("three_step", topology::from_string("3x3"));
    const leader_table leaders{.senders = {{1, 2}}, .receivers = {{2, 8}}};

    EXPECT_EQ(r->next_hop(0, 5, 0, leaders), 2);
    EXPECT_EQ(r->next_hop(2, 5, 1, leaders), 3);
    EXPECT_EQ(r->next_hop(0, 6, 0, leaders), 2);
    EXPECT_EQ(r->next_hop(2, 6, 1, leaders), 8);
}

TEST(ThreeStep, PartnersInStage1AreTheLeadersByNumber) {
    const auto r = make_route("three_step", topology::from_string("2,3,2"));
    const auto across = [&](rank_t here) { return r->partners(here, 1).destinations; };

    EXPECT_EQ(across(0), (ranks{5}));
    EXPECT_EQ(across(1), (ranks{2}));
    EXPECT_EQ(across(2), (ranks{1}));
    EXPECT_EQ(across(3), (ranks{}));
    EXPECT_EQ(across(4), (ranks{6}));
}

TEST(ThreeStep, WithSoManyLeadersTheFirstMembersSpeakByNumber) {
    const auto one = make_route("three_step:1", topology::from_string("2,3,2"));
    const auto two = make_route("three_step:2", topology::from_string("2,3,2"));
    const auto across = [](const route& r, rank_t here) {
        return r.partners(here, 1).destinations;
    };

    EXPECT_EQ(test::path(*one, 1, 6), (ranks{1, 0, 5, 6}));
    EXPECT_EQ(test::path(*one, 4, 6), (ranks{4, 2, 5, 6}));
    EXPECT_EQ(across(*one, 0), (ranks{2, 5}));
    EXPECT_EQ(across(*one, 1), (ranks{}));
    EXPECT_EQ(across(*one, 2), (ranks{0, 5}));
    EXPECT_EQ(across(*two, 2), (ranks{1, 6}));  // 0 mod 2 and 2 mod 2 of region 1
    EXPECT_EQ(across(*two, 3), (ranks{}));
    EXPECT_EQ(across(*two, 4), (ranks{}));
}

TEST(ThreeStep, TakesANumberOfLeadersOrNothing) {
    const auto regions = topology::from_string("2x2");
    for (const char* name : {"three_step:0", "three_step:", "three_step:-1", "three_step:1x1",
                             "three_step:one", "three_step:99999999999"}) {
        EXPECT_EQ(test::thrown_by([&] { return make_route(name, regions); }).code(),
                  errc::invalid_route)
            << name;
    }
    EXPECT_EQ(make_route("three_step:7", regions)->name(), "three_step:7");
    EXPECT_EQ(make_route("three_step:7", regions)->max_leaders(), 7);
}

TEST(ThreeStep, WhoeverSpeaksTheLastStageStaysInsideTheRegion) {
    const auto r = make_route("three_step", topology::from_string("3,4"));
    EXPECT_EQ(r->certain_partners(4, 0), std::nullopt);
    EXPECT_EQ(r->certain_partners(4, 1), std::nullopt);
    const std::vector<rank_t> others{3, 5, 6};
    EXPECT_EQ(r->certain_partners(4, 2), (stage_partners{others, others}));
}

TEST(ThreeStep, HasTheBoundOfTwoStep) {
    const auto r = make_route("three_step", topology::from_string("8x16"));

    EXPECT_EQ(r->num_stages(), 3);
    EXPECT_EQ(r->max_messages_per_rank(), 7 + 2 * 15);
}

}  // namespace
}  // namespace crossdock::three_step_test
