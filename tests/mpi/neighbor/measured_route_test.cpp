// The route "auto:measure": routes are tried by a clock that the tests turn, and the fastest stays.
#include <gtest/gtest.h>

#include "crossdock/neighbor_exchange.hpp"
#include "src/neighbor/automatic_route.hpp"
#include "src/neighbor/compile_mpi.hpp"
#include "src/select/route_trials.hpp"
#include "support/all_ranks.hpp"
#include "support/arrivals.hpp"
#include "support/neighbor_options.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::measured_route_test {
namespace {

using test::expect_thrown;

// A clock that goes on by as much at every look.
double present_seconds = 0;
double seconds_per_look = 0;
double turned_clock() { return present_seconds += seconds_per_look; }

// Looks at the clock between the begin and the end of `start`, and of `wait`.
constexpr int looks_per_exchange = 2;
constexpr double us = 1e-6;

class MeasuredRoute : public test::AllRanks {
  protected:
    void SetUp() override {
        options.measure.exchanges_each = 3;
        options.measure.max_lost_seconds = 1;
        options.measure.clock = &turned_clock;
        // Estimates that differ little, so that there are several candidates.
        machine even = load_machine("generic_100g");
        for (auto& level : even.levels) level = even.levels[0];
        for (auto* seconds :
             {&even.injection_seconds_per_byte, &even.matching_seconds, &even.copy_seconds_per_byte,
              &even.copy_seconds_per_item, &even.hand_over_seconds})
            *seconds = 0;
        at = context(comm, test::conformance_topologies(num_ranks)[2]).with_machine(even);
    }

    const pattern& mine() const { return AllRanks::mine(patterns); }

    neighbor_exchange make() const { return {at, mine(), with_route("auto:measure", options)}; }

    std::vector<std::string> names_of_candidates() {
        const auto resolved = resolve_route(at, mine(), options);
        const route_trials trials(*resolved.choice, options.measure);
        std::vector<std::string> names;
        for (const auto& candidate : trials.candidates()) names.push_back(candidate.route);
        return names;
    }

    void exchange(neighbor_exchange& halo, int round) {
        test::expect_delivered(halo, patterns, rank, round);
    }

    // Every slot brings home 1.
    void reverse(neighbor_exchange& halo) {
        const pattern& p = mine();
        const std::vector<count_t> slots(static_cast<std::size_t>(p.num_slots), 1);
        std::vector<count_t> items(static_cast<std::size_t>(p.num_items), 0), expected = items;
        for (const count_t item : p.sends.indices) ++expected[static_cast<std::size_t>(item)];
        halo.reverse(slots, items, sum{});
        EXPECT_EQ(items, expected);
    }

    // Exchanges until the trials are over; a look at the clock takes so long for each route in turn.
    void run_trials(neighbor_exchange& halo, const std::vector<double>& seconds_of_looks) {
        for (const double seconds : seconds_of_looks) {
            seconds_per_look = seconds;
            for (int k = 0; k < options.measure.exchanges_each; ++k) {
                EXPECT_TRUE(halo.is_trying());
                exchange(halo, k);
            }
        }
        exchange(halo, 100);
        EXPECT_FALSE(halo.is_trying());
    }

    context at = where;
    std::vector<pattern> patterns = test::all_to_all_pattern(num_ranks);
    neighbor_options options;
};

TEST_F(MeasuredRoute, EachCandidateIsTheFastestOnce) {
    for (const auto executor : {"persistent", "auto"}) {
        options.executor = executor;
        const auto names = names_of_candidates();
        ASSERT_EQ(names.size() > 1, num_ranks > 2);
        for (std::size_t fastest = 0; fastest < names.size(); ++fastest) {
            auto halo = make();
            ASSERT_NE(halo.choice(), nullptr);
            if (names.size() == 1) {
                exchange(halo, 0);
                EXPECT_EQ(halo.plan().route(), names[0]);
                continue;
            }
            std::vector<double> seconds(names.size(), 5 * us);
            seconds[fastest] = 3 * us;
            run_trials(halo, seconds);

            EXPECT_EQ(halo.plan().route(), names[fastest]);
            EXPECT_EQ(halo.plan(), compile(at, mine(), names[fastest]));
            const auto tried = halo.tried_routes();
            ASSERT_EQ(tried.size(), names.size());
            for (std::size_t c = 0; c < names.size(); ++c) {
                EXPECT_EQ(tried[c].route, names[c]);
                EXPECT_NEAR(tried[c].seconds, looks_per_exchange * seconds[c], 2e-12);
            }
            exchange(halo, 7);
            reverse(halo);
        }
    }
}

TEST_F(MeasuredRoute, TheSlowestRankDecides) {
    const auto names = names_of_candidates();
    if (names.size() < 2) GTEST_SKIP() << "needs two candidates";
    auto halo = make();
    // The first route is fast but on the last rank.
    std::vector<double> seconds(names.size(), 4 * us);
    seconds[0] = rank == num_ranks - 1 ? 5 * us : 1 * us;
    run_trials(halo, seconds);

    EXPECT_EQ(halo.plan().route(), names[1]);
}

TEST_F(MeasuredRoute, TheFastestForBothDirectionsStaysWhereTheyTakeTurns) {
    const auto names = names_of_candidates();
    if (names.size() < 2) GTEST_SKIP() << "needs two candidates";
    auto halo = make();
    // The first route is the fastest forward, but not in reverse. Three forward and two in reverse are a trial.
    for (std::size_t c = 0; c < names.size(); ++c) {
        for (int k = 0; k < 5; ++k) {
            EXPECT_EQ(halo.tried_routes().size(), k == 0 && c > 0 ? c - 1 : c);
            const bool is_reverse = k % 2 == 1;
            seconds_per_look = (c == 0 ? (is_reverse ? 9 : 1) : static_cast<double>(c + 1)) * us;
            is_reverse ? reverse(halo) : exchange(halo, k);
        }
    }
    reverse(halo);

    EXPECT_FALSE(halo.is_trying());
    EXPECT_EQ(halo.plan().route(), names[1]);
    const auto tried = halo.tried_routes();
    EXPECT_NEAR(tried[0].seconds, looks_per_exchange * (3 * 1 + 2 * 9) * us / 5, 2e-12);
    EXPECT_NEAR(tried[1].seconds, looks_per_exchange * 2 * us, 2e-12);
}

TEST_F(MeasuredRoute, ValuesOfADatatypeArriveInEveryTrial) {
    MPI_Datatype pairs = MPI_DATATYPE_NULL;  // with a gap: packed
    MPI_Type_vector(2, 1, 2, MPI_INT64_T, &pairs);
    MPI_Type_commit(&pairs);
    options.item_bytes = 2 * sizeof(count_t);
    auto halo = make();
    const pattern& p = mine();
    seconds_per_look = us;
    for (int round = 0; round < 12; ++round) {
        std::vector<std::array<count_t, 3>> items, slots(static_cast<std::size_t>(p.num_slots)),
            expected = slots;
        for (count_t i = 0; i < p.num_items; ++i) items.push_back({100 * p.rank + i, -1, round});
        for (const auto& a : test::arrivals(patterns, p.rank))
            expected[static_cast<std::size_t>(a.slot)] = {100 * a.source + a.item, 0, round};
        halo.start(items.data(), slots.data(), pairs);
        while (!halo.test()) sched_yield();
        EXPECT_EQ(slots, expected);
    }
    EXPECT_FALSE(halo.is_trying());
    MPI_Type_free(&pairs);
}

TEST_F(MeasuredRoute, CallsInTheWrongStateAreErrorsDuringTrials) {
    auto halo = make();
    const std::vector<count_t> items(static_cast<std::size_t>(mine().num_items));
    std::vector<count_t> slots(static_cast<std::size_t>(mine().num_slots));
    for (int round = 0; round < 12; ++round) {
        expect_thrown(errc::invalid_state, [&] { halo.wait(); });
        expect_thrown(errc::invalid_state, [&] { return halo.test(); });
        halo.start(items, slots);
        EXPECT_TRUE(halo.is_active());
        expect_thrown(errc::invalid_state, [&] { halo.start(items, slots); });
        halo.wait();
    }
}

TEST_F(MeasuredRoute, SeveralAreTriedAtOnceInAnyOrder) {
    auto a = make();
    auto b = make();
    seconds_per_look = us;
    for (int round = 0; round < 12; ++round) {
        test::forward_arrays<> first(patterns, rank, round), second(patterns, rank, round + 1);
        a.start(first.items, first.slots);
        b.start(second.items, second.slots);
        if (rank % 2 == 0) a.wait();
        b.wait();
        if (rank % 2 == 1) a.wait();
        EXPECT_EQ(first.slots, first.expected);
        EXPECT_EQ(second.slots, second.expected);
    }
    EXPECT_EQ(a.is_trying(), false);
    EXPECT_EQ(b.is_trying(), false);
}

TEST_F(MeasuredRoute, ADuplicateHasThePlanThatLeads) {
    const auto names = names_of_candidates();
    if (names.size() < 2) GTEST_SKIP() << "needs two candidates";
    auto halo = make();
    neighbor_exchange early = halo.duplicate();
    seconds_per_look = 2 * us;
    for (int k = 0; k < options.measure.exchanges_each; ++k) exchange(halo, k);
    seconds_per_look = us;
    for (int k = 0; k < options.measure.exchanges_each; ++k) exchange(halo, k);
    exchange(halo, 0);
    neighbor_exchange late = halo.duplicate();

    EXPECT_FALSE(early.is_trying());
    EXPECT_FALSE(late.is_trying());
    EXPECT_EQ(early.plan().route(), names[0]);
    EXPECT_EQ(late.plan().route(), names[1]);
    exchange(early, 1);
    exchange(late, 2);
    exchange(halo, 3);
}

TEST_F(MeasuredRoute, NumbersThatMakeNoTrialsOrDifferAreErrorsOnAllRanks) {
    const auto expect_refused = [&](int exchanges_each, const char* route) {
        options.measure.exchanges_each = exchanges_each;
        const auto call = [&] { neighbor_exchange(at, mine(), with_route(route, options)); };
        expect_thrown(errc::invalid_argument, call);
        options.measure.exchanges_each = 3;
    };
    expect_refused(0, "auto:measure");
    if (num_ranks == 1) return;
    expect_refused(rank == 0 ? 0 : 3, "auto:measure");
    expect_refused(3, rank == 0 ? "auto" : "auto:measure");
    auto halo = make();
    exchange(halo, 0);
}

}  // namespace
}  // namespace crossdock::measured_route_test
