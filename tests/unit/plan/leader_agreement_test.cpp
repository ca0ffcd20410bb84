#include "src/plan/leader_agreement.hpp"

#include <gtest/gtest.h>

#include <map>

#include "crossdock/plan.hpp"
#include "src/route/balance.hpp"
#include "support.hpp"
#include "support/least_maximum.hpp"
#include "support/patterns.hpp"
#include "support/topologies.hpp"

namespace crossdock::leader_agreement_test {
namespace {

/// Messages between a region and those that it talks with, weighed as `balance_messages` weighs
/// them, and what its members have of them.
struct region_load {
    std::map<region_t, count_t> volumes;
    std::map<rank_t, count_t> members;

    void add(region_t other, rank_t member, count_t num_items) {
        const count_t weight = num_items + items_per_message;
        EXPECT_TRUE(volumes.emplace(other, weight).second) << "second message to " << other;
        members[member] += weight;
    }
};

void expect_balanced(const std::map<region_t, region_load>& loads, const topology& regions,
                     rank_t max_leaders) {
    for (const auto& [region, load] : loads) {
        std::vector<count_t> volumes;
        for (const auto& [other, volume] : load.volumes) volumes.push_back(volume);
        count_t fullest = 0;
        for (const auto& [member, weight] : load.members) fullest = std::max(fullest, weight);

        const rank_t num_leaders = std::min(max_leaders, regions.region_size(region));
        EXPECT_LE(load.members.size(), static_cast<std::size_t>(num_leaders));
        EXPECT_TRUE(test::is_balanced(fullest, volumes, num_leaders))
            << "region " << region << " of " << regions.to_string() << ", volumes "
            << testing::PrintToString(volumes) << ", fullest " << fullest;
    }
}

void expect_one_balanced_message_per_pair(const topology& regions,
                                          std::span<const pattern> patterns, bool deduplicate,
                                          const std::string& name = "three_step") {
    std::map<region_t, region_load> sent;
    std::map<region_t, region_load> received;
    for (const auto& p : test::compile_route(name, regions, patterns, deduplicate)) {
        for (const auto& stage : p.stages()) {
            for (const auto& message : stage.sends) {
                const region_t here = regions.region_of(p.rank());
                const region_t there = regions.region_of(message.destination);
                if (here == there) continue;
                const auto num_items = static_cast<count_t>(message.positions.size());
                sent[here].add(there, p.rank(), num_items);
                received[there].add(here, message.destination, num_items);
            }
        }
    }
    // Where regions have one rank, nobody has to agree.
    const rank_t max_leaders = std::max(make_route(name, regions)->max_leaders(), 1);
    expect_balanced(sent, regions, max_leaders);
    expect_balanced(received, regions, max_leaders);
}

TEST(LeaderAgreement, SendsOneMessagePerPairOfRegionsAndBalancesThem) {
    for (const rank_t num_ranks : {2, 3, 8, 13, 40}) {
        for (const auto& regions : test::conformance_topologies(num_ranks)) {
            if (regions.num_regions() > 13) continue;  // the search would be too long
            for (const auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
                for (const bool deduplicate : {true, false}) {
                    SCOPED_TRACE(name);
                    expect_one_balanced_message_per_pair(regions, patterns, deduplicate);
                }
            }
        }
    }
}

TEST(LeaderAgreement, BalancesRandomVolumes) {
    for (const auto* text : {"4x3", "8x2", "10x4", "cyclic:9x4", "1,2,3,4,5,6,7", "12x5"}) {
        const auto regions = topology::from_string(text);
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            SCOPED_TRACE(seed);
            const auto patterns = test::random_pattern(regions.num_ranks(), seed);
            for (const auto* name : {"three_step", "three_step:1", "three_step:2"})
                expect_one_balanced_message_per_pair(regions, patterns, true, name);
        }
    }
}

}  // namespace
}  // namespace crossdock::leader_agreement_test
