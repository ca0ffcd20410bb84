// Messages that are split over the ranks of their nodes.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "crossdock/neighbor_exchange.hpp"
#include "support/patterns.hpp"

namespace crossdock::stripes_test {
namespace {

// Every rank sends 37 items to every other; those for one half of the ranks are the same.
std::vector<pattern> long_messages(rank_t num_ranks) {
    test::pattern_builder builder(num_ranks);
    for (rank_t source = 0; source < num_ranks; ++source) {
        for (rank_t destination = 0; destination < num_ranks; ++destination) {
            for (count_t k = 0; k < 37; ++k)
                builder.send(source, (k * 5) % 37 + 37 * (destination % 2), destination);
        }
    }
    return builder.take();
}

class Stripes : public testing::Test {
  protected:
    void TearDown() override { comm.close(); }

    const pattern own() const {
        return long_messages(comm.num_ranks())[static_cast<std::size_t>(comm.rank())];
    }

    // Nodes of two ranks each, which are not consecutive where there are many.
    topology pairs() const {
        std::vector<region_t> region_of;
        const region_t num_pairs = (comm.num_ranks() + 1) / 2;
        for (rank_t rank = 0; rank < comm.num_ranks(); ++rank)
            region_of.push_back(rank % num_pairs);
        return topology::from_regions(region_of);
    }

    // One node of three ranks, all others in another.
    topology uneven() const {
        std::vector<region_t> region_of;
        for (rank_t rank = 0; rank < comm.num_ranks(); ++rank)
            region_of.push_back(rank < 3 ? 0 : 1);
        return topology::from_regions(region_of);
    }

    void expect_as_persistent(const topology& nodes, const std::string& route,
                              std::size_t stripe_bytes, std::size_t max_message_bytes) {
        const auto p = own();
        neighbor_exchange plain(context(comm, nodes), p,
                                {.route = route, .executor = "persistent"});
        neighbor_exchange split(context(comm, nodes).with_nodes(nodes), p,
                                {.route = route,
                                 .max_message_bytes = max_message_bytes,
                                 .executor = "shared_memory",
                                 .stripe_bytes = stripe_bytes});
        std::vector<double> items(static_cast<std::size_t>(p.num_items));
        std::vector<double> expected(static_cast<std::size_t>(p.num_slots)), slots(expected);
        for (int round = 0; round < 7; ++round) {
            for (std::size_t i = 0; i < items.size(); ++i)
                items[i] = 0.1 * static_cast<double>(i) + 1000 * comm.rank() + round;
            plain.forward(items, expected);
            split.forward(items, slots);
            ASSERT_EQ(slots, expected) << round;

            std::vector<double> sums(items), expected_sums(items);
            plain.reverse(expected, expected_sums, std::plus<>());
            split.reverse(slots, sums, std::plus<>());
            ASSERT_EQ(sums, expected_sums) << round;
        }
    }

    communicator comm{MPI_COMM_WORLD};
};

TEST_F(Stripes, ChangeNothingOfWhatArrives) {
    for (const auto& nodes : {pairs(), uneven()}) {
        for (const char* const route : {"direct", "two_step", "three_step", "hypercube"}) {
            SCOPED_TRACE(nodes.to_string() + " " + route);
            expect_as_persistent(nodes, route, 8, 1 << 20);
            expect_as_persistent(nodes, route, 100, 24);
        }
    }
}

TEST_F(Stripes, SplitAMessageThatLiesInOneRun) {
    const rank_t next = (comm.rank() + 1) % comm.num_ranks();
    const rank_t last = (comm.rank() + comm.num_ranks() - 1) % comm.num_ranks();
    pattern p{comm.rank(), comm.num_ranks(), 100, 100, {}, {}};
    std::vector<count_t> all(100);
    std::iota(all.begin(), all.end(), count_t{0});
    p.sends.append(next, all);
    p.receives.append(last, all);
    neighbor_exchange split(context(comm, pairs()).with_nodes(pairs()), p,
                            {.route = "direct", .stripe_bytes = 8});

    std::vector<std::int64_t> items(100), slots(100), expected(100);
    std::iota(items.begin(), items.end(), 100 * comm.rank());
    std::iota(expected.begin(), expected.end(), 100 * last);
    split.forward(items, slots);

    EXPECT_EQ(slots, expected);
}

}  // namespace
}  // namespace crossdock::stripes_test
