#include "crossdock/detail/array/combining.hpp"

#include <gtest/gtest.h>

#include "support/thrown_by.hpp"

namespace crossdock::combining_test {
namespace {

TEST(Combining, HasTheStudysNames) {
    std::vector<std::string> names;
    for (const auto& one : registered_combining()) names.push_back(one.name);

    EXPECT_EQ(names, (std::vector<std::string>{"none", "sort", "hash", "search_tree",
                                               "envelope_hash", "envelope_sort"}));
}

TEST(Combining, NamesAreReadAsTheyAreWritten) {
    for (const auto& one : registered_combining()) {
        EXPECT_EQ(parse_combining(one.name), one.strategy);
        EXPECT_EQ(to_string(one.strategy), one.name);
        EXPECT_FALSE(one.summary.empty());
    }
}

TEST(Combining, UnknownNamesAreAnsweredWithAllThatAreKnown) {
    for (const char* const name : {"quicksort", "", "Sort", "sort "}) {
        const error heard = test::thrown_by([&] { parse_combining(name); });

        EXPECT_EQ(heard.code(), errc::invalid_argument);
        EXPECT_EQ(heard.what(), "no way to combine is called \"" + std::string(name) +
                                    "\"; there are none, sort, hash, search_tree, envelope_hash, "
                                    "envelope_sort");
    }
}

}  // namespace
}  // namespace crossdock::combining_test
