#include "src/route/direct.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace crossdock::direct_test {
namespace {

TEST(Direct, TakesOneHop) {
    const auto r = make_route("direct", topology::from_string("2x4"));

    EXPECT_EQ(r->num_stages(), 1);
    EXPECT_EQ(r->max_messages_per_rank(), 7);
    EXPECT_EQ(test::path(*r, 1, 6), (std::vector<rank_t>{1, 6}));
    EXPECT_EQ(test::path(*r, 3, 3), (std::vector<rank_t>{3, 3}));
}

TEST(Direct, AloneSendsNothing) {
    EXPECT_EQ(make_route("direct", topology::one_region(1))->max_messages_per_rank(), 0);
}

}  // namespace
}  // namespace crossdock::direct_test
