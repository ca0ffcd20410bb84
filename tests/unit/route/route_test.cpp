#include "crossdock/route.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "support.hpp"
#include "support/project_file.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::route_test {
namespace {

using test::thrown_by;

class RouteConformance : public testing::TestWithParam<std::string> {
  protected:
    /// Calls `check(route, regions)` for 1 to 40 ranks in all kinds of regions.
    template <class Check>
    void for_all_topologies(Check check) {
        for (rank_t num_ranks = 1; num_ranks <= 40; ++num_ranks) {
            for (const auto& regions : test::conformance_topologies(num_ranks)) {
                SCOPED_TRACE(regions.to_string());
                check(*make_route(GetParam(), regions), regions);
                if (HasFailure()) return;
            }
        }
    }
};

void sort_unique(std::vector<rank_t>& ranks) {
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
}

/// With whom ranks have to do if every rank sends to every other, by stage and rank.
std::vector<std::vector<stage_partners>> partners_of_all(const route& r, rank_t num_ranks) {
    std::vector<std::vector<stage_partners>> result(
        static_cast<std::size_t>(r.num_stages()),
        std::vector<stage_partners>(static_cast<std::size_t>(num_ranks)));
    for (rank_t source = 0; source < num_ranks; ++source) {
        for (rank_t destination = 0; destination < num_ranks; ++destination) {
            const auto hops = test::path(r, source, destination);
            for (std::size_t stage = 0; stage < result.size(); ++stage) {
                const rank_t from = hops[stage];
                const rank_t to = hops[stage + 1];
                if (from == to) continue;
                result[stage][static_cast<std::size_t>(from)].destinations.push_back(to);
                result[stage][static_cast<std::size_t>(to)].sources.push_back(from);
            }
        }
    }
    for (auto& of_stage : result) {
        for (auto& [destinations, sources] : of_stage) {
            sort_unique(destinations);
            sort_unique(sources);
        }
    }
    return result;
}

TEST_P(RouteConformance, EveryPathEndsAtItsDestinationAndStaysThere) {
    for_all_topologies([](const route& r, const topology& regions) {
        for (rank_t source = 0; source < regions.num_ranks(); ++source) {
            for (rank_t destination = 0; destination < regions.num_ranks(); ++destination) {
                const auto hops = test::path(r, source, destination);

                ASSERT_EQ(hops.back(), destination) << "from " << source;
                const auto arrival = std::find(hops.begin(), hops.end(), destination);
                ASSERT_EQ(std::count(arrival, hops.end(), destination), hops.end() - arrival)
                    << "from " << source << " to " << destination;
            }
        }
    });
}

// Who makes a table of all hops asks for some that no item takes.
TEST_P(RouteConformance, NextHopsAreRanksEvenWhereNoItemCanBe) {
    for (const rank_t num_ranks : {1, 2, 3, 13}) {
        for (const auto& regions : test::conformance_topologies(num_ranks)) {
            const auto r = make_route(GetParam(), regions);
            for (int stage = 0; stage < r->num_stages(); ++stage) {
                for (rank_t here = 0; here < num_ranks; ++here) {
                    for (rank_t destination = 0; destination < num_ranks; ++destination) {
                        const rank_t next = r->next_hop(here, destination, stage, {});
                        EXPECT_TRUE(0 <= next && next < num_ranks) << next;
                    }
                }
            }
        }
    }
}

TEST_P(RouteConformance, PartnersAreThoseOfAnItemFromAnyRankToAnyOtherAndWithinTheBound) {
    for_all_topologies([](const route& r, const topology& regions) {
        const auto expected = partners_of_all(r, regions.num_ranks());
        for (rank_t here = 0; here < regions.num_ranks(); ++here) {
            count_t num_messages = 0;
            for (int stage = 0; stage < r.num_stages(); ++stage) {
                const auto [destinations, sources] = r.partners(here, stage);
                const auto& of_here =
                    expected[static_cast<std::size_t>(stage)][static_cast<std::size_t>(here)];
                num_messages += std::ssize(destinations);

                ASSERT_EQ(destinations, of_here.destinations) << here << " in stage " << stage;
                ASSERT_EQ(sources, of_here.sources) << here << " in stage " << stage;
            }
            ASSERT_LE(num_messages, r.max_messages_per_rank()) << here;
        }
        const auto again = make_route(r.name(), regions);
        ASSERT_EQ(again->name(), r.name());
        ASSERT_EQ(again->num_stages(), r.num_stages());
        ASSERT_EQ(again->is_balanced(), r.is_balanced());
        ASSERT_EQ(again->max_messages_per_rank(), r.max_messages_per_rank());
    });
}

INSTANTIATE_TEST_SUITE_P(Routes, RouteConformance, testing::ValuesIn(test::conformance_routes()),
                         [](const auto& instance) { return test::test_name(instance.param); });

std::vector<std::string> examples_of_named_grids() {
    std::vector<std::string> examples;
    for (const auto& entry : named_grids()) examples.push_back(entry.example);
    return examples;
}

INSTANTIATE_TEST_SUITE_P(NamedGrids, RouteConformance, testing::ValuesIn(examples_of_named_grids()),
                         [](const auto& instance) { return test::test_name(instance.param); });

std::vector<route_description> all_entries() {
    auto entries = registered_routes();
    entries.insert(entries.end(), named_grids().begin(), named_grids().end());
    return entries;
}

std::vector<std::string> all_names() {
    std::vector<std::string> names;
    for (const auto& entry : all_entries()) names.push_back(entry.name);
    return names;
}

/// The first column of the documentation's table, without parameters: "| [`grid:n`](#grid) | …".
std::vector<std::string> documented_names() {
    const std::string row = "| [`";
    std::ifstream table(test::project_file("docs/routes.md"));
    std::vector<std::string> names;
    for (std::string line; std::getline(table, line);) {
        if (!line.starts_with(row)) continue;
        const auto name =
            line.substr(row.size(), line.find_first_of(":`", row.size()) - row.size());
        if (names.empty() || names.back() != name) names.push_back(name);
    }
    return names;
}

TEST(Registry, HoldsTheRoutesInTheOrderOfTheDocumentation) {
    EXPECT_EQ(all_names(), documented_names());
    EXPECT_EQ(all_names().front(), "direct");
}

TEST(Registry, EveryExampleIsTheNameOfTheRouteItMakes) {
    for (const auto& entry : all_entries()) {
        const auto r = make_route(entry.example, topology::from_string("3,4"));

        EXPECT_EQ(r->name(), entry.example);
        EXPECT_EQ(entry.example.substr(0, entry.example.find(':')), entry.name);
        EXPECT_FALSE(entry.summary.empty());
        EXPECT_EQ(r->is_balanced(), entry.name == "three_step");
    }
}

TEST(MakeRoute, TakesTheWholeNameOnly) {
    for (const auto* name : {"four_step", "", "dir", "direct ", "Direct", ":", ":2"}) {
        const error fault = thrown_by([&] { return make_route(name, topology::one_region(4)); });

        EXPECT_EQ(fault.code(), errc::unknown_route) << name;
        for (const auto& known : all_names())
            EXPECT_NE(std::string(fault.what()).find(known), std::string::npos) << known;
    }
}

TEST(MakeRoute, RefusesParametersOfRoutesThatTakeNone) {
    for (const std::string name : {"direct", "two_step", "hypercube", "increase", "decrease",
                                   "hourglass", "inverse_hourglass"}) {
        const error fault =
            thrown_by([&] { return make_route(name + ":2", topology::one_region(4)); });

        EXPECT_EQ(fault.code(), errc::invalid_route) << name;
    }
}

}  // namespace
}  // namespace crossdock::route_test
