#include "crossdock/error.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "support/thrown_by.hpp"

namespace crossdock::error_test {
namespace {

using test::thrown_by;

TEST(Error, CodesHaveFixedNumbersAndNames) {
    const std::vector<std::pair<int, std::string>> expected{
        {0, "success"},           {1, "invalid_argument"},   {2, "invalid_topology"},
        {3, "unknown_route"},     {4, "invalid_route"},      {5, "size_mismatch"},
        {6, "rank_out_of_range"}, {7, "index_out_of_range"}, {8, "count_mismatch"},
        {9, "count_overflow"},    {10, "file_error"},        {11, "parse_error"},
        {12, "invalid_state"},    {13, "invalid_plan"},      {14, "mpi_failure"},
        {15, "out_of_memory"},    {16, "internal"},          {17, "handler_failed"},
        {18, "peer_failed"},      {19, "timeout"},           {20, "rank_failed"}};

    for (const auto& [number, name] : expected)
        EXPECT_EQ(to_string(static_cast<errc>(number)), name);
}

TEST(Error, CarriesCodeSentenceAndRank) {
    const error fault(errc::count_mismatch, "rank 3 sends 2 items", 3);

    EXPECT_EQ(fault.code(), errc::count_mismatch);
    EXPECT_STREQ(fault.what(), "rank 3 sends 2 items");
    EXPECT_EQ(fault.rank(), 3);
    EXPECT_EQ(error(errc::file_error, "").rank(), -1);
}

TEST(Error, IsARuntimeError) {
    EXPECT_TRUE((std::is_base_of_v<std::runtime_error, error>));
    EXPECT_TRUE(std::is_nothrow_copy_constructible_v<error>);
}

TEST(RequireState, ThrowsInvalidStateWithTheMessage) {
    const error fault = thrown_by([] { require_state(1 > 2, "started twice"); });

    EXPECT_EQ(fault.code(), errc::invalid_state);
    EXPECT_STREQ(fault.what(), "started twice");
    EXPECT_NO_THROW(require_state(2 > 1, "unused"));
}

}  // namespace
}  // namespace crossdock::error_test
