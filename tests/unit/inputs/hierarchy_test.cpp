#include "tools/inputs/hierarchy.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/thrown_by.hpp"

namespace crossdock::hierarchy_test {
namespace {

// Six ranks with two rows each but for rank 5, which has one; level 1 has a row on ranks 0 and 4.
constexpr const char* first_part =
    "level 0 rows 11 ranks 6 starts 0 2 4 6 8 10 11\n"
    "0 1 1 0\n"
    "0 3 2 1 0\n"
    "1 3 1 1\n"
    "2 5 1 0\n"
    "level 1 rows 2 ranks 6 starts 0 1 1 1 1 2 2\n"
    "0 4 1 0\n";
constexpr const char* second_part =
    "level 0\n"
    "3 0 1 1\n"
    "5 0 2 0 1\n"
    "5 4 1 0\n"
    "level 1\n"
    "4 0 1 0\n";

class Hierarchy : public testing::Test {
  protected:
    Hierarchy() { std::filesystem::create_directory(folder); }
    ~Hierarchy() override { std::filesystem::remove_all(folder); }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder + "/" + name) << text;
    }

    // One message of a rank: the neighbor and the items or slots.
    using message = std::pair<rank_t, std::vector<count_t>>;

    static std::vector<message> messages(const neighbor_list& list) {
        std::vector<message> result;
        for (std::size_t e = 0; e < list.size(); ++e)
            result.emplace_back(list.ranks[e],
                                std::vector<count_t>(list[e].begin(), list[e].end()));
        return result;
    }

    std::string folder = testing::TempDir() + "hierarchy_" +
                         testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(Hierarchy, PartsAreOneHierarchy) {
    write("part0.txt", first_part);
    write("part1.txt", second_part);
    write("README.md", "no part");

    const auto levels = read_hierarchy(folder);

    ASSERT_EQ(levels.size(), 2);
    EXPECT_EQ(levels[0].starts, (std::vector<count_t>{0, 2, 4, 6, 8, 10, 11}));
    EXPECT_EQ(levels[0].messages, (std::vector<level_message>{{0, 1, {0}},
                                                              {0, 3, {1, 0}},
                                                              {1, 3, {1}},
                                                              {2, 5, {0}},
                                                              {3, 0, {1}},
                                                              {5, 0, {0, 1}},
                                                              {5, 4, {0}}}));
    EXPECT_EQ(levels[1].starts, (std::vector<count_t>{0, 1, 1, 1, 1, 2, 2}));
    EXPECT_EQ(levels[1].messages, (std::vector<level_message>{{0, 4, {0}}, {4, 0, {0}}}));
}

// Rank 0 becomes of ranks 0 1 2, with rows 0 ... 5; rank 1 of the others, with rows 6 ... 10.
TEST_F(Hierarchy, WhatRanksThatBecomeOneNeedIsNeededOnce) {
    write("part0.txt", first_part);
    write("part1.txt", second_part);

    const auto [matrix, owners] = fold(read_hierarchy(folder)[0], 2);
    const auto ranks = halos_from_matrix(matrix, owners);

    EXPECT_EQ(owners.column_owner, (std::vector<rank_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));
    EXPECT_EQ(ranks[0].ghost_columns, (std::vector<count_t>{6, 7, 10}));
    EXPECT_EQ(ranks[1].ghost_columns, (std::vector<count_t>{0, 1}));
    EXPECT_EQ(messages(ranks[0].exchange.sends), (std::vector<message>{{1, {0, 1}}}));
    EXPECT_EQ(messages(ranks[0].exchange.receives), (std::vector<message>{{1, {0, 1, 2}}}));
    EXPECT_EQ(messages(ranks[1].exchange.sends), (std::vector<message>{{0, {0, 1, 4}}}));
    EXPECT_EQ(messages(ranks[1].exchange.receives), (std::vector<message>{{0, {0, 1}}}));
}

TEST_F(Hierarchy, LevelKeepsItsMessagesOnAsManyRanks) {
    write("part0.txt", first_part);

    const auto [matrix, owners] = fold(read_hierarchy(folder)[0], 6);
    const auto ranks = halos_from_matrix(matrix, owners);

    EXPECT_EQ(messages(ranks[3].exchange.sends), (std::vector<message>{{0, {0, 1}}, {1, {1}}}));
    EXPECT_EQ(messages(ranks[0].exchange.receives), (std::vector<message>{{1, {0}}, {3, {1, 2}}}));
}

TEST_F(Hierarchy, MoreRanksThanTheLevelHasOwnNothing) {
    write("part0.txt", first_part);

    const auto [matrix, owners] = fold(read_hierarchy(folder)[1], 8);
    const auto ranks = halos_from_matrix(matrix, owners);

    EXPECT_EQ(owners.column_owner, (std::vector<rank_t>{0, 4}));
    EXPECT_EQ(messages(ranks[4].exchange.sends), (std::vector<message>{{0, {0}}}));
    EXPECT_TRUE(ranks[7].owned_columns.empty());
}

TEST_F(Hierarchy, LineThatIsNoMessageIsRefused) {
    const std::string level = "level 0 rows 3 ranks 2 starts 0 2 3\n";
    for (const std::string& text :
         {std::string("0 1 1 0\n"), level + "0 2 1 0\n", level + "0 1 1 1\n", level + "0 1 1\n",
          level + "0 1 1 0 0\n", std::string("level 1\n"),
          std::string("level 0 rows 3 ranks 2 starts 0 2 2\n")}) {
        write("part.txt", text);

        EXPECT_EQ(test::thrown_by([&] { read_hierarchy(folder); }).code(), errc::parse_error);
    }
}

TEST_F(Hierarchy, FolderMustBeThereAndHoldALevel) {
    EXPECT_EQ(test::thrown_by([&] { read_hierarchy(folder); }).code(), errc::parse_error);
    EXPECT_EQ(test::thrown_by([&] { read_hierarchy(folder + "/missing"); }).code(),
              errc::file_error);
}

}  // namespace
}  // namespace crossdock::hierarchy_test
