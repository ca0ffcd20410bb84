#include "crossdock/detail/exchange/exchange_rules.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace crossdock::exchange_rules_test {
namespace {

// "sender>receiver" for every pair of nodes, by the first and then the second.
std::vector<std::string> leaders(const char* text) {
    const auto nodes = topology::from_string(text);
    std::vector<std::string> result;
    for (region_t from = 0; from < nodes.num_regions(); ++from) {
        for (region_t to = 0; to < nodes.num_regions(); ++to) {
            if (from == to) continue;
            const auto [sender, receiver] = leaders_between(nodes, from, to);
            result.push_back(std::to_string(sender) + '>' + std::to_string(receiver));
        }
    }
    return result;
}

TEST(NodeLeaders, AreTheFirstMembersOfFewNodes) {
    EXPECT_EQ(leaders("3x2"), (std::vector<std::string>{"0>2", "0>4", "2>0", "2>4", "4>0", "4>2"}));
}

TEST(NodeLeaders, ShareOutTheOtherNodesByEights) {
    const auto to_node = leaders("18x2");

    // Of node 0, to the nodes 1 to 17.
    EXPECT_EQ(std::vector<std::string>(to_node.begin(), to_node.begin() + 17),
              (std::vector<std::string>{"0>2", "0>4", "0>6", "0>8", "0>10", "0>12", "0>14", "0>16",
                                        "1>19", "1>21", "1>23", "1>25", "1>27", "1>29", "1>31",
                                        "1>33", "0>34"}));
    EXPECT_EQ(to_node.back(), "34>32");
}

TEST(NodeLeaders, AreMembersOfNodesOfAnySizeAndOrder) {
    EXPECT_EQ(leaders("1,3,2"),
              (std::vector<std::string>{"0>1", "0>4", "1>0", "1>4", "4>0", "4>1"}));
    EXPECT_EQ(leaders("cyclic:2x2"), (std::vector<std::string>{"0>1", "1>0"}));
}

}  // namespace
}  // namespace crossdock::exchange_rules_test
