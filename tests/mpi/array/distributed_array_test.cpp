#include "crossdock/distributed_array.hpp"

#include <gtest/gtest.h>

#include <random>

#include "src/model/machine_mpi.hpp"
#include "support/routes.hpp"

namespace crossdock::distributed_array_test {
namespace {

class DistributedArray : public testing::Test {
  protected:
    void TearDown() override { comm.close(); }

    communicator comm{MPI_COMM_WORLD};
    const rank_t rank = comm.rank();
    const rank_t num_ranks = comm.num_ranks();
};

struct named_options {
    std::string name;
    topology regions;
    array_options<std::int64_t> options;
};

std::vector<named_options> all_variants(rank_t num_ranks) {
    const auto one_region = topology::one_region(num_ranks);
    std::vector<named_options> result{{"plain", one_region, {.transport = array_transport::plain}},
                                      {"rma", one_region, {.transport = array_transport::rma}}};
    const auto regions = topology::from_string("cyclic:1x" + std::to_string(num_ranks));
    for (const auto& route_name : test::conformance_routes()) {
        for (const auto& one : registered_combining())
            result.push_back({route_name + " " + one.name,
                              regions,
                              {.route = route_name, .combine = {one.strategy, true, true}}});
    }
    return result;
}

// Every rank's requests, known to all.
struct request {
    count_t index;
    std::int64_t value;
};

std::vector<std::vector<request>> draw_requests(rank_t num_ranks, count_t num_entries,
                                                unsigned seed) {
    std::mt19937_64 draw(seed);
    std::vector<std::vector<request>> all(static_cast<std::size_t>(num_ranks));
    for (auto& list : all) {
        const auto count = draw() % 50;
        for (std::uint64_t k = 0; k < count; ++k)
            list.push_back({static_cast<count_t>(draw() % static_cast<std::uint64_t>(num_entries)),
                            static_cast<std::int64_t>(draw() % 1000)});
    }
    return all;
}

TEST_F(DistributedArray, ReadsAndUpdatesAsASerialArrayDoes) {
    constexpr count_t num_entries = 37;
    for (const auto& [name, regions, options] : all_variants(num_ranks)) {
        SCOPED_TRACE(name);
        distributed_array<std::int64_t> a({comm, regions}, num_entries, options);
        std::vector<std::int64_t> serial(num_entries);
        for (unsigned round = 0; round < 3; ++round) {
            const auto all = draw_requests(num_ranks, num_entries, round);
            std::vector<count_t> indices;
            std::vector<std::int64_t> values;
            for (const auto& one : all[static_cast<std::size_t>(rank)]) {
                indices.push_back(one.index);
                values.push_back(one.value);
            }
            a.update(indices, std::span<const std::int64_t>(values), sum());
            for (const auto& list : all) {
                for (const auto& one : list)
                    serial[static_cast<std::size_t>(one.index)] += one.value;
            }
            std::vector<std::int64_t> out(indices.size());
            a.read(indices, std::span(out));
            for (std::size_t k = 0; k < out.size(); ++k)
                ASSERT_EQ(out[k], serial[static_cast<std::size_t>(indices[k])]);
        }
        a.close();
    }
}

TEST_F(DistributedArray, AutoTakesTheRouteForWhatTheLastBatchWas) {
    const auto regions =
        num_ranks == 8 ? topology::from_string("4x2") : topology::one_region(num_ranks);
    const auto route_for = [&](count_t num_requests) {
        return choose_array_route(regions, num_requests, {4, sizeof(int)}, machine_of(comm));
    };
    const auto for_few = route_for(0);
    EXPECT_EQ(for_few == "direct", num_ranks != 8);
    count_t many = 1;
    while (route_for(many) != "direct") ++many;

    distributed_array<int> a({comm, regions}, many + 1, {.expected_requests = many});
    EXPECT_EQ(a.route(), "direct");
    const auto expect_read = [&](count_t num_of_last_rank, const std::string& route_name) {
        std::vector<count_t> indices;
        if (rank == num_ranks - 1) {
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

TEST_F(DistributedArray, PreparedBatchesDoAsPetscSfDoes) {
    constexpr count_t num_entries = 11;
    for (const auto& [name, regions, options] : all_variants(num_ranks)) {
        SCOPED_TRACE(name);
        distributed_array<std::int64_t> a({comm, regions}, num_entries, options);
        for (std::size_t e = 0; e < a.local().size(); ++e)
            a.local()[e] = 100 * (a.first_index() + static_cast<count_t>(e));
        std::vector<count_t> indices{3, 3, rank % num_entries, 10};
        auto p = a.prepare(indices);
        std::vector<std::int64_t> out(4);
        p.read(std::span(out));
        EXPECT_EQ(out, (std::vector<std::int64_t>{300, 300, 100 * (rank % num_entries), 1000}));

        const std::vector<std::int64_t> ones(4, 1);
        p.fetch_and_update(ones, std::span(out), sum());
        EXPECT_EQ(out[3], 1000 + rank + (rank > 10 ? 1 : 0));
        p.update(std::span<const std::int64_t>(ones), sum());
        p.read(std::span(out));
        const std::int64_t twice_all = 2 * num_ranks;
        EXPECT_EQ(out[3], 1000 + twice_all + (num_ranks > 10 ? 2 : 0));
        EXPECT_EQ(out[0], 300 + 2 * twice_all + (num_ranks > 3 ? 2 : 0));
        a.close();
    }
}

}  // namespace
}  // namespace crossdock::distributed_array_test
