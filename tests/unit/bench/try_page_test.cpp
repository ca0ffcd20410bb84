#include "tools/crossdock/try_page.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

// Generated for the program.
const char* crossdock::tool::page_style() { return ""; }

namespace crossdock::tool::try_page_test {
namespace {

using texts = std::vector<std::string>;

bool has(const std::string& page, const std::string& part) { return page.find(part) != page.npos; }

json timing(double lower_quartile, double median, double upper_quartile) {
    return {{"min", 0},
            {"lower_quartile", 1e-6 * lower_quartile},
            {"median", 1e-6 * median},
            {"upper_quartile", 1e-6 * upper_quartile},
            {"max", 1}};
}

json contender(const char* name, const json& executor, const json& exchange_seconds,
               const json& ratio) {
    return {{"name", name},
            {"executor", executor},
            {"verified", true},
            {"setup_seconds", timing(1, 2, 3)},
            {"exchange_seconds", exchange_seconds},
            {"ratio", ratio},
            {"messages", 12345678},
            {"inter_region_messages", 1234567},
            {"items", 987654321},
            {"inter_region_items", 98765432}};
}

json ratio(double median, const json& lower, const json& upper) {
    return {{"median", median}, {"lower", lower}, {"upper", upper}};
}

std::string page_of(const char* outcome, const json& contenders) {
    return try_page({{"file", "a.mtx"},
                     {"outcome", outcome},
                     {"text", "It is so."},
                     {"warnings", json::array()},
                     {"ranks", 2},
                     {"hosts", 1},
                     {"cpu", ""},
                     {"mpi", ""},
                     {"shared_cores", nullptr},
                     {"regions", 1},
                     {"topology", "1x2"},
                     {"nodes", "1x2"},
                     {"is_calibrated", false},
                     {"machine", {{"name", "m"}}},
                     {"version", ""},
                     {"flags", ""},
                     {"patterns",
                      {{{"file", "a.mtx"},
                        {"partition", "block"},
                        {"item_bytes", 8},
                        {"iterations", 10},
                        {"contenders", contenders},
                        {"left_out", json::array()},
                        {"finding", {{"outcome", outcome}}},
                        {"advice", nullptr},
                        {"choice", {{"candidates", json::array()}}},
                        {"cluster_estimate", nullptr}}}}});
}

texts all_of(const std::string& text, const char* pattern) {
    texts found;
    const std::regex wanted(pattern);
    for (auto at = std::sregex_iterator(text.begin(), text.end(), wanted);
         at != std::sregex_iterator(); ++at)
        found.push_back((*at)[1]);
    return found;
}

// The scale has 180 units.
TEST(TryPage, BarsAreMediansAndLinesQuartiles) {
    const auto page =
        page_of("gain", {contender("mpi_persistent", nullptr, timing(60, 80, 100), ratio(1, 1, 1)),
                         contender("direct", "flat", timing(30, 40, 50), ratio(0.5, 0.4, 0.6))});

    EXPECT_EQ(all_of(page, "<rect [^>]* width=\"([0-9.]+)\""), (texts{"144.0", "72.0"}));
    EXPECT_EQ(all_of(page, "class=\"spread\" d=\"([^\"]+)\""),
              (texts{"M298.0,15H370.0", "M244.0,45H280.0"}));
    EXPECT_FALSE(has(page, "class=\"clipped\""));
    EXPECT_FALSE(has(page, "Arrows"));
}

TEST(TryPage, WhatTakesThreeTimesAsLongAsMpiIsClippedAndMarked) {
    const auto page = page_of(
        "gain", {contender("mpi_persistent", nullptr, timing(8, 10, 12), ratio(1, 1, 1)),
                 contender("direct", "flat", timing(6, 9, 300), ratio(0.9, 0.8, 1.2)),
                 contender("grid:2", "flat", timing(900, 1000, 1100), ratio(100, 90, 110))});

    EXPECT_EQ(all_of(page, "<rect [^>]* width=\"([0-9.]+)\""), (texts{"60.0", "54.0", "180.0"}));
    EXPECT_EQ(all_of(page, "class=\"clipped\" d=\"([^\"]+)\""),
              (texts{"M370,37l8,8l-8,8z", "M370,67l8,8l-8,8z"}));
    EXPECT_TRUE(has(page, "Dashed: the fastest of MPI alone. Arrows: clipped at 3 times that."));
    EXPECT_TRUE(has(page, "1000.0 µs</text>"));
}

TEST(TryPage, NumbersThatBelongTogetherShareAColumn) {
    const auto page =
        page_of("gain", {contender("mpi_persistent", nullptr, timing(8, 10, 12), ratio(1, 1, 1)),
                         contender("direct", "flat", timing(6, 9, 11), ratio(0.9, 0.85, 1.2))});

    EXPECT_TRUE(
        has(page,
            "<tr><th>contender</th><th>median, µs<small>quartiles</small></th><th>times MPI's "
            "fastest<small>interval, 95 %</small></th><th>set-up, µs</th><th>messages<small>"
            "between regions</small></th><th>items<small>between regions</small></th><th>verified"
            "</th></tr>"));
    EXPECT_TRUE(
        has(page,
            "<tr><td>crossdock, direct</td><td>9.0<small>6.0 to 11.0</small></td><td>0.90<small>"
            "0.85 to 1.20</small></td><td>2.0</td><td>12345678<small>1234567</small></td><td>"
            "987654321<small>98765432</small></td><td>yes</td></tr>"));
}

TEST(TryPage, WithFewRoundsThereIsNoInterval) {
    const auto page = page_of(
        "undecided",
        {contender("mpi_persistent", nullptr, timing(8, 10, 12), ratio(1, nullptr, nullptr)),
         contender("direct", "flat", timing(6, 9, 11), ratio(0.9, nullptr, nullptr))});

    EXPECT_TRUE(has(page, "<td>0.90<small>of too few rounds</small></td>"));
    EXPECT_TRUE(has(
        page, "<p>Measure longer, by --seconds or --iterations, before you change a program.</p>"));
    EXPECT_FALSE(has(page, "Leave this pattern to MPI."));
}

TEST(TryPage, WithoutAGainTheAdviceIsMpi) {
    const auto page =
        page_of("no_gain", {contender("mpi_persistent", nullptr, timing(8, 10, 12), ratio(1, 1, 1)),
                            contender("direct", "flat", timing(6, 9, 11), ratio(1, 1, 1))});

    EXPECT_TRUE(has(page, "<p>Leave this pattern to MPI.</p>"));
}

}  // namespace
}  // namespace crossdock::tool::try_page_test
