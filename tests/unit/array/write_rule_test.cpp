#include "crossdock/detail/array/write_rule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "support/thrown_by.hpp"

namespace crossdock::write_rule_test {
namespace {

// As the requests of one rank after the other; into three positions.
template <class T>
std::vector<T> combine_and_apply(const value_operation& operation, const std::vector<T>& values,
                                 const std::vector<position_t>& positions,
                                 std::size_t num_positions) {
    std::vector<T> combined(num_positions);
    std::vector<std::uint8_t> is_set(num_positions);
    std::size_t failed_at = 0;
    const bool is_filled =
        operation.fill_with_identity(reinterpret_cast<std::byte*>(combined.data()), num_positions);
    operation.combine(reinterpret_cast<std::byte*>(combined.data()), is_set.data(),
                      reinterpret_cast<const std::byte*>(values.data()), positions, failed_at);
    for (std::size_t p = 0; p < num_positions && !is_filled; ++p)
        EXPECT_EQ(is_set[p], std::count(positions.begin(), positions.end(), p) > 0 ? 1 : 0);
    return combined;
}

struct without_order {
    int weight;
    int id;
};

struct with_less {
    int key;
    friend bool operator<(const with_less& a, const with_less& b) noexcept { return a.key < b.key; }
};

TEST(UpdateOperation, CombinesInOrderAndCopiesTheFirst) {
    // Not commutative, so that the order shows.
    const auto operation =
        make_update_operation<int>([](const int& a, const int& b) noexcept { return 10 * a + b; });

    EXPECT_EQ(combine_and_apply<int>(operation, {1, 2, 3, 4, 5, 6}, {0, 2, 0, 0, 2, 3}, 4),
              (std::vector<int>{134, 0, 25, 6}));
}

template <class T, class Operation>
std::vector<T> combined(Operation operation, const std::vector<T>& values) {
    return combine_and_apply<T>(make_update_operation<T>(operation), values,
                                std::vector<position_t>(values.size()), 1);
}

TEST(UpdateOperation, AnIdentityChangesNothing) {
    EXPECT_EQ(combined<int>(sum(), {1, -2, 3}), std::vector<int>{2});
    EXPECT_EQ(combined<int>(maximum(), {-1, -2}), std::vector<int>{-1});
    EXPECT_EQ(combined<int>(minimum(), {7, 9}), std::vector<int>{7});
    EXPECT_EQ(combined<unsigned>(bit_or(), {1, 4}), std::vector<unsigned>{5});
    EXPECT_TRUE(std::signbit(combined<double>(sum(), {-0.0})[0]));
    // The least of numbers that may be none has no identity.
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isnan(combined<double>(minimum(), {nan})[0]));
}

TEST(UpdateOperation, AppliesInOrderToTheEntriesAtOffsets) {
    const auto operation =
        make_update_operation<int>([](const int& a, const int& b) noexcept { return 10 * a + b; });
    std::array entries{1, 2, 3};
    const std::array values{4, 5, 6};
    const std::array<count_t, 3> offsets{2, 0, 2};

    std::size_t failed_at = 0;
    operation.apply(reinterpret_cast<std::byte*>(entries.data()),
                    reinterpret_cast<const std::byte*>(values.data()), offsets, failed_at);

    EXPECT_EQ(entries, (std::array{15, 2, 346}));
    EXPECT_FALSE(operation.combines_at_owner());
    EXPECT_EQ(operation.value_bytes(), sizeof(int));
}

TEST(UpdateOperation, MayThrowIfItsExceptionSpecificationSaysSo) {
    const auto plus = [](const int& a, const int& b) { return a + b; };
    const auto noexcept_plus = [](const int& a, const int& b) noexcept { return a + b; };

    EXPECT_TRUE(make_update_operation<int>(plus).may_throw());
    EXPECT_FALSE(make_update_operation<int>(noexcept_plus).may_throw());
    EXPECT_FALSE(make_update_operation<int>(sum()).may_throw());
    EXPECT_FALSE(make_update_operation<double>(minimum()).may_throw());
    EXPECT_FALSE(make_update_operation<with_less>(maximum()).may_throw());
    EXPECT_FALSE(make_update_operation<int>(bit_or()).may_throw());
    EXPECT_FALSE(make_update_operation<without_order>(replace()).may_throw());
}

TEST(UpdateOperation, HasANameOfItsOwn) {
    const auto first = [](const int& a, const int& b) noexcept { return a + b; };
    const auto second = [](const int& a, const int& b) noexcept { return a + b; };

    EXPECT_STREQ(make_update_operation<int>(first).name(),
                 make_update_operation<int>(first).name());
    EXPECT_STRNE(make_update_operation<int>(first).name(),
                 make_update_operation<int>(second).name());
    EXPECT_STRNE(make_update_operation<int>(sum()).name(),
                 make_update_operation<unsigned>(sum()).name());
}

TEST(WriteRule, NeedsAnOrderForLeastAndGreatest) {
    for (const auto which : {overwrite::minimum, overwrite::maximum}) {
        const error heard =
            test::thrown_by([&] { make_write_rule<without_order>(which, nullptr); });

        EXPECT_EQ(heard.code(), errc::invalid_argument);
        EXPECT_NO_THROW(make_write_rule<with_less>(which, nullptr)) << "< is all it takes";
    }
}

}  // namespace
}  // namespace crossdock::write_rule_test
