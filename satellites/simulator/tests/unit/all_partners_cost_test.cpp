#include "src/select/all_partners_cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "crossdock/detail/exchange/exchange_rules.hpp"
#include "crossdock/route.hpp"
#include "crossdock/schedule.hpp"
#include "satellites/simulator/src/operation_pricer.hpp"
#include "support/machines.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::all_partners_cost_test {
namespace {

using test::thrown_by;
using test::uniform_machine;

constexpr count_t header_bytes = 48;
constexpr double one_picosecond = 1.01e-12;

std::string chosen(const char* regions, const machine& m = default_machine()) {
    const auto load = all_partners_load{.message_bytes = header_bytes};
    return all_partners_chooser(topology::from_string(regions)).choose(m, load).route();
}

// Regions, and the route that is best there.
using choices = std::vector<std::pair<const char*, const char*>>;

using messages_of_all = std::vector<std::vector<sized_message>>;

// What the exchange's schedule costs, stage by stage: the slowest rank of each, which all others wait for.
double seconds_of_schedule(const std::string& route_name, const topology& regions, const machine& m,
                           const messages_of_all& messages) {
    const rank_layout layout(regions);
    const auto num_stages = static_cast<std::size_t>(make_route(route_name, regions)->num_stages());
    const auto all = schedule_of_exchange(regions, messages, {exchange_method::routed, route_name});
    operation_pricer prices(layout, m, num_stages, first_stage_tag);
    for (rank_t rank = 0; rank < regions.num_ranks(); ++rank) {
        prices.begin_rank();
        for (const auto& one : all.operations_of(rank)) prices.add(one);
    }
    std::vector<double> slowest(num_stages);
    for (const auto& stages : prices.prices()) {
        for (std::size_t t = 0; t < num_stages; ++t)
            slowest[t] = std::max({slowest[t], stages[t].work(), stages[t].path_of_packed()});
    }
    return std::accumulate(slowest.begin(), slowest.end(), 0.0);
}

// Nothing but headers. The closed form counts no piece for a header, so the machine copies pieces in no time.
double seconds_of_partners(const std::string& name, const topology& regions, machine m) {
    m.copy_seconds_per_item = 0;
    const messages_of_all nothing(static_cast<std::size_t>(regions.num_ranks()));
    return seconds_of_schedule(name, regions, m, nothing);
}

const std::vector<machine>& some_machines() {
    static const std::vector<machine> all{default_machine(), load_machine("lassen")};
    return all;
}

TEST(AllPartnersCost, CostsWhatTheSlowestRanksOfItsStagesSpendOnTheirPartners) {
    const all_partners_load load{.message_bytes = header_bytes};
    for (const char* text :
         {"1x1", "1x2", "1x16", "1x17", "1x60", "1x97", "13x1", "64x1", "8x4", "16x4"}) {
        const auto regions = topology::from_string(text);
        const all_partners_chooser prices(regions);
        for (const auto& m : some_machines()) {
            const auto choice = prices.choose(m, load);
            for (const auto& [name, seconds, term] : choice.candidates)
                EXPECT_NEAR(seconds, seconds_of_partners(name, regions, m), one_picosecond)
                    << text << ' ' << name;
        }
    }
    for (const char* text : {"4x4", "8x4", "16x4", "4,3,5"}) {
        const auto regions = topology::from_string(text);
        for (const auto& m : some_machines()) {
            EXPECT_NEAR(all_partners_chooser(regions).seconds("three_step:1", m, load),
                        seconds_of_partners("three_step:1", regions, m), one_picosecond)
                << text;
        }
    }
}

// One message from each rank to each other: as many in each bundle where all blocks are equal.
TEST(AllPartnersCost, WithItemsIsThatOfTheScheduleWhereAllBundlesAreEqual) {
    constexpr count_t bytes = 8;
    const count_t envelope_bytes = bundle_overhead_bytes(1) - bundle_overhead_bytes(0);
    for (const auto& [text, name] : {std::pair("1x16", "direct"), std::pair("4x4", "direct"),
                                     std::pair("1x16", "grid:2"), std::pair("1x64", "grid:3")}) {
        const auto regions = topology::from_string(text);
        messages_of_all messages;
        for (rank_t source = 0; source < regions.num_ranks(); ++source) {
            auto& own = messages.emplace_back();
            for (rank_t to = 0; to < regions.num_ranks(); ++to)
                if (to != source) own.push_back({to, bytes});
        }
        const all_partners_load load{.message_bytes = header_bytes,
                                     .num_items = regions.num_ranks(),
                                     .item_bytes = envelope_bytes + bytes};
        for (const auto& m : some_machines()) {
            EXPECT_NEAR(all_partners_chooser(regions).seconds(name, m, load),
                        seconds_of_schedule(name, regions, m, messages), one_picosecond)
                << text << ' ' << name;
        }
    }
}

// As when a grid's blocks are not the regions', or those who send are not those who receive.
TEST(AllPartnersCost, CostsNoLessThanItsPartnersWhereTheSlowestRankIsNotKnown) {
    for (const char* text :
         {"2x4", "3x4", "4x4", "4x6", "4x8", "2x9", "cyclic:4x4", "cyclic:3x5"}) {
        const auto regions = topology::from_string(text);
        const all_partners_chooser prices(regions);
        for (const auto& m : some_machines()) {
            const auto choice = prices.choose(m, {.message_bytes = header_bytes});
            for (const auto& [name, seconds, term] : choice.candidates)
                EXPECT_GE(seconds, seconds_of_partners(name, regions, m) - one_picosecond)
                    << text << ' ' << name;
        }
    }
}

TEST(AllPartnersCost, CandidatesAreThoseThatTheRegionsTellApart) {
    const auto candidates = [](const char* regions) {
        std::vector<std::string> names;
        const all_partners_chooser prices(topology::from_string(regions));
        for (const auto& one : prices.choose(default_machine()).candidates)
            names.push_back(one.route);
        std::sort(names.begin(), names.end());
        return names;
    };
    using names = std::vector<std::string>;

    EXPECT_EQ(candidates("1x1"), names{"direct"});
    EXPECT_EQ(candidates("1x8"), (names{"direct", "grid:2", "grid:3"}));
    EXPECT_EQ(candidates("8x1"), (names{"direct", "grid:2", "grid:3"}));
    EXPECT_EQ(candidates("4x2"), (names{"direct", "grid:2", "grid:3", "locality:1", "locality:2",
                                        "three_step", "two_step"}));
    EXPECT_EQ(chosen("4x2", load_machine("shared_cores")), "three_step:1");
}

TEST(AllPartnersCost, ChoosesByWhatStagesAndMessagesCost) {
    // Of one region direct for few ranks, and a grid of more dimensions for more.
    for (const char* few : {"1x1", "1x2", "1x3", "1x5"}) EXPECT_EQ(chosen(few), "direct") << few;
    const choices all{{"1x8", "grid:2"},     {"1x16", "grid:2"},     {"1x17", "grid:2"},
                      {"1x64", "grid:3"},    {"1x1024", "grid:5"},   {"1x16384", "grid:7"},
                      {"2x4", "locality:1"}, {"4x4", "locality:1"},  {"cyclic:4x4", "locality:1"},
                      {"8x4", "three_step"}, {"16x4", "three_step"}, {"64x4", "locality:3"},
                      {"16x48", "grid:5"},   {"64x32", "grid:6"},    {"1024x16", "grid:7"}};
    for (const auto& [regions, expected] : all) {
        EXPECT_EQ(chosen(regions), expected) << regions;
    }
}

// What measurements on two cores have found best: a message is work there, and a stage a turn of each rank.
TEST(AllPartnersCost, OnCoresThatRanksShareHasFewMessagesAndFewStages) {
    const choices all{
        {"1x8", "direct"},         {"1x16", "direct"},       {"1x64", "grid:2"},
        {"1x1024", "grid:3"},      {"2x4", "locality:1"},    {"4x4", "three_step:1"},
        {"8x4", "three_step:1"},   {"64x4", "locality:3"},   {"16x48", "three_step:1"},
        {"64x32", "three_step:1"}, {"1024x16", "locality:5"}};
    for (const auto& [regions, expected] : all) {
        EXPECT_EQ(chosen(regions, load_machine("shared_cores")), expected) << regions;
    }
}

// 4 ranks of one region: 3 messages, or one in each of two stages. 1 ns of overhead on either side.
TEST(AllPartnersCost, CostsWhatOneCanWorkOut) {
    const auto m = uniform_machine(1, 10, 0.5);
    const all_partners_chooser prices(topology::from_string("1x4"));

    // Overheads of 3 messages, and the last one's way; 20 bytes in 0.5 ns each.
    EXPECT_NEAR(prices.seconds("direct", m, {.message_bytes = 20}), 42e-9, one_picosecond);
    EXPECT_NEAR(prices.seconds("grid:2", m, {.message_bytes = 20}), 44e-9, one_picosecond);
    // 40 items of 1 byte: 10 for each rank on direct; 20 in each of two messages on the grid.
    const all_partners_load items{.num_items = 40, .item_bytes = 1};
    EXPECT_NEAR(prices.seconds("direct", m, items), 27e-9, one_picosecond);
    EXPECT_NEAR(prices.seconds("grid:2", m, items), 44e-9, one_picosecond);
}

// Work is 2 ns for each message and a turn 100 ns, on one core for 4 ranks.
TEST(AllPartnersCost, OnSharedCoresTakesNoLessThanTheWorkAndTheTurnsOfAll) {
    auto m = uniform_machine(1, 10, 0);
    m.num_cores = 1;
    m.time_slice_seconds = 100e-9;
    const all_partners_chooser prices(topology::from_string("1x4"));

    EXPECT_NEAR(prices.seconds("direct", m), 4 * (3 * 2e-9 + 100e-9), one_picosecond);
    EXPECT_NEAR(prices.seconds("grid:2", m), 4 * 2 * (2e-9 + 100e-9), one_picosecond);
}

TEST(AllPartnersCost, OfLargeLoadsIsDirect) {
    for (const char* text : {"1x64", "4x4", "16x48"}) {
        const all_partners_chooser prices(topology::from_string(text));
        EXPECT_EQ(prices.choose(default_machine(), {.num_items = 1 << 28}).route(), "direct")
            << text;
    }
}

TEST(AllPartnersCost, HasNoPriceForARouteThatIsNoCandidate) {
    const all_partners_chooser prices(topology::from_string("1x4"));

    const error refused = thrown_by([&] { prices.seconds("three_step", default_machine()); });

    EXPECT_EQ(refused.code(), errc::unknown_route);
}

TEST(AllPartnersCost, IsARouteOfItsTopologyWithFewMessages) {
    for (const rank_t num_ranks : {1, 2, 5, 16, 17, 42, 97, 256}) {
        for (const auto& regions : test::conformance_topologies(num_ranks)) {
            const auto name = all_partners_chooser(regions).choose(default_machine()).route();
            const auto way = make_route(name, regions);
            EXPECT_LE(way->max_messages_per_rank(), num_ranks) << regions.to_string();
        }
    }
    for (const char* text : {"1x16384", "1024x16"}) {
        const auto many = topology::from_string(text);
        EXPECT_LT(make_route(chosen(text), many)->max_messages_per_rank(), 100) << text;
    }
}

}  // namespace
}  // namespace crossdock::all_partners_cost_test
