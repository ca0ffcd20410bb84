#include "satellites/studies/link_loads.hpp"

#include <gtest/gtest.h>

#include "crossdock/error.hpp"

namespace crossdock::bench::link_loads_test {
namespace {

using loads = std::vector<std::vector<count_t>>;

struct sent {
    rank_t source;
    rank_t destination;
    count_t bytes;
    int tag = 0;
};

loads loads_of(const std::vector<sent>& messages, const char* nodes, const network& where) {
    const auto regions = topology::from_string(nodes);
    schedule work;
    for (rank_t rank = 0; rank < regions.num_ranks(); ++rank) {
        work.begin_rank();
        for (const auto& one : messages) {
            operation what;
            what.kind = operation_kind::send;
            what.peer = one.destination;
            what.tag = one.tag;
            what.message_bytes = one.bytes;
            if (one.source == rank) work.add(what);
        }
    }
    return most_link_bytes(work, regions, where);
}

TEST(LinkLoads, OnATorusMessagesGoTheShorterWayAndShareLinks) {
    const network ring{.sizes = {8}};

    EXPECT_EQ(loads_of({{0, 2, 5}, {1, 2, 3}}, "8x1", ring), (loads{{8}}));
    EXPECT_EQ(loads_of({{0, 6, 5}, {7, 6, 3}, {7, 0, 4}}, "8x1", ring), (loads{{8}}));
}

TEST(LinkLoads, HalfwayRoundEvenPlacesGoUpAndOddOnesDown) {
    EXPECT_EQ(loads_of({{0, 2, 5}, {1, 3, 3}}, "4x1", {.sizes = {4}}), (loads{{5}}));
    EXPECT_EQ(loads_of({{0, 2, 5}, {1, 2, 3}}, "4x1", {.sizes = {4}}), (loads{{8}}));
}

TEST(LinkLoads, OneDimensionComesAfterTheOther) {
    const network torus{.sizes = {4, 4}};  // 0 to 5 turns at 1, 4 to 1 at 5

    EXPECT_EQ(loads_of({{0, 5, 7}, {1, 5, 2}}, "16x1", torus), (loads{{7, 9}}));
    EXPECT_EQ(loads_of({{0, 5, 7}, {4, 1, 2}}, "16x1", torus), (loads{{7, 7}}));
}

TEST(LinkLoads, InARowALinkGoesToEveryRouter) {
    const network rows{.is_torus = false, .sizes = {4, 2}};

    EXPECT_EQ(loads_of({{0, 2, 5}, {1, 2, 3}, {0, 6, 4}, {2, 6, 1}}, "8x1", rows), (loads{{9, 5}}));
}

TEST(LinkLoads, ARouterCarriesItsNodesAndATagIsAStage) {
    const network routers{.router_nodes = 2, .sizes = {4}};

    EXPECT_EQ(loads_of({{0, 1, 100}, {0, 7, 5, 1}, {3, 7, 6, 1}}, "8x2", routers),
              (loads{{0}, {11}}));
}

TEST(LinkLoads, AllRoutersHaveTheirNodes) {
    EXPECT_THROW(loads_of({}, "8x1", {.sizes = {4}}), error);
}

}  // namespace
}  // namespace crossdock::bench::link_loads_test
