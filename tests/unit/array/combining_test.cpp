#include "crossdock/detail/array/combining.hpp"

#include <gtest/gtest.h>

#include "support/thrown_by.hpp"

namespace crossdock::combining_test {
namespace {

TEST(Combining, NamesAreReadAsTheyAreWritten) {
    std::vector<std::string> names;
    for (const auto& one : registered_combining()) {
        names.push_back(one.name);
        EXPECT_EQ(parse_combining(one.name), one.strategy);
        EXPECT_EQ(to_string(one.strategy), one.name);
        EXPECT_FALSE(one.summary.empty());
    }
    EXPECT_EQ(names, (std::vector<std::string>{"none", "sort", "hash", "search_tree",
                                               "envelope_hash", "envelope_sort"}));
}

TEST(Combining, UnknownNamesAreRefused) {
    for (const char* const name : {"quicksort", "", "Sort", "sort "})
        EXPECT_EQ(test::thrown_by([&] { parse_combining(name); }).code(), errc::invalid_argument);
}

}  // namespace
}  // namespace crossdock::combining_test
