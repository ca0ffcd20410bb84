#include "crossdock/exchange_algorithm.hpp"

#include <gtest/gtest.h>

#include <set>

#include "support/thrown_by.hpp"

namespace crossdock::algorithm_test {
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
        {"rma_fence", method::rma_fence},
        {"locality_personalized", method::locality_personalized},
        {"locality_nonblocking", method::locality_nonblocking},
        {"locality_rma", method::locality_rma},
        {"reduce_scatter", method::reduce_scatter},
        {"redscatter", method::reduce_scatter},
        {"rsx", method::reduce_scatter},
        {"pcx", method::reduce_scatter},
        {"shared_memory", method::shared_memory}};
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
        EXPECT_EQ(
            refused.what(),
            "no exchange algorithm is called \"" + std::string(name) +
                "\"; there are auto, personalized, nonblocking, rma, rma_fence, "
                "locality_personalized, "
                "locality_nonblocking, locality_rma, reduce_scatter, shared_memory, routed:ROUTE");
    }
}

TEST(ChosenExchangeAlgorithm, IsTheCheapestRouteForEmptyBundles) {
    const auto chosen = [](const char* regions) {
        return to_string(choose_exchange_algorithm(topology::from_string(regions)));
    };
    EXPECT_EQ(chosen("1x4"), "routed:direct");
    EXPECT_EQ(chosen("1x8"), "routed:grid:2");
    EXPECT_EQ(chosen("2x4"), "routed:locality:1");
    EXPECT_EQ(chosen("4x4"), "routed:locality:1");
    EXPECT_EQ(chosen("8x4"), "routed:three_step");
    EXPECT_EQ(chosen("16x48"), "routed:grid:5");
    EXPECT_EQ(chosen("64x32"), "routed:grid:6");
}

TEST(ChosenExchangeAlgorithm, DependsOnTheMachine) {
    const auto m = load_machine("shared_cores");
    for (const char* text : {"4x4", "8x4"}) {
        EXPECT_EQ(choose_exchange_algorithm(topology::from_string(text), m),
                  (exchange_algorithm{exchange_method::routed, "three_step:1"}))
            << text;
    }
}

TEST(ChosenExchangeAlgorithm, IsTheSameForEqualTopologies) {
    EXPECT_EQ(choose_exchange_algorithm(topology::from_string("8x4")),
              choose_exchange_algorithm(topology::from_string("2x4,6x4")));
    EXPECT_EQ(choose_exchange_algorithm(topology::from_string("cyclic:2x2")),
              choose_exchange_algorithm(topology::from_string("list:5,9,5,9")));
}

}  // namespace
}  // namespace crossdock::algorithm_test
