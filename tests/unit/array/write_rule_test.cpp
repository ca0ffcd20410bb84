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

TEST(UpdateOperation, AnIdentityChangesNothing) {
    EXPECT_EQ(combine_and_apply<int>(make_update_operation<int>(sum()), {1, -2, 3}, {1, 0, 1}, 2),
              (std::vector<int>{-2, 4}));
    EXPECT_EQ(combine_and_apply<int>(make_update_operation<int>(maximum()), {-1, -2}, {0, 0}, 1),
              (std::vector<int>{-1}));
    EXPECT_EQ(combine_and_apply<int>(make_update_operation<int>(minimum()), {7, 9}, {0, 0}, 1),
              (std::vector<int>{7}));
    EXPECT_EQ(
        combine_and_apply<unsigned>(make_update_operation<unsigned>(bit_or()), {1, 4}, {0, 0}, 1),
        (std::vector<unsigned>{5}));
    const auto zero =
        combine_and_apply<double>(make_update_operation<double>(sum()), {-0.0}, {0}, 1);
    EXPECT_TRUE(std::signbit(zero[0]));
    // The least of numbers that may be none has no identity.
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    const auto least =
        combine_and_apply<double>(make_update_operation<double>(minimum()), {nan}, {0}, 1);
    EXPECT_TRUE(std::isnan(least[0]));
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

TEST(WriteRule, TakesTheLastOfAnyInOrder) {
    const auto rule = make_write_rule<int>(overwrite::any, nullptr);

    EXPECT_FALSE(rule.carries_rank);
    EXPECT_FALSE(rule.operation->may_throw());
    EXPECT_FALSE(rule.operation->combines_at_owner());
    EXPECT_EQ(combine_and_apply<int>(*rule.operation, {1, 2, 3}, {0, 1, 0}, 2),
              (std::vector<int>{3, 2}));
}

TEST(WriteRule, TakesTheLastOfTheSmallestRank) {
    const auto rule = make_write_rule<int>(overwrite::smallest_rank_last, nullptr);
    using written = ranked<int>;

    EXPECT_TRUE(rule.carries_rank);
    EXPECT_FALSE(rule.operation->may_throw());
    EXPECT_EQ(rule.operation->value_bytes(), sizeof(written));
    // Whoever comes first; and of its own the last.
    const std::vector<written> values{{50, 5}, {20, 2}, {21, 2}, {30, 3}, {22, 2}, {51, 5}};
    const auto one = combine_and_apply(*rule.operation, values, {0, 0, 0, 0, 0, 1}, 2);
    EXPECT_EQ(one[0].value, 22);
    EXPECT_EQ(one[0].rank, 2);
    EXPECT_EQ(one[1].value, 51);
}

TEST(WriteRule, AssignsWithoutLookingAtTheEntry) {
    for (const auto which : {overwrite::any, overwrite::minimum, overwrite::maximum}) {
        const auto rule = make_write_rule<int>(which, nullptr);
        std::array entries{100, -100};
        const std::array values{1, 2};
        const std::array<count_t, 2> offsets{1, 0};

        std::size_t failed_at = 0;
        rule.operation->apply(reinterpret_cast<std::byte*>(entries.data()),
                              reinterpret_cast<const std::byte*>(values.data()), offsets,
                              failed_at);

        EXPECT_EQ(entries, (std::array{2, 1}));
    }
}

TEST(WriteRule, TakesTheLeastAndTheGreatest) {
    const auto least = make_write_rule<int>(overwrite::minimum, nullptr);
    const auto greatest = make_write_rule<int>(overwrite::maximum, nullptr);
    const std::vector<int> values{4, -3, 9, 0, 0};
    const std::vector<position_t> positions{0, 0, 0, 1, 2};

    EXPECT_EQ(combine_and_apply(*least.operation, values, positions, 3),
              (std::vector<int>{-3, 0, 0}));
    EXPECT_EQ(combine_and_apply(*greatest.operation, values, positions, 3),
              (std::vector<int>{9, 0, 0}));
    EXPECT_TRUE(least.operation->combines_at_owner());
    EXPECT_FALSE(least.operation->may_throw());
    EXPECT_STRNE(least.operation->name(), greatest.operation->name());
}

TEST(WriteRule, AsksTheUsersFunction) {
    const auto rule = make_write_rule<without_order>(
        overwrite::user, [](const without_order& a, const without_order& b) {
            return a.weight + a.id < b.weight + b.id ? a : b;
        });

    EXPECT_TRUE(rule.operation->may_throw());
    EXPECT_TRUE(rule.operation->combines_at_owner());
    const auto one =
        combine_and_apply<without_order>(*rule.operation, {{3, 3}, {1, 2}, {9, 0}}, {0, 0, 0}, 1);
    EXPECT_EQ(one[0].weight, 1);
}

TEST(WriteRule, NeedsAnOrderForLeastAndGreatest) {
    for (const auto which : {overwrite::minimum, overwrite::maximum}) {
        const error heard =
            test::thrown_by([&] { make_write_rule<without_order>(which, nullptr); });

        EXPECT_EQ(heard.code(), errc::invalid_argument);
        EXPECT_NO_THROW(make_write_rule<with_less>(which, nullptr)) << "< is all it takes";
    }
}

TEST(WriteRule, NeedsTheUsersFunction) {
    const error heard = test::thrown_by([] { make_write_rule<int>(overwrite::user, nullptr); });

    EXPECT_EQ(heard.code(), errc::invalid_argument);
    EXPECT_STREQ(heard.what(), "overwrite::user needs a function; give the option `choose`");
}

}  // namespace
}  // namespace crossdock::write_rule_test
