#include "src/array/request_traits.hpp"

#include <gtest/gtest.h>

#include "crossdock/detail/array/write_rule.hpp"

namespace crossdock::request_traits_test {
namespace {

TEST(RequestTraits, OnlyReadsByAnEnvelopeStrategyHaveReturnSlots) {
    const auto operation = make_update_operation<int>(sum());
    for (const auto& one : registered_combining()) {
        const bool is_envelope = one.name.starts_with("envelope");
        const request_traits reads{{one.strategy, true, true}, nullptr, sizeof(int)};
        const request_traits updates{{one.strategy, true, true}, &operation, 0};

        EXPECT_EQ(reads.has_return_slots(), is_envelope) << one.name;
        EXPECT_FALSE(updates.has_return_slots()) << one.name;
        EXPECT_EQ(reads.value_bytes(), 0);
        EXPECT_EQ(updates.value_bytes(), sizeof(int));
    }
}

TEST(RequestTraits, CombinesOwnRequestsAndThoseOfOthersAsTheOptionsSay) {
    const request_traits own{{combining::hash, true, false}, nullptr, 8};
    EXPECT_EQ(own.strategy_at(0, 3), combining::hash);
    EXPECT_EQ(own.strategy_at(1, 3), combining::none);
    EXPECT_EQ(own.strategy_at(2, 3), combining::none);

    const request_traits of_others{{combining::search_tree, false, true}, nullptr, 8};
    EXPECT_EQ(of_others.strategy_at(0, 3), combining::none);
    EXPECT_EQ(of_others.strategy_at(1, 3), combining::search_tree);
    EXPECT_FALSE(of_others.is_sorted_at(0, 3));
    EXPECT_TRUE(of_others.is_sorted_at(1, 3));
}

TEST(RequestTraits, CombinesAtTheOwnerWhereTheOperationNeedsIt) {
    const auto update = make_update_operation<int>(sum());
    const auto write = make_write_rule<int>(overwrite::minimum, nullptr);
    const request_traits reads{{}, nullptr, 8};
    const request_traits updates{{}, &update, 0};
    const request_traits writes{{combining::none, true, true}, write.operation.get(), 0};

    for (const auto& kind : {reads, updates, writes}) EXPECT_TRUE(kind.is_combined_at(1, 2));
    EXPECT_FALSE(reads.is_combined_at(2, 2));
    EXPECT_FALSE(updates.is_combined_at(2, 2));
    EXPECT_TRUE(writes.is_combined_at(2, 2));
    EXPECT_EQ(writes.strategy_at(2, 2), combining::sort);
}

}  // namespace
}  // namespace crossdock::request_traits_test
