// Sums in reverse that have the same bits however values travel.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <set>

#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/route.hpp"
#include "support/all_ranks.hpp"
#include "support/arrivals.hpp"
#include "support/patterns.hpp"
#include "support/routes.hpp"
#include "support/sensitive_values.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::reproducible_test {
namespace {

using bits = test::number_bits;
using test::bits_of;

constexpr count_t first_slot = 1000;

// Most ranks need most items of the others, their own ones too, and some of them twice.
std::vector<pattern> crowded_pattern(rank_t num_ranks, std::uint64_t seed) {
    test::pattern_builder builder(num_ranks);
    std::mt19937_64 random(seed);
    for (rank_t source = 0; source < num_ranks; ++source) {
        for (rank_t destination = 0; destination < num_ranks; ++destination) {
            for (count_t item = 0; item < 6; ++item) {
                const auto item_or_other = static_cast<count_t>(random() % 6);
                if (random() % 3 != 0) builder.send(source, item_or_other, destination);
            }
        }
    }
    return builder.take();
}

std::vector<test::named_patterns> cases(rank_t num_ranks) {
    std::vector<test::named_patterns> all{
        {"all_to_all", test::all_to_all_pattern(num_ranks)},
        {"one_heavy_row", test::one_heavy_row_pattern(num_ranks)},
        {"same_item_twice", test::same_item_twice_pattern(num_ranks)},
        {"repeated_neighbors", test::repeated_neighbors_pattern(num_ranks)}};
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
        all.push_back({"crowded " + std::to_string(seed), crowded_pattern(num_ranks, seed)});
    return all;
}

// Slots of the rank itself first, those of others by rank, and of one rank in the sender's order.
bits expected(const std::vector<pattern>& patterns, rank_t rank) {
    const auto& own = patterns[static_cast<std::size_t>(rank)];
    auto items = test::sensitive_values(rank, static_cast<std::size_t>(own.num_items));
    std::vector<rank_t> order{rank};
    for (rank_t other = 0; other < own.num_ranks; ++other)
        if (other != rank) order.push_back(other);
    for (const rank_t destination : order) {
        for (const auto& a : test::arrivals(patterns, destination)) {
            if (a.source == rank)
                items[static_cast<std::size_t>(a.item)] +=
                    test::sensitive_value(destination, first_slot + a.slot);
        }
    }
    return bits_of(items);
}

class Reproducible : public test::AllRanks {
  protected:
    std::vector<double> items_of(const pattern& own) const {
        return test::sensitive_values(rank, static_cast<std::size_t>(own.num_items));
    }
    std::vector<double> slots_of(const pattern& own) const {
        return test::sensitive_values(rank, static_cast<std::size_t>(own.num_slots), first_slot);
    }
    bits reversed(const context& in, const std::vector<pattern>& patterns,
                  const neighbor_options& options) const {
        const auto& own = mine(patterns);
        neighbor_exchange halo(in, own, options);
        return reversed(halo, own);
    }
    bits reversed(neighbor_exchange& halo, const pattern& own) const {
        auto items = items_of(own);
        const auto slots = slots_of(own);
        halo.reverse(slots, items, sum{});
        return bits_of(items);
    }

    // How many different results there are of all ranks together.
    std::size_t num_different(const std::vector<bits>& results) const {
        std::set<bits> different;
        for (auto result : results) {
            std::uint64_t hash = 14695981039346656037U;
            for (const auto word : result) hash = (hash ^ word) * 1099511628211U;
            hash *= 2 * static_cast<std::uint64_t>(rank) + 1;
            MPI_Allreduce(MPI_IN_PLACE, &hash, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
            different.insert({hash});
        }
        return different.size();
    }

    std::vector<context> contexts() const {
        std::vector<context> all;
        for (const auto& regions : test::conformance_topologies(num_ranks))
            all.emplace_back(comm, regions);
        const auto nodes =
            topology::from_string("cyclic:" + std::to_string((num_ranks + 1) / 2) + "x2");
        if (num_ranks % 2 == 0) all.push_back(all.front().with_nodes(nodes));
        return all;
    }
};

TEST_F(Reproducible, ReverseHasTheSameBitsOnEveryRouteExecutorAndTopology) {
    auto routes = test::conformance_routes();
    routes.push_back(automatic_route);
    const auto places = contexts();
    std::size_t turn = 0;
    for (const auto& [name, patterns] : cases(num_ranks)) {
        const auto same = expected(patterns, rank);
        for (const auto& route : routes) {
            // The next of the topologies, and all of them for one pattern.
            const std::size_t num_places = name == "crowded 1" ? places.size() : 1;
            for (std::size_t i = 0; i < num_places; ++i) {
                const auto& in = places[turn++ % places.size()];
                for (const char* const executor : {"persistent", "shared_memory"}) {
                    SCOPED_TRACE(name + " " + route + " " + executor);
                    ASSERT_EQ(
                        reversed(in, patterns,
                                 {.route = route, .executor = executor, .reproducible = true}),
                        same);
                }
            }
        }
    }
}

TEST_F(Reproducible, ReverseHasTheSameBitsInPartsAndInFields) {
    const context in = contexts().back();
    for (const auto& [name, patterns] : cases(num_ranks)) {
        SCOPED_TRACE(name);
        const auto same = expected(patterns, rank);
        const neighbor_options options{
            .route = "two_step", .max_message_bytes = 24, .reproducible = true};
        EXPECT_EQ(reversed(in, patterns, options), same);

        const auto& own = mine(patterns);
        neighbor_exchange halo(in, own, options);
        std::array items{items_of(own), items_of(own)};
        const std::array slots{slots_of(own), slots_of(own)};
        halo.reverse_fields(slots, items, sum{});
        for (const auto& one : items) EXPECT_EQ(bits_of(one), same);
    }
}

TEST_F(Reproducible, ReverseHasTheSameBitsWhileRoutesAreTried) {
    const auto patterns = crowded_pattern(num_ranks, 5);
    const context in(comm, test::conformance_topologies(num_ranks)[2]);
    neighbor_options options{.route = measured_route, .reproducible = true};
    options.measure.exchanges_each = 1;
    neighbor_exchange halo(in, mine(patterns), options);
    for (int round = 0; round < 12; ++round)
        EXPECT_EQ(reversed(halo, mine(patterns)), expected(patterns, rank));
}

// Else the tests above would prove nothing.
TEST_F(Reproducible, WithoutTheOptionRoutesDiffer) {
    if (num_ranks < 5) GTEST_SKIP() << "too few values meet";
    const auto patterns = crowded_pattern(num_ranks, 1);
    const context in(comm, test::conformance_topologies(num_ranks)[2]);
    std::vector<bits> with, without;
    for (const auto& route : test::conformance_routes()) {
        with.push_back(reversed(in, patterns, {.route = route, .reproducible = true}));
        without.push_back(reversed(in, patterns, {.route = route}));
    }
    EXPECT_EQ(num_different(with), 1u);
    EXPECT_GT(num_different(without), 2u);
}

TEST_F(Reproducible, APlanThatCombinesOnTheWayIsRefusedOnAllRanks) {
    const auto patterns = crowded_pattern(num_ranks, 1);
    const auto& own = mine(patterns);
    const auto make = [&](bool deduplicate) {
        auto compiled = compile(one_region, patterns, *make_route("two_step", one_region),
                                {.deduplicate = deduplicate});
        return neighbor_exchange(where, mine(compiled), {.reproducible = true});
    };

    test::expect_thrown(errc::invalid_plan, [&] { make(true); });
    auto halo = make(false);
    EXPECT_EQ(reversed(halo, own), expected(patterns, rank));
}

TEST_F(Reproducible, RanksThatDifferInTheOptionFailTogether) {
    if (num_ranks == 1) GTEST_SKIP() << "nobody differs";
    const auto patterns = crowded_pattern(num_ranks, 1);
    test::expect_thrown(errc::invalid_argument, [&] {
        neighbor_exchange(where, mine(patterns), {.reproducible = is_last});
    });
}

}  // namespace
}  // namespace crossdock::reproducible_test
