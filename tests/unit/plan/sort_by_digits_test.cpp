#include "src/plan/sort_by_digits.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <utility>

namespace crossdock::sort_by_digits_test {
namespace {

using numbered = std::pair<count_t, int>;

count_t first(const numbered& value) { return value.first; }

TEST(SortByDigits, KeepsTheOrderOfEqualNumbers) {
    std::mt19937_64 random(3);
    for (const count_t range : {count_t{1}, count_t{3}, count_t{4096}, count_t{1} << 40}) {
        for (const int size : {0, 1, 2, 17, 5000}) {
            std::vector<numbered> values;
            for (int i = 0; i < size; ++i) {
                const auto drawn = random() % static_cast<std::uint64_t>(range);
                values.emplace_back(1000 + static_cast<count_t>(drawn), i);
            }
            auto expected = values;
            std::stable_sort(expected.begin(), expected.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; });
            sort_by_digits(values, first);
            EXPECT_EQ(values, expected);
        }
    }
}

TEST(SortByDigits, SortsTheGreatestNumbers) {
    constexpr count_t greatest = std::numeric_limits<count_t>::max();
    std::vector<numbered> values{{greatest, 0}, {0, 1}, {greatest - 1, 2}, {1, 3}};
    sort_by_digits(values, first);
    EXPECT_EQ(values, (std::vector<numbered>{{0, 1}, {1, 3}, {greatest - 1, 2}, {greatest, 0}}));
}

}  // namespace
}  // namespace crossdock::sort_by_digits_test
