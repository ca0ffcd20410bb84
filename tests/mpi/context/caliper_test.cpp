// Calls are regions of Caliper's, which here are noted.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "crossdock/gather_scatter.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "support/all_ranks.hpp"
#include "support/patterns.hpp"

namespace {

std::vector<std::string> regions;

}  // namespace

extern "C" {
void cali_begin_region(const char* name) { regions.push_back(std::string("begin ") + name); }
void cali_end_region(const char* name) { regions.push_back(std::string("end ") + name); }
}

namespace crossdock::caliper_test {
namespace {

class Caliper : public test::AllRanks {};

TEST_F(Caliper, CallsAreRegions) {
    context world(MPI_COMM_WORLD);
    const auto all = test::all_to_all_pattern(num_ranks);
    neighbor_exchange halo(world, mine(all), {.name = "halo"});
    gather_scatter shared(world, std::vector<count_t>{1}, {.name = "shared"});
    const std::vector<double> items(static_cast<std::size_t>(halo.plan().num_items()));
    std::vector<double> slots(static_cast<std::size_t>(halo.plan().num_slots())), values{1.0};

    regions.clear();
    halo.start(items, slots);
    halo.wait();
    shared.start(values, sum{});
    shared.wait();

    const std::vector<std::string> expected{"begin halo",   "end halo",     "begin halo",
                                            "end halo",     "begin shared", "end shared",
                                            "begin shared", "end shared"};
    EXPECT_EQ(regions, expected);
    EXPECT_EQ(world.reports().front().starts, 1);
    world.close();
}

}  // namespace
}  // namespace crossdock::caliper_test
