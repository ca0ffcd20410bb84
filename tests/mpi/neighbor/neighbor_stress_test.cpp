// Many exchanges of several objects while every rank dawdles at moments of its own, so that ranks are
// early and late at every stage. The environment variable CROSSDOCK_SOAK_EXCHANGES sets how many there
// are in each test.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "crossdock/neighbor_exchange.hpp"
#include "support/all_ranks.hpp"
#include "support/arrivals.hpp"
#include "support/patterns.hpp"

namespace crossdock::neighbor_stress_test {
namespace {

using value = std::int64_t;

constexpr count_t usual_exchanges = 2500;

count_t wanted_exchanges() {
    const char* const text = std::getenv("CROSSDOCK_SOAK_EXCHANGES");
    return text == nullptr ? usual_exchanges : std::stoll(text);
}

value item_value(std::size_t object, count_t round, rank_t rank, count_t item) {
    return 1'000'000 * round + 10'000 * static_cast<value>(object) + 100 * rank + item;
}

value slot_value(std::size_t object, count_t round, rank_t rank, count_t slot) {
    return item_value(object, round, rank, slot) + 50;
}

// What is exchanged, and along which route.
struct errand {
    std::string route;
    std::vector<pattern> patterns;
    std::size_t max_message_bytes;
};

std::vector<errand> all_errands(rank_t num_ranks) {
    constexpr std::size_t no_limit = std::size_t{1} << 30;
    return {{"direct", test::random_pattern(num_ranks, 5), no_limit},
            {"three_step", test::all_to_all_pattern(num_ranks), no_limit},
            {"two_step", test::scattered_slots_pattern(num_ranks), 16},
            {"hypercube", test::one_heavy_row_pattern(num_ranks), no_limit},
            {"two_step", test::all_to_all_pattern(num_ranks), no_limit},
            {"grid:2", test::uneven_pattern(num_ranks), 24}};
}

// A rank's place in a slot that an item of this rank goes to.
struct use_of_item {
    count_t item;
    rank_t rank;
    count_t slot;
};

// One object, its arrays and what must be in them.
class checked_exchange {
  public:
    checked_exchange(std::size_t number, const context& where, const errand& what,
                     const neighbor_options& options)
        : number_(number),
          rank_(where.rank()),
          halo_(where, what.patterns[static_cast<std::size_t>(rank_)], options),
          arrivals_(test::arrivals(what.patterns, rank_)) {
        for (rank_t rank = 0; rank < where.num_ranks(); ++rank) {
            for (const auto& a : test::arrivals(what.patterns, rank)) {
                if (a.source == rank_) uses_.push_back({a.item, rank, a.slot});
            }
        }
        const auto& own = what.patterns[static_cast<std::size_t>(rank_)];
        for (auto* const array : {&items_, &expected_items_})
            array->resize(static_cast<std::size_t>(own.num_items));
        for (auto* const array : {&slots_, &expected_slots_})
            array->resize(static_cast<std::size_t>(own.num_slots));
    }

    void start(count_t round, bool is_reverse) {
        fill(items_, round, item_value);
        fill(slots_, round, slot_value);
        expected_items_ = items_;
        expected_slots_ = slots_;
        if (is_reverse) {
            for (const auto& use : uses_) {
                expected_items_[static_cast<std::size_t>(use.item)] +=
                    slot_value(number_, round, use.rank, use.slot);
            }
            halo_.start_reverse(slots_, items_, sum{});
        } else {
            for (const auto& a : arrivals_) {
                expected_slots_[static_cast<std::size_t>(a.slot)] =
                    item_value(number_, round, a.source, a.item);
            }
            halo_.start(items_, slots_);
        }
    }

    bool test() { return halo_.test(); }
    void wait() { halo_.wait(); }

    bool is_right() const { return items_ == expected_items_ && slots_ == expected_slots_; }

  private:
    template <class Value>
    void fill(std::vector<value>& array, count_t round, Value&& value_of) const {
        for (std::size_t i = 0; i < array.size(); ++i)
            array[i] = value_of(number_, round, rank_, static_cast<count_t>(i));
    }

    std::size_t number_;
    rank_t rank_;
    neighbor_exchange halo_;
    std::vector<test::arrival> arrivals_;
    std::vector<use_of_item> uses_;
    std::vector<value> items_, slots_, expected_items_, expected_slots_;
};

class NeighborStress : public test::AllRanks {
  protected:
    // Often not at all, seldom, and seldom for long.
    void dawdle() {
        const std::uint64_t random = own_random();
        switch (random % 64) {
            case 0: return std::this_thread::sleep_for(std::chrono::microseconds(random >> 57));
            case 1:
                if (random >> 60 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
                return;
            default:
                if (random % 8 == 2) std::this_thread::yield();
        }
    }

    void shuffle(std::vector<std::size_t>& order) {
        std::shuffle(order.begin(), order.end(), own_random);
    }

    void complete(checked_exchange& exchange) {
        dawdle();
        if (own_random() % 2 == 0) return exchange.wait();
        while (!exchange.test()) {
            std::this_thread::yield();
            dawdle();
        }
    }

    // Some of the objects, each in some direction: the same on all ranks, in an order of each.
    void run_round(std::vector<checked_exchange>& all, count_t round) {
        std::vector<std::size_t> order(all.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::shuffle(order.begin(), order.end(), common_random);
        order.resize(1 + common_random() % order.size());
        const std::uint64_t reversed = common_random();
        shuffle(order);
        for (const std::size_t i : order) {
            dawdle();
            all[i].start(round, (reversed >> i & 1) != 0);
        }
        shuffle(order);
        for (const std::size_t i : order) {
            complete(all[i]);
            ++num_exchanges;
            if (!all[i].is_right()) ++num_mismatches;
        }
    }

    void run(neighbor_options options, rank_t ranks_of_node = 0) {
        context at(comm, topology::from_string("4," + std::to_string(num_ranks - 4)));
        if (ranks_of_node > 0) at = at.with_nodes(nodes_of(ranks_of_node));
        std::vector<checked_exchange> all;
        for (const auto& what : all_errands(num_ranks)) {
            options.route = what.route;
            options.max_message_bytes = what.max_message_bytes;
            all.emplace_back(all.size(), at, what, options);
        }
        for (count_t round = 0; num_exchanges < wanted_exchanges(); ++round) {
            run_round(all, round);
            ASSERT_EQ(num_mismatches, 0) << "round " << round;
        }
    }

    topology nodes_of(rank_t size) const {
        std::vector<region_t> node_of_rank;
        for (rank_t r = 0; r < num_ranks; ++r) node_of_rank.push_back(r / size);
        return topology::from_regions(node_of_rank);
    }

    std::mt19937_64 common_random{7};
    std::mt19937_64 own_random{static_cast<std::uint64_t>(100 + rank)};
    count_t num_exchanges = 0;
    count_t num_mismatches = 0;
};

TEST_F(NeighborStress, PersistentRequestsBringWhatTheyShould) { run({.executor = "persistent"}); }

TEST_F(NeighborStress, RanksThatAllShareMemoryBringWhatTheyShould) {
    run({.executor = "shared_memory"});
}

TEST_F(NeighborStress, NodesOfFourBringWhatTheyShould) { run({.executor = "shared_memory"}, 4); }

TEST_F(NeighborStress, NodesOfTwoBringWhatTheyShould) { run({.executor = "shared_memory"}, 2); }

}  // namespace
}  // namespace crossdock::neighbor_stress_test
