#include "crossdock/detail/stream/stream_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "chunk_blocks.hpp"
#include "crossdock/route.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::stream_layout_test {
namespace {

using test::all_schemes;
constexpr std::array some_routes{"direct",     "two_step",  "three_step", "grid:2",
                                 "grid:2x3x4", "hypercube", "locality"};

std::vector<topology> some_topologies() {
    std::vector<topology> result;
    for (const rank_t num_ranks : {1, 2, 6, 13}) {
        for (const topology& one : test::conformance_topologies(num_ranks)) result.push_back(one);
    }
    return result;
}

std::vector<stream_layout> layouts_of_all(const topology& nodes, const char* route,
                                          stream_scheme scheme, int workers) {
    std::vector<stream_layout> result;
    for (rank_t rank = 0; rank < nodes.num_ranks(); ++rank) {
        result.emplace_back(nodes, route, scheme, workers, rank);
    }
    return result;
}

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Hops of the route itself; one to the own endpoint.
int num_hops(const route& way, rank_t source, rank_t destination) {
    if (source == destination) return 1;
    int hops = 0;
    for (int stage = 0; stage < way.num_stages(); ++stage) {
        const rank_t next = way.next_hop(source, destination, stage, {});
        if (next != source) ++hops;
        source = next;
    }
    return hops;
}

// Calls `check` with every scheme, route and topology, and with the layouts of all ranks.
template <class Check>
void for_all_layouts(const Check& check) {
    for (const topology& nodes : some_topologies()) {
        for (const char* const route : some_routes) {
            for (const stream_scheme scheme : all_schemes) {
                for (const int workers : {1, 3}) {
                    SCOPED_TRACE(nodes.to_string() + " " + route + " " + to_string(scheme) + " " +
                                 std::to_string(workers) + " workers");
                    check(nodes, route, layouts_of_all(nodes, route, scheme, workers));
                    if (testing::Test::HasFailure()) return;
                }
            }
        }
    }
}

// The rank of an endpoint that takes what comes there; any may.
rank_t any_rank(const stream_layout& layout, int endpoint, int salt) {
    if (!layout.is_node()) return endpoint;
    return layout.nodes().rank_at(endpoint, salt % layout.nodes().region_size(endpoint));
}

// Follows an item from buffer to buffer; gives its hops.
int follow(const std::vector<stream_layout>& layouts, rank_t source, worker_id to) {
    const stream_layout* here = &layouts[index(source)];
    const int home = here->endpoint_of(to.rank);
    const std::uint32_t way = here->is_per_worker() ? static_cast<std::uint32_t>(to.worker) : 0;
    std::uint32_t buffer = here->targets()[index(to.rank)].buffer + way;
    int stage = 0;
    for (int hops = 1;; ++hops) {
        const auto end = here->buffers().at(buffer);
        EXPECT_EQ(end.worker, here->is_per_worker() ? to.worker : -1);
        EXPECT_GT(end.stage, stage);
        stage = end.stage;
        if (end.endpoint == home) return hops;
        if (stage >= here->num_stages()) return -1;  // nobody would take it further
        here = &layouts[index(any_rank(*here, end.endpoint, source + to.rank))];
        EXPECT_EQ(here->here(), end.endpoint);
        buffer = here->buffer_on_the_way(stage, home) + way;
    }
}

TEST(StreamLayout, EveryItemComesHomeOnTheRoute) {
    for_all_layouts([](const topology& nodes, const char* route,
                       const std::vector<stream_layout>& layouts) {
        const stream_layout& any = layouts[0];
        const auto way = make_route(
            route, any.is_node() ? topology::from_string(std::to_string(any.num_endpoints()) + "x1")
                                 : nodes);
        EXPECT_EQ(any.num_stages(), std::max(way->num_stages(), 1));
        for (rank_t source = 0; source < nodes.num_ranks(); ++source) {
            for (rank_t to = 0; to < nodes.num_ranks(); ++to) {
                const int hops = num_hops(*way, any.endpoint_of(source), any.endpoint_of(to));
                for (int worker = 0; worker < any.num_workers(); ++worker) {
                    ASSERT_EQ(follow(layouts, source, {to, worker}), hops)
                        << source << " to " << to << ", " << worker;
                }
            }
        }
        EXPECT_LE(num_hops(*way, 0, any.num_endpoints() - 1), any.num_stages());
    });
}

TEST(StreamLayout, EndpointsAreRanksOrNodes) {
    const topology nodes = topology::from_string("2,3");
    const stream_layout of_ranks(nodes, "direct", stream_scheme::pp, 4, 3);
    const stream_layout of_nodes(nodes, "direct", stream_scheme::node, 4, 3);

    EXPECT_EQ(of_ranks.num_endpoints(), 5);
    EXPECT_EQ(of_ranks.here(), 3);
    EXPECT_EQ(of_ranks.max_group_size(), 4);
    EXPECT_EQ(of_ranks.num_partners(), 5);
    EXPECT_EQ(of_nodes.num_endpoints(), 2);
    EXPECT_EQ(of_nodes.here(), 1);
    EXPECT_EQ(of_nodes.group_size(0), 8);
    EXPECT_EQ(of_nodes.group_size(1), 12);
    EXPECT_EQ(of_nodes.max_group_size(), 12);
    EXPECT_EQ(of_nodes.num_partners(), 2);
    EXPECT_EQ(of_nodes.targets()[1].tag, 4U);
    EXPECT_EQ(of_nodes.targets()[4].tag, 8U);
}

TEST(StreamLayout, TagsAreAsShortAsTheyCanBe) {
    const auto bytes = [](const char* route, stream_scheme scheme, int workers) {
        return stream_layout(topology::from_string("2x2"), route, scheme, workers, 0).tag_bytes();
    };

    EXPECT_EQ(bytes("direct", stream_scheme::ww, 4), 0);
    EXPECT_EQ(bytes("direct", stream_scheme::wps, 1), 0);
    EXPECT_EQ(bytes("direct", stream_scheme::pp, 2), 2);
    EXPECT_EQ(bytes("direct", stream_scheme::node, 1), 2);
    EXPECT_EQ(bytes("direct", stream_scheme::wsp, 65535), 2);
    EXPECT_EQ(bytes("direct", stream_scheme::wsp, 65536), 4);
    EXPECT_EQ(bytes("hypercube", stream_scheme::ww, 1), 4);
    EXPECT_EQ(bytes("hypercube", stream_scheme::node, 1), 2);  // two nodes: one hop
}

TEST(StreamLayout, ARouteHasABufferForEachPartnerAndForItself) {
    const topology nodes = topology::from_string("4x4");
    const auto num_partners = [&](const char* route, stream_scheme scheme) {
        return stream_layout(nodes, route, scheme, 2, 5).num_partners();
    };

    EXPECT_EQ(num_partners("direct", stream_scheme::wps), 16);
    EXPECT_EQ(num_partners("two_step", stream_scheme::wps), 3 + 3 + 3 + 1);  // inside twice
    EXPECT_EQ(num_partners("grid:4x4", stream_scheme::ww), 3 + 3 + 1);
    EXPECT_EQ(num_partners("hypercube", stream_scheme::pp), 4 + 1);
    EXPECT_EQ(num_partners("hypercube", stream_scheme::node), 2 + 1);
}

TEST(StreamLayout, OneOf4096RanksHasFewBuffers) {
    const topology nodes = topology::from_string("64x64");
    const auto num_buffers = [&](const char* route, stream_scheme scheme) {
        return stream_layout(nodes, route, scheme, 4, 1000).buffers().size();
    };

    EXPECT_EQ(num_buffers("hypercube", stream_scheme::wps), 12U + 1);
    EXPECT_EQ(num_buffers("hypercube", stream_scheme::ww), 4U * (12 + 1));
    EXPECT_EQ(num_buffers("grid:2", stream_scheme::wps), 63U + 63 + 1);
    EXPECT_EQ(num_buffers("grid:2", stream_scheme::ww), 4U * (63 + 63 + 1));
    EXPECT_EQ(num_buffers("two_step", stream_scheme::wps), 63U + 63 + 63 + 1);
    EXPECT_EQ(num_buffers("hypercube", stream_scheme::node), 6U + 1);
    EXPECT_EQ(num_buffers("direct", stream_scheme::pp), 4096U);
}

TEST(StreamLayout, UnknownRoutesAreRefused) {
    const auto make = [](const char* route) {
        stream_layout(topology::one_region(4), route, stream_scheme::ww, 1, 0);
    };

    EXPECT_EQ(test::thrown_by([&] { make("nowhere"); }).code(), errc::unknown_route);
    EXPECT_EQ(test::thrown_by([&] { make("grid:1x1"); }).code(), errc::invalid_route);
}

}  // namespace
}  // namespace crossdock::stream_layout_test
