#include "crossdock/distributed_array.hpp"

#include <gtest/gtest.h>

#include "src/array/route_rule.hpp"
#include "src/model/machine_mpi.hpp"
#include "support/all_ranks.hpp"

namespace crossdock::distributed_array_test {
namespace {

class DistributedArray : public test::AllRanks {};

TEST_F(DistributedArray, AutoTakesTheRouteForWhatTheLastBatchWas) {
    const auto regions = num_ranks == 8 ? topology::from_string("4x2") : one_region;
    const auto route_for = [&](count_t num_requests) {
        return array_route_rule(regions, num_requests, {4, sizeof(int)}, machine_of(comm))
            .route_for_next();
    };
    const auto for_few = route_for(0);
    EXPECT_EQ(for_few == "direct", num_ranks != 8);
    count_t many = 1;
    while (route_for(many) != "direct") ++many;

    distributed_array<int> a({comm, regions}, many + 1, {.expected_requests = many});
    EXPECT_EQ(a.route(), "direct");
    const auto expect_read = [&](count_t num_of_last_rank, const std::string& route_name) {
        std::vector<count_t> indices;
        if (is_last) {
            // Each twice: what counts is what is left.
            for (count_t i = 0; i < num_of_last_rank; ++i) indices.insert(indices.end(), 2, i);
        }
        std::vector<int> out(indices.size());
        a.read(indices, std::span(out));
        EXPECT_EQ(a.route(), route_name);
    };
    expect_read(many - 1, "direct");
    expect_read(many, for_few);
    expect_read(1, "direct");
    expect_read(0, for_few);
    // Of whatever kind it was.
    a.update(std::vector<count_t>{0}, std::vector<int>{1}, sum());
    EXPECT_EQ(a.route(), for_few);
    a.close();
}

}  // namespace
}  // namespace crossdock::distributed_array_test
