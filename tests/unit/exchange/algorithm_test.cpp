#include "crossdock/exchange/algorithm.hpp"

#include <gtest/gtest.h>

#include <set>

#include "crossdock/route/route.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock {
namespace {

using test::thrown_by;

TEST(ExchangeAlgorithm, IsReadByItsNameAndItsAliases) {
    using method = exchange_method;
    const std::vector<std::pair<std::string, method>> names{
        {"personalized", method::personalized},
        {"pex", method::personalized},
        {"allreduce", method::personalized},
        {"nonblocking", method::nonblocking},
        {"nbx", method::nonblocking},
        {"ibarrier", method::nonblocking},
        {"rma", method::rma},
        {"locality_personalized", method::locality_personalized},
        {"locality_nonblocking", method::locality_nonblocking},
        {"reduce_scatter", method::reduce_scatter},
        {"redscatter", method::reduce_scatter},
        {"rsx", method::reduce_scatter},
        {"pcx", method::reduce_scatter}};
    for (const auto& [name, expected] : names)
        EXPECT_EQ(parse_exchange_algorithm(name), (exchange_algorithm{expected, ""})) << name;
}

TEST(ExchangeAlgorithm, TakesItsRouteAsItIs) {
    EXPECT_EQ(parse_exchange_algorithm("routed:grid:2x3"),
              (exchange_algorithm{exchange_method::routed, "grid:2x3"}));
    EXPECT_EQ(parse_exchange_algorithm("routed:"),
              (exchange_algorithm{exchange_method::routed, ""}));
}

TEST(ExchangeAlgorithm, IsWrittenAsItIsRead) {
    for (const auto& one : registered_exchange_algorithms()) {
        const bool is_routed = one.method == exchange_method::routed;
        const auto name = one.name + (is_routed ? ":three_step" : "");
        EXPECT_EQ(to_string(parse_exchange_algorithm(name)), name);
        for (const auto& alias : one.aliases)
            EXPECT_EQ(to_string(parse_exchange_algorithm(alias)), name) << alias;
    }
}

TEST(ExchangeAlgorithm, HasNoNameTwice) {
    std::set<std::string> names;
    for (const auto& one : registered_exchange_algorithms()) {
        EXPECT_TRUE(names.insert(one.name).second) << one.name;
        for (const auto& alias : one.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
    }
    EXPECT_FALSE(names.contains("auto"));
}

TEST(ExchangeAlgorithm, IsRefusedIfNobodyKnowsItsName) {
    for (const char* name : {"", "telepathy", "routed", "Personalized", "nbx ", "auto"}) {
        const error refused = thrown_by([&] { parse_exchange_algorithm(name); });
        EXPECT_EQ(refused.code(), errc::invalid_argument) << name;
        EXPECT_EQ(refused.what(),
                  "no exchange algorithm is called \"" + std::string(name) +
                      "\"; there are auto, personalized, nonblocking, rma, locality_personalized, "
                      "locality_nonblocking, reduce_scatter, routed:ROUTE");
    }
}

std::string chosen_route(const topology& regions) {
    const auto chosen = choose_exchange_algorithm(regions);
    EXPECT_EQ(chosen.method, exchange_method::routed);
    return chosen.route;
}

TEST(ChosenExchangeAlgorithm, IsDirectForFewRanksOfOneRegion) {
    for (const rank_t num_ranks : {1, 2, 3, 15, 16})
        EXPECT_EQ(chosen_route(topology::one_region(num_ranks)), "direct") << num_ranks;
}

TEST(ChosenExchangeAlgorithm, IsAGridForManyRanksOfOneRegion) {
    for (const rank_t num_ranks : {17, 64, 97, 1000, 16384}) {
        const auto route = chosen_route(topology::one_region(num_ranks));
        EXPECT_TRUE(route.starts_with("grid:")) << num_ranks << ' ' << route;
    }
}

TEST(ChosenExchangeAlgorithm, KeepsRegionsTogether) {
    for (const char* text : {"2x8", "cyclic:2x8", "3,5,1", "64x4", "1024x16"}) {
        const auto route = chosen_route(topology::from_string(text));
        EXPECT_TRUE(route.starts_with("locality:") || route == "three_step")
            << text << ' ' << route;
    }
}

TEST(ChosenExchangeAlgorithm, IsAGridWhereRegionsAreOneRankOrVeryLarge) {
    for (const char* text : {"16x1", "1000x1", "2x512"})
        EXPECT_TRUE(chosen_route(topology::from_string(text)).starts_with("grid:")) << text;
}

TEST(ChosenExchangeAlgorithm, FitsAnyTopologyAndSendsFewMessages) {
    for (const rank_t num_ranks : {1, 2, 5, 16, 17, 42, 97, 256}) {
        for (const auto& regions : test::conformance_topologies(num_ranks)) {
            const auto way = make_route(chosen_route(regions), regions);
            EXPECT_LE(way->max_messages_per_rank(), num_ranks) << regions.to_string();
        }
    }
    const auto many = topology::from_string("1024x16");
    EXPECT_LT(make_route(chosen_route(many), many)->max_messages_per_rank(), 200);
    const auto one = topology::one_region(16384);
    EXPECT_LT(make_route(chosen_route(one), one)->max_messages_per_rank(), 100);
}

TEST(ChosenExchangeAlgorithm, IsTheSameForEqualTopologies) {
    EXPECT_EQ(choose_exchange_algorithm(topology::from_string("8x4")),
              choose_exchange_algorithm(topology::from_string("2x4,6x4")));
    EXPECT_EQ(choose_exchange_algorithm(topology::from_string("cyclic:2x2")),
              choose_exchange_algorithm(topology::from_string("list:5,9,5,9")));
}

}  // namespace
}  // namespace crossdock
