#include "src/array/requests_by_destination.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "support/routes.hpp"

namespace crossdock::requests_by_destination_test {
namespace {

using index_list = std::vector<std::uint32_t>;

combined_requests<std::uint32_t> combine(combining strategy, const index_list& indices,
                                         count_t num_entries) {
    const std::vector<request_list<std::uint32_t>> lists{{indices, {}, nullptr, false}};
    combined_requests<std::uint32_t> held;
    held.combine(strategy, lists, num_entries);
    return held;
}

requests_by_destination find(const batch_route& routing, combined_requests<std::uint32_t>& held) {
    return held.is_sorted()
               ? requests_by_destination::of_sorted(routing, 0, std::span(held.indices()))
               : requests_by_destination::group(routing, 0, held, std::pmr::new_delete_resource());
}

// In stage 0: every position is in one range, and each range leads where the route says.
void expect_partition(const batch_route& routing, const combined_requests<std::uint32_t>& held,
                      const requests_by_destination& out) {
    const auto& destinations = routing.stages[0].destinations;
    std::vector<int> times(held.indices().size());
    for (std::size_t d = 0; d <= destinations.size(); ++d) {
        const bool is_staying = d == destinations.size();
        std::size_t end = 0;
        bool is_first = true;
        for (const auto& [first, length] : is_staying ? out.staying() : out.to(d)) {
            EXPECT_GT(length, 0);
            EXPECT_TRUE(is_first || first > end);
            is_first = false;
            end = first + length;
            ASSERT_LE(end, times.size());
            for (std::size_t position = first; position < end; ++position) {
                ++times[position];
                const rank_t owner =
                    routing.owners.owner(static_cast<count_t>(held.indices()[position]));
                const rank_t next = owner == routing.here ? owner
                                                          : routing.r->next_hop(routing.here, owner,
                                                                                0, leader_table());
                EXPECT_EQ(next, is_staying ? routing.here : destinations[d]);
            }
        }
    }
    EXPECT_EQ(times, std::vector<int>(times.size(), 1));
}

TEST(RequestsByDestination, CoverEveryPositionOnceOnEveryRoute) {
    std::mt19937_64 draw(3);
    for (const char* const where : {"1x1", "2x2", "5,1,3", "cyclic:4x4"}) {
        const auto regions = topology::from_string(where);
        const auto owners = block_partition::blocks(40, regions.num_ranks());
        for (const auto& route_name : test::conformance_routes()) {
            for (rank_t rank = 0; rank < regions.num_ranks(); ++rank) {
                const batch_route routing(route_name, regions, owners, rank);
                for (const std::size_t length : {0U, 3U, 60U}) {
                    index_list indices(length);
                    for (auto& index : indices) index = static_cast<std::uint32_t>(draw() % 40);
                    for (const auto strategy :
                         {combining::sort, combining::hash, combining::none}) {
                        SCOPED_TRACE(route_name + " " + to_string(strategy) + " on " + where);
                        auto held = combine(strategy, indices, 40);
                        expect_partition(routing, held, find(routing, held));
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace crossdock::requests_by_destination_test
