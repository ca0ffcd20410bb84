// Counts bytes, hence a program of its own.
#include <gtest/gtest.h>

#include "src/plan/plan_compiler.hpp"
#include "support/counted_memory.hpp"

namespace crossdock {
namespace {

// The most that is used at a time while `run` runs.
template <class Run>
std::size_t bytes_used_by(const Run& run) {
    const std::size_t before = test::used_bytes;
    test::peak_used_bytes = before;
    run();
    return test::peak_used_bytes - before;
}

// A rank that sends one item to the next region and receives one from the region before.
pattern one_item_each_way(rank_t rank, rank_t num_ranks) {
    pattern p{rank, num_ranks, 1, 1, {}, {}};
    const std::vector<count_t> only{0};
    p.sends.append((rank + 16) % num_ranks, only);
    p.receives.append((rank + num_ranks - 16) % num_ranks, only);
    return p;
}

TEST(PlanCompiler, AllocatesNothingOfTheSizeOfTheCommunicator) {
    constexpr rank_t num_ranks = 16384;
    const auto regions = topology::from_string("1024x16", num_ranks);
    std::vector<std::string> names{"grid:3"};
    for (const auto& entry : registered_routes()) names.push_back(entry.example);
    for (const auto& name : names) {
        const auto r = make_route(name, regions);
        const pattern p = one_item_each_way(0, num_ranks);
        const std::size_t bytes = bytes_used_by([&] {
            plan_compiler compiler(regions, p, *r, {});
            for (int round = 0; round < compiler.num_rounds(); ++round) {
                compiler.send();
                if (r->is_balanced() && round == 2) {
                    compiler.receive({{16, {1, 16}}});  // rank 16 receives for its region
                } else {
                    compiler.receive({});
                }
            }
        });
        EXPECT_LT(bytes, std::size_t{num_ranks} / 4) << name;
    }
}

TEST(Topology, AnOrdinaryPlacementTakesAFewWords) {
    for (const char* text : {"1024x16", "cyclic:1024x16", "500x16,524x16", "16384"}) {
        const auto make = [&] { const auto regions = topology::from_string(text, 16384); };
        EXPECT_LT(sizeof(topology) + bytes_used_by(make), 2048u) << text;
    }
}

}  // namespace
}  // namespace crossdock
