#include "src/exchange/node_leaders.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace crossdock::node_leaders_test {
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

TEST(NodeLeaders, ShareOutTheOtherNodes) {
    EXPECT_EQ(leaders("3x2"), (std::vector<std::string>{"0>2", "1>5", "3>1", "2>4", "4>0", "5>3"}));
}

TEST(NodeLeaders, AreMembersOfNodesOfAnySizeAndOrder) {
    EXPECT_EQ(leaders("1,3,2"),
              (std::vector<std::string>{"0>1", "0>5", "2>0", "1>4", "4>0", "5>2"}));
    EXPECT_EQ(leaders("cyclic:2x2"), (std::vector<std::string>{"0>1", "1>0"}));
}

}  // namespace
}  // namespace crossdock::node_leaders_test
