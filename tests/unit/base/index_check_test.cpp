#include "src/base/index_check.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace crossdock::index_check_test {
namespace {

constexpr count_t least = std::numeric_limits<count_t>::min();
constexpr count_t greatest = std::numeric_limits<count_t>::max();

TEST(IndexCheck, AnIndexIsInsideFromZeroToTheLimit) {
    for (const count_t limit : {count_t{0}, count_t{1}, count_t{2}, count_t{100}, greatest}) {
        for (const count_t index : {least, least + 1, count_t{-2}, count_t{-1}, count_t{0},
                                    count_t{1}, limit - 1, limit, greatest - 1, greatest}) {
            EXPECT_EQ(is_any_outside(bits_if_outside(index, limit)), index < 0 || index >= limit)
                << index << " of " << limit;
        }
    }
}

TEST(IndexCheck, OneIndexOutsideIsFoundAmongMany) {
    std::vector<count_t> indices(100);
    EXPECT_FALSE(is_any_outside(indices, 1));
    indices[57] = 5;
    EXPECT_TRUE(is_any_outside(indices, 5));
    EXPECT_FALSE(is_any_outside(indices, 6));
    indices[57] = -1;
    EXPECT_TRUE(is_any_outside(indices, 6));
    EXPECT_FALSE(is_any_outside({}, 0));
}

}  // namespace
}  // namespace crossdock::index_check_test
