// Replaces the global allocation functions to count bytes, hence a program of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "src/plan/plan_compiler.hpp"

namespace {

std::size_t allocated_bytes = 0;

void* allocate(std::size_t size) {
    allocated_bytes += size;
    if (void* memory = std::malloc(size ? size : 1)) return memory;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    allocated_bytes += size;
    return std::malloc(size ? size : 1);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace crossdock {
namespace {

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
        allocated_bytes = 0;
        {
            plan_compiler compiler(regions, p, *r, {});
            for (int round = 0; round < compiler.num_rounds(); ++round) {
                compiler.send();
                if (r->is_balanced() && round == 2) {
                    compiler.receive({{16, {1, 16}}});  // rank 16 receives for its region
                } else {
                    compiler.receive({});
                }
            }
        }
        EXPECT_LT(allocated_bytes, std::size_t{num_ranks} / 4) << name;
    }
}

TEST(Topology, AnOrdinaryPlacementTakesAFewWords) {
    for (const char* text : {"1024x16", "cyclic:1024x16", "500x16,524x16", "16384"}) {
        allocated_bytes = 0;
        const auto regions = std::make_unique<topology>(topology::from_string(text, 16384));
        EXPECT_LT(allocated_bytes, 2048u) << text;
    }
}

}  // namespace
}  // namespace crossdock
