#include "crossdock/types.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/thrown_by.hpp"

namespace crossdock::types_test {
namespace {

using test::thrown_by;

TEST(CheckedCast, KeepsWhatFits) {
    EXPECT_EQ(checked_cast<int>(std::int64_t{2147483647}), 2147483647);
    EXPECT_EQ(checked_cast<int>(std::int64_t{-2147483648}), std::numeric_limits<int>::min());
    EXPECT_EQ(checked_cast<std::size_t>(7), 7U);
    EXPECT_EQ(checked_cast<std::uint8_t>(255), 255);
}

TEST(CheckedCast, NamesTheNumberThatDoesNotFit) {
    const error fault = thrown_by([] { checked_cast<int>(std::int64_t{2147483648}); });

    EXPECT_EQ(fault.code(), errc::count_overflow);
    EXPECT_STREQ(fault.what(), "2147483648 does not fit into 32 bits");
    EXPECT_EQ(thrown_by([] { checked_cast<std::size_t>(-1); }).code(), errc::count_overflow);
    EXPECT_THROW(checked_cast<count_t>(std::numeric_limits<std::uint64_t>::max()), error);
}

TEST(CheckedCast, WorksAtCompileTime) { static_assert(checked_cast<rank_t>(count_t{5}) == 5); }

}  // namespace
}  // namespace crossdock::types_test
