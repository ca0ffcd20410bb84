#include "src/array/saved_entries.hpp"

#include <gtest/gtest.h>

namespace crossdock::saved_entries_test {
namespace {

TEST(SavedEntries, AreRestoredAndOthersAreNot) {
    std::vector<int> entries{10, 11, 12, 13};
    const saved_entries saved(reinterpret_cast<std::byte*>(entries.data()), {3, 1, 3}, sizeof(int));
    entries = {0, 1, 2, 3};

    saved.restore();

    EXPECT_EQ(entries, (std::vector<int>{0, 11, 2, 13}));
}

TEST(SavedEntries, MayBeNone) {
    std::vector<int> entries{10};
    const saved_entries saved(reinterpret_cast<std::byte*>(entries.data()), {}, sizeof(int));
    entries[0] = 5;

    saved.restore();

    EXPECT_EQ(entries[0], 5);
}

}  // namespace
}  // namespace crossdock::saved_entries_test
