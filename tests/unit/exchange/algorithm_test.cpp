#include "crossdock/exchange_algorithm.hpp"

#include <gtest/gtest.h>

#include <set>

#include "crossdock/detail/exchange/exchange_rules.hpp"
#include "src/select/all_partners_cost.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::algorithm_test {
namespace {

using test::thrown_by;

TEST(ExchangeAlgorithm, IsReadByItsNameAndItsAliases) {
    using method = exchange_method;
    const std::vector<std::pair<std::string, method>> aliases{
        {"pex", method::personalized},          {"allreduce", method::personalized},
        {"nbx", method::nonblocking},           {"ibarrier", method::nonblocking},
        {"redscatter", method::reduce_scatter}, {"rsx", method::reduce_scatter},
        {"pcx", method::reduce_scatter}};
    for (const auto& [name, expected] : aliases)
        EXPECT_EQ(parse_exchange_algorithm(name), (exchange_algorithm{expected, ""})) << name;
    for (const auto& one : registered_exchange_algorithms()) {
        if (one.method == method::routed) continue;
        EXPECT_EQ(parse_exchange_algorithm(one.name), (exchange_algorithm{one.method, ""}));
    }
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
        for (const auto& one : registered_exchange_algorithms())
            EXPECT_NE(std::string(refused.what()).find(one.name), std::string::npos) << one.name;
    }
}

TEST(ChosenExchangeAlgorithm, IsTheCheapestRouteForEmptyBundles) {
    const all_partners_load bundles{.message_bytes = bundle_overhead_bytes(0)};
    for (const char* text : {"1x4", "1x8", "2x4", "cyclic:2x2", "8x4", "16x48"}) {
        const auto regions = topology::from_string(text);
        for (const auto& m : {default_machine(), load_machine("shared_cores")}) {
            const auto route = all_partners_chooser(regions).choose(m, bundles).route();
            EXPECT_EQ(choose_exchange_algorithm(regions, m),
                      (exchange_algorithm{exchange_method::routed, route}))
                << text << " on " << m.name;
        }
    }
}

}  // namespace
}  // namespace crossdock::algorithm_test
