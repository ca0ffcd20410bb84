#include "crossdock/detail/plan/kept_plans.hpp"

#include <gtest/gtest.h>

#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::kept_plans_test {
namespace {

class KeptPlans : public testing::Test {
  protected:
    std::shared_ptr<const plan> keep(kept_plans& plans, const pattern& p) {
        plan::contents data;
        data.rank = p.rank;
        data.num_ranks = p.num_ranks;
        auto made = std::make_shared<const plan>(std::move(data));
        plans.keep(made, regions, p, "direct", {});
        return made;
    }
    std::uint64_t slots(const kept_plans& plans, const pattern& p) {
        return plans.slots_of(regions, p, "direct", {});
    }

    topology regions = topology::from_string("2x4");
    pattern ring = test::ring_pattern(8)[3];
    pattern random = test::random_pattern(8)[3];
    pattern all = test::all_to_all_pattern(8)[3];
};

TEST_F(KeptPlans, APlanIsFoundByAllThatDeterminesIt) {
    kept_plans plans(4);
    keep(plans, ring);
    const auto made = keep(plans, all);

    EXPECT_EQ(slots(plans, all), 2U);
    EXPECT_EQ(plans.use(1), made);
    EXPECT_EQ(plans.slots_of(topology::from_string("4x2"), all, "direct", {}), 0U);
    EXPECT_EQ(plans.slots_of(regions, all, "two_step", {}), 0U);
    EXPECT_EQ(plans.slots_of(regions, all, "direct", {.deduplicate = false}), 0U);
    EXPECT_EQ(slots(plans, random), 0U);
}

TEST_F(KeptPlans, PatternsWithTheSameHashAreToldApart) {
    pattern p{0, 2, 1000, 0, {}, {}};
    p.sends.append(1, std::vector<count_t>(1000, 7));
    pattern other = p;
    other.sends.indices[1] = 8;  // not among those that the hash reads
    kept_plans plans(2);
    keep(plans, p);

    ASSERT_EQ(pattern_hash(p), pattern_hash(other));
    EXPECT_EQ(slots(plans, p), 1U);
    EXPECT_EQ(slots(plans, other), 0U);
}

TEST_F(KeptPlans, TheHashFollowsNeighborsCountsAndIndices) {
    EXPECT_EQ(pattern_hash(all), pattern_hash(pattern(all)));
    pattern other = all;
    other.sends.ranks[2] = 7;
    EXPECT_NE(pattern_hash(other), pattern_hash(all));
    other = all;
    other.receives.indices[5] = 6;
    EXPECT_NE(pattern_hash(other), pattern_hash(all));
    other = all;
    ++other.num_slots;
    EXPECT_NE(pattern_hash(other), pattern_hash(all));
}

TEST_F(KeptPlans, TheLeastRecentlyUsedGoesFirst) {
    kept_plans plans(2);
    keep(plans, ring);
    keep(plans, random);
    plans.use(0);
    keep(plans, all);

    EXPECT_EQ(plans.num_kept(), 2);
    EXPECT_EQ(slots(plans, ring), 1U);
    EXPECT_EQ(slots(plans, all), 2U);
    EXPECT_EQ(slots(plans, random), 0U);
}

TEST_F(KeptPlans, AnArgumentListMayBeKeptTwice) {
    kept_plans plans(3);
    for (int i = 0; i < 2; ++i) keep(plans, ring);
    EXPECT_EQ(slots(plans, ring), 3U);
}

TEST_F(KeptPlans, RefusesToKeepNoneOrTooMany) {
    for (const int capacity : {-1, 0, kept_plans::max_capacity + 1}) {
        const error fault = test::thrown_by([&] { kept_plans plans(capacity); });
        EXPECT_EQ(fault.code(), errc::invalid_argument);
    }
}

}  // namespace
}  // namespace crossdock::kept_plans_test
