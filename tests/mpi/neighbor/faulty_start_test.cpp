#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "crossdock/neighbor_exchange.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::faulty_start_test {
namespace {

using test::thrown_by;

constexpr rank_t culprit = 1;

// Every rank sends its items to the next `reach` ranks.
struct shifts {
    rank_t rank, num_ranks, reach;
    count_t num_items;

    rank_t source(rank_t k) const { return (rank - 1 - k + 2 * num_ranks) % num_ranks; }
    bool needs(rank_t other, bool is_reverse) const {
        for (rank_t k = 0; k < reach; ++k) {
            if (is_reverse ? (rank + 1 + k) % num_ranks == other : source(k) == other) return true;
        }
        return false;
    }
    pattern make() const {
        pattern p;
        p.rank = rank;
        p.num_ranks = num_ranks;
        p.num_items = num_items;
        p.num_slots = reach * num_items;
        std::vector<count_t> all;
        for (count_t i = 0; i < num_items; ++i) all.push_back(i);
        for (rank_t k = 0; k < reach; ++k) {
            p.sends.append((rank + 1 + k) % num_ranks, all);
            std::vector<count_t> slots;
            for (count_t i = 0; i < num_items; ++i) slots.push_back(k * num_items + i);
            p.receives.append(source(k), slots);
        }
        return p;
    }
};

template <class T>
T value(rank_t rank, count_t i, int round) {
    return static_cast<T>(1 + rank + 5 * i + 11 * round);
}

template <class T>
void expect_peers_to_learn(const context& where, const shifts& ring,
                           const neighbor_options& options) {
    neighbor_exchange halo(where, ring.make(), options);
    const auto num_items = static_cast<std::size_t>(ring.num_items);
    const auto num_slots = static_cast<std::size_t>(ring.reach) * num_items;
    for (int round = 0; round < 6; ++round) {
        const bool is_reverse = round >= 3;
        const bool is_faulty = round % 3 == 1;
        std::vector<T> items(num_items), slots(num_slots, T{0});
        for (std::size_t i = 0; i < num_items; ++i)
            items[i] = value<T>(ring.rank, static_cast<count_t>(i), round);
        if (is_reverse) std::fill(slots.begin(), slots.end(), T(ring.rank + round));
        const auto start = [&](bool too_short) {
            std::vector<T> none;
            if (is_reverse) {
                halo.start_reverse(too_short ? none : slots, items, std::plus<>{});
            } else {
                halo.start(too_short ? none : items, slots);
            }
        };
        if (is_faulty && ring.rank == culprit) {
            const auto fault = thrown_by([&] { start(true); });
            EXPECT_EQ(fault.code(), errc::size_mismatch);
            EXPECT_FALSE(halo.is_active());
            continue;
        }
        start(false);
        bool has_failed = false;
        try {
            halo.wait();
        } catch (const error& fault) {
            has_failed = true;
            EXPECT_EQ(fault.code(), errc::peer_failed) << fault.what();
            EXPECT_EQ(fault.rank(), culprit);
        }
        EXPECT_FALSE(halo.is_active());
        if (!is_faulty) {
            EXPECT_FALSE(has_failed) << "round " << round;
        } else if (ring.needs(culprit, is_reverse)) {
            EXPECT_TRUE(has_failed) << "round " << round;
        } else if (options.route == "direct") {
            EXPECT_FALSE(has_failed) << "round " << round;
        }
        if (has_failed) continue;
        for (std::size_t i = 0; i < num_slots && !is_reverse; ++i) {
            EXPECT_EQ(slots[i], value<T>(ring.source(static_cast<rank_t>(i / num_items)),
                                         static_cast<count_t>(i % num_items), round));
        }
        for (std::size_t i = 0; i < num_items && is_reverse; ++i) {
            T sum = value<T>(ring.rank, static_cast<count_t>(i), round);
            for (rank_t k = 0; k < ring.reach; ++k)
                sum = static_cast<T>(sum + (ring.rank + 1 + k) % ring.num_ranks + round);
            EXPECT_EQ(items[i], sum);
        }
    }
}

TEST(FaultyStart, PeersLearnOfItOnEveryRoute) {
    int num_ranks = 0, rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (num_ranks == 1) return;
    const std::string halves =
        std::to_string(num_ranks / 2) + "," + std::to_string(num_ranks - num_ranks / 2);
    context where(MPI_COMM_WORLD, {.topology = halves, .nodes = halves});
    for (const auto& route : test::conformance_routes()) {
        for (const char* executor : {"persistent", "shared_memory"}) {
            for (const rank_t reach : {1, num_ranks - 1}) {
                SCOPED_TRACE(route + " " + executor + " " + std::to_string(reach));
                neighbor_options options;
                options.route = route;
                options.executor = executor;
                expect_peers_to_learn<double>(where, {rank, num_ranks, reach, 3}, options);
                options.item_bytes = 4;  // a part of one such item has room for 3 bytes
                expect_peers_to_learn<int>(where, {rank, num_ranks, reach, 1}, options);
            }
        }
    }
}

TEST(FaultyStart, AFunctionThatThrowsIsAFaultOfItsRank) {
    int num_ranks = 0, rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (num_ranks == 1) return;
    context where(MPI_COMM_WORLD);
    for (const char* executor : {"persistent", "shared_memory"}) {
        neighbor_options options{.route = "direct"};
        options.executor = executor;
        neighbor_exchange halo(where, shifts{rank, num_ranks, 1, 2}.make(), options);
        for (const bool is_faulty : {true, false}) {
            std::vector<double> slots(2, 1.0 + rank), items(2, 10.0);
            const bool throws = is_faulty && rank == culprit;
            halo.start_reverse(slots, items, [throws](double a, double b) {
                if (throws) throw std::domain_error("no sum");
                return a + b;
            });
            if (throws) {
                EXPECT_THROW(halo.wait(), std::domain_error);
            } else {
                halo.wait();
                EXPECT_EQ(items, std::vector<double>(2, 11.0 + (rank + 1) % num_ranks));
            }
        }
    }
}

}  // namespace
}  // namespace crossdock::faulty_start_test
