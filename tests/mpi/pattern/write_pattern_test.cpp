#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "crossdock/make_pattern.hpp"
#include "support/all_ranks.hpp"
#include "support/project_file.hpp"
#include "support/thrown_by.hpp"
#include "tools/inputs/halo.hpp"

namespace crossdock::write_pattern_test {
namespace {

namespace fs = std::filesystem;
using counts = std::vector<count_t>;

std::string content_of(const fs::path& file) {
    std::stringstream content;
    content << std::ifstream(file).rdbuf();
    return content.str();
}

/// A folder that rank 0 makes and removes.
class WritePattern : public test::AllRanks {
  protected:
    void SetUp() override {
        int number = ::getpid();
        MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
        folder = fs::temp_directory_path() / ("crossdock-patterns-" + std::to_string(number));
        if (rank == 0) fs::create_directory(folder);
    }
    void TearDown() override {
        comm.wait_for_all();
        if (rank == 0) fs::remove_all(folder);
        AllRanks::TearDown();
    }

    pattern empty() const {
        return {.rank = rank, .num_ranks = num_ranks, .sends = {}, .receives = {}};
    }

    /// This rank's part of what the file says.
    pattern read() const {
        comm.wait_for_all();
        const auto matrix = read_matrix_market(path());
        return halos_from_matrix(matrix, make_partition(matrix, owners(), num_ranks))[at(rank)]
            .exchange;
    }

    void expect_error(const pattern& p, const std::string& file, count_t item_bytes, errc code,
                      const std::string& message) const {
        const error caught = test::thrown_by([&] { write_pattern(comm, p, file, item_bytes); });
        EXPECT_EQ(caught.code(), code);
        EXPECT_TRUE(std::string_view(caught.what()).starts_with(message)) << caught.what();
    }

    static std::size_t at(rank_t number) { return static_cast<std::size_t>(number); }
    std::string path() const { return folder / "own.mtx"; }
    std::string owners() const { return folder / "own.owners"; }

    fs::path folder;
};

TEST_F(WritePattern, TheHaloOfAMatrixIsReadBack) {
    const auto matrix = read_matrix_market(test::project_file("data/bcspwr10.mtx.gz"));
    const auto own =
        halos_from_matrix(matrix, make_partition(matrix, "random:3", num_ranks))[at(rank)].exchange;

    write_pattern(comm, own, path());

    // Items that nobody needs are no rows.
    counts needed = own.sends.indices;
    std::ranges::sort(needed);
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    neighbor_list sends = own.sends;
    for (count_t& item : sends.indices)
        item = std::ranges::lower_bound(needed, item) - needed.begin();
    const auto found = read();
    EXPECT_EQ(found.sends, sends);
    EXPECT_EQ(found.receives, own.receives);
    EXPECT_EQ(found.num_items, std::max<count_t>(std::ssize(needed), 1));
    EXPECT_EQ(found.num_slots, own.num_slots);
}

TEST_F(WritePattern, TheFilesAreThoseOfTheComment) {
    auto own = empty();
    own.num_items = 3;
    if (rank == 0 && num_ranks > 1) own.sends.append(1, counts{2, 0});

    write_pattern(comm, own, path(), 24);

    comm.wait_for_all();
    const bool is_sent = num_ranks > 1;
    const std::string rows = std::to_string(is_sent ? num_ranks + 1 : 1);
    std::string owners_of_rows = is_sent ? "0\n" : "";
    for (rank_t owner = 0; owner < num_ranks; ++owner)
        owners_of_rows += std::to_string(owner) + "\n";
    EXPECT_EQ(content_of(path()),
              "%%MatrixMarket matrix coordinate pattern general\n% items of 24 bytes\n" + rows +
                  " " + rows + (is_sent ? " 2\n3 1\n3 2\n" : " 0\n"));
    EXPECT_EQ(content_of(owners()), owners_of_rows);
}

TEST_F(WritePattern, WhatIsListedTwiceIsWrittenOnceAndOwnItemsAreNot) {
    auto own = empty();
    own.num_items = 100;
    own.sends.append(next, counts{70, 30, 70});
    own.sends.append(rank, counts{1});
    own.sends.append(next, counts{30, 50});

    write_pattern(comm, own, path());

    const auto found = read();
    pattern expected = empty();
    if (num_ranks > 1) {
        expected.sends.append(next, counts{0, 1, 2});
        expected.receives.append(previous, counts{0, 1, 2});
    }
    EXPECT_EQ(found.sends, expected.sends);
    EXPECT_EQ(found.receives, expected.receives);
    EXPECT_EQ(found.num_items, num_ranks > 1 ? 3 : 1);
}

TEST_F(WritePattern, AWrittenFileIsReplaced) {
    write_pattern(comm, empty(), path());
    const auto ring = pattern_from_needed(comm, rank, 1, counts{next});

    write_pattern(comm, ring, path());

    EXPECT_EQ(read().sends, num_ranks > 1 ? ring.sends : neighbor_list{});
}

TEST_F(WritePattern, ALinkIsWrittenThrough) {
    const auto target = (folder / "target").string();
    if (rank == 0) fs::create_symlink(target, path());

    write_pattern(comm, empty(), path());

    EXPECT_TRUE(fs::is_symlink(path()));
    EXPECT_EQ(content_of(path()), content_of(target));
    EXPECT_EQ(read().num_slots, 0);
}

TEST_F(WritePattern, FailsOnAllRanksIfTheFileCannotBeWritten) {
    const auto missing = (folder / "missing/own.mtx").string();
    expect_error(empty(), missing, 8, errc::file_error, "cannot write " + missing);

    if (rank == 0) fs::create_directory(owners());
    expect_error(empty(), path(), 8, errc::file_error, "cannot write " + owners());
    comm.wait_for_all();
    EXPECT_FALSE(fs::exists(path()));
    EXPECT_FALSE(fs::exists(path() + ".partial"));
}

TEST_F(WritePattern, WrittenFilesStayIfTheyCannotBeReplaced) {
    write_pattern(comm, empty(), path(), 24);
    EXPECT_FALSE(fs::exists(path() + ".partial"));
    EXPECT_FALSE(fs::exists(owners() + ".partial"));
    const auto matrix = content_of(path());
    const auto owners_of_rows = content_of(owners());
    comm.wait_for_all();
    if (rank == 0) fs::create_directory(owners() + ".partial");

    expect_error(empty(), path(), 8, errc::file_error, "cannot write " + owners());

    comm.wait_for_all();
    EXPECT_EQ(content_of(path()), matrix);
    EXPECT_EQ(content_of(owners()), owners_of_rows);
    EXPECT_FALSE(fs::exists(path() + ".partial"));
}

TEST_F(WritePattern, FailsOnAllRanksIfAnArgumentIsBad) {
    expect_error(empty(), "own.txt", 8, errc::invalid_argument,
                 "a pattern is written to a file .mtx, not to \"own.txt\"");
    expect_error(empty(), path(), 0, errc::invalid_argument, "item_bytes is 0");
    auto bad = empty();
    if (is_last) bad.sends.append(0, counts{5});
    EXPECT_THROW(write_pattern(comm, bad, path()), error);
    bad = empty();
    if (is_last) bad.num_ranks = num_ranks + 1;
    expect_error(bad, path(), 8, errc::size_mismatch, "");
    EXPECT_FALSE(fs::exists(path()));
}

}  // namespace
}  // namespace crossdock::write_pattern_test
