#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <thread>

#include "crossdock/gather_scatter.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "support/all_ranks.hpp"
#include "support/arrivals.hpp"
#include "support/patterns.hpp"
#include "support/routes.hpp"

namespace crossdock::progress_thread_test {
namespace {

std::int64_t value_of(rank_t rank, count_t item, int exchange) {
    return rank * 1000000 + item * 1000 + exchange;
}

class ProgressThread : public test::AllRanks {
  protected:
    // Each rank is its own region, so that routes of several stages have ranks forward.
    context with_thread() const {
        return context(MPI_COMM_WORLD,
                       {.topology = std::to_string(num_ranks) + "x1", .progress_thread = true});
    }
    std::vector<pattern> patterns() const { return test::all_to_all_pattern(num_ranks); }
    std::vector<std::int64_t> items(const pattern& own, int exchange) const {
        std::vector<std::int64_t> all(static_cast<std::size_t>(own.num_items));
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = value_of(rank, static_cast<count_t>(i), exchange);
        return all;
    }
    std::vector<std::int64_t> expected(int exchange) const {
        const auto all = patterns();
        std::vector<std::int64_t> slots(
            static_cast<std::size_t>(all[static_cast<std::size_t>(rank)].num_slots));
        for (const auto& a : test::arrivals(all, rank))
            slots[static_cast<std::size_t>(a.slot)] = value_of(a.source, a.item, exchange);
        return slots;
    }
    // All ranks but this one wait for the exchange, then meet it, which has not called the library since its start.
    void meet_before_waiting(rank_t late, const std::function<void()>& wait) const {
        if (rank != late) wait();
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == late) wait();
    }
};

TEST_F(ProgressThread, ForwardsWhileARankIsOutsideOfTheLibrary) {
    auto world = with_thread();
    const auto own = patterns()[static_cast<std::size_t>(rank)];
    for (const char* const route : {"direct", "hypercube", "grid:2"}) {
        for (const char* const executor : {"persistent", "shared_memory"}) {
            neighbor_exchange halo(world, own, {.route = route, .executor = executor});
            for (rank_t late = 0; late < num_ranks; ++late) {
                const auto sent = items(own, late);
                std::vector<std::int64_t> slots(static_cast<std::size_t>(own.num_slots));
                halo.start(sent, slots);
                meet_before_waiting(late, [&] { halo.wait(); });
                EXPECT_EQ(slots, expected(late)) << route << ' ' << executor << ' ' << late;
            }
        }
    }
    world.close();
}

TEST_F(ProgressThread, CombinesWhileARankIsOutsideOfTheLibrary) {
    auto world = with_thread();
    const auto own = patterns()[static_cast<std::size_t>(rank)];
    neighbor_exchange halo(world, own, {.route = "hypercube"});
    for (rank_t late = 0; late < num_ranks; ++late) {
        std::vector<std::int64_t> sums(static_cast<std::size_t>(own.num_items), 1);
        const std::vector<std::int64_t> slots(static_cast<std::size_t>(own.num_slots), 2);
        halo.start_reverse(slots, sums, std::plus<std::int64_t>());
        meet_before_waiting(late, [&] { halo.wait(); });
        std::vector<std::int64_t> expected_sums(sums.size(), 1);
        for (const count_t item : own.sends.indices)
            expected_sums[static_cast<std::size_t>(item)] += 2;
        EXPECT_EQ(sums, expected_sums) << late;
    }
    world.close();
}

// Exchanges that are active together, objects that come and go, tests and waits in any order.
TEST_F(ProgressThread, LeavesAllCallsAsTheyAre) {
    auto world = with_thread();
    auto measured = context(MPI_COMM_WORLD, {.report = "objects", .progress_thread = true});
    const auto own = patterns()[static_cast<std::size_t>(rank)];
    std::mt19937 random(static_cast<unsigned>(rank));
    std::vector<neighbor_exchange> halos;
    for (const char* const route : {"direct", "hypercube", "auto"}) {
        halos.emplace_back(world, own, neighbor_options{.route = route});
        halos.emplace_back(measured, own,
                           neighbor_options{.route = route, .executor = "persistent"});
    }
    for (int round = 0; round < 100; ++round) {
        std::vector<std::vector<std::int64_t>> sent, slots;
        for (std::size_t i = 0; i < halos.size(); ++i) {
            sent.push_back(items(own, round));
            slots.emplace_back(static_cast<std::size_t>(own.num_slots));
        }
        for (std::size_t i = 0; i < halos.size(); ++i) halos[i].start(sent[i], slots[i]);
        if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        for (std::size_t i = halos.size(); i-- > 0;) {
            if (random() % 2 == 0) {
                halos[i].wait();
            } else {
                while (!halos[i].test()) std::this_thread::yield();
            }
            ASSERT_EQ(slots[i], expected(round)) << i;
        }
        if (round % 20 == 0) halos[0] = halos[0].duplicate();
    }
    halos.clear();
    measured.close();
    world.close();
}

TEST_F(ProgressThread, BelongsToAllContextsOfACommunicator) {
    auto world = with_thread();
    context other(world.comm(), {.progress_thread = true});
    auto part = world.comm().split(rank % 2);
    context of_part(part, {.progress_thread = true});
    EXPECT_TRUE(part.has_progress_thread());
    of_part.close();
    const auto own = patterns()[static_cast<std::size_t>(rank)];
    neighbor_exchange halo(other, own, {.route = "hypercube"});
    const auto sent = items(own, 1);
    std::vector<std::int64_t> slots(static_cast<std::size_t>(own.num_slots));
    halo.start(sent, slots);
    meet_before_waiting(0, [&] { halo.wait(); });
    EXPECT_EQ(slots, expected(1));
    world.close();
}

TEST_F(ProgressThread, AnAbandonedExchangeGoesOn) {
    auto world = with_thread();
    const auto own = patterns()[static_cast<std::size_t>(rank)];
    const auto sent = items(own, 0);
    std::vector<std::int64_t> slots(static_cast<std::size_t>(own.num_slots));
    auto halo =
        std::make_unique<neighbor_exchange>(world, own, neighbor_options{.route = "direct"});
    halo->start(sent, slots);
    MPI_Barrier(MPI_COMM_WORLD);
    halo.reset();
    EXPECT_THROW(world.close(), error);  // it names what is lost
    world.close();
    EXPECT_FALSE(world.is_open());
}

TEST_F(ProgressThread, LetsAnActiveExchangeEnd) {
    auto world = with_thread();
    const auto own = patterns()[static_cast<std::size_t>(rank)];
    const auto sent = items(own, 0);
    std::vector<std::int64_t> slots(static_cast<std::size_t>(own.num_slots));
    {
        neighbor_exchange halo(world, own, {.route = "hypercube"});
        halo.start(sent, slots);
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_THROW(world.close(), error);
        halo.wait();
        EXPECT_EQ(slots, expected(0));
    }
    world.close();
    EXPECT_FALSE(world.is_open());
}

}  // namespace
}  // namespace crossdock::progress_thread_test
