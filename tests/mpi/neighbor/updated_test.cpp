// Exchanges that are made from others whose patterns differ little; and records of any length.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "crossdock/neighbor_exchange.hpp"
#include "support/all_ranks.hpp"
#include "support/arrivals.hpp"
#include "support/patterns.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::updated_test {
namespace {

using test::expect_thrown;

// A world of patterns in which each list of two ranks comes in many versions. Slots of a source have a range of their
// own, so that one list says nothing of others.
class versions {
  public:
    versions(rank_t num_ranks, std::uint64_t seed) : num_ranks_(num_ranks), seed_(seed) {
        const auto size = static_cast<std::size_t>(num_ranks);
        of_pair_.assign(size * size, 0);
    }

    // Both lists of two ranks change.
    void change(rank_t a, rank_t b) {
        ++of_pair_[index(a, b)];
        if (a != b) ++of_pair_[index(b, a)];
    }

    std::vector<pattern> patterns() const {
        std::vector<pattern> all;
        for (rank_t rank = 0; rank < num_ranks_; ++rank) {
            pattern p{rank, num_ranks_, most_items, num_ranks_ * most_length, {}, {}};
            for (rank_t peer = num_ranks_ - 1; peer >= 0; --peer) {
                if (const auto items = list(rank, peer, most_items, true); !items.empty())
                    p.sends.append(peer, items);
                auto slots = list(peer, rank, most_length, false);
                for (auto& slot : slots) slot += peer * most_length;
                if (!slots.empty()) p.receives.append(peer, slots);
            }
            all.push_back(std::move(p));
        }
        return all;
    }

  private:
    static constexpr count_t most_items = 12, most_length = 6;

    std::size_t index(rank_t a, rank_t b) const {
        return static_cast<std::size_t>(a * num_ranks_ + b);
    }

    // Of one length for a source and a destination.
    std::vector<count_t> list(rank_t source, rank_t destination, count_t end,
                              bool may_repeat) const {
        const auto version = of_pair_[index(source, destination)];
        std::mt19937_64 random(seed_ + 7919 * (index(source, destination) + 101 * version));
        const auto length = random() % (most_length + 1);
        const bool ascends = random() % 2 == 0;
        std::vector<count_t> all;
        while (all.size() < length) {
            const auto one = static_cast<count_t>(random() % static_cast<std::uint64_t>(end));
            if (may_repeat || std::ranges::find(all, one) == all.end()) all.push_back(one);
        }
        if (ascends) std::ranges::sort(all);
        return all;
    }

    rank_t num_ranks_;
    std::uint64_t seed_;
    std::vector<std::uint64_t> of_pair_;
};

class Updated : public test::AllRanks {
  protected:
    neighbor_exchange make(const std::vector<pattern>& these, const neighbor_options& options) {
        return {context(comm, regions), mine(these), options};
    }

    topology regions = test::conformance_topologies(num_ranks)[2];
};

TEST_F(Updated, TheExchangeIsTheOneThatIsMadeFromNothing) {
    std::mt19937_64 random(5);  // the same on all ranks
    const auto any_rank = [&] {
        return static_cast<rank_t>(random() % static_cast<std::uint64_t>(num_ranks));
    };
    std::uint64_t seed = 1;
    for (const auto& route : test::conformance_routes()) {
        for (int round = 0; round < (route == "direct" ? 24 : 2); ++round) {
            neighbor_options options{.route = route,
                                     .deduplicate = random() % 2 == 0,
                                     .executor = random() % 2 == 0 ? "persistent" : "auto"};
            versions world(num_ranks, ++seed);
            const auto before = world.patterns();
            auto old = make(before, options);
            std::vector<rank_t> changed;
            for (auto count = random() % 4; count > 0; --count) {
                const auto a = any_rank(), b = any_rank();
                if (random() % 4 != 0) world.change(a, b);  // else nothing has changed
                if (a == rank) changed.push_back(b);
                if (b == rank && a != b) changed.push_back(a);
            }
            std::ranges::sort(changed, std::greater<>());
            changed.erase(std::ranges::unique(changed).begin(), changed.end());
            const auto now = world.patterns();

            auto fresh = old.updated(mine(now), changed);
            EXPECT_EQ(fresh.plan(), make(now, options).plan()) << route << " " << round;
            test::expect_delivered(fresh, now, rank);
            test::expect_delivered(old, before, rank);
            EXPECT_EQ(fresh.updated(mine(before), changed).plan(), old.plan());
        }
    }
}

TEST_F(Updated, ArraysMayGrowAndBecomeShorter) {
    const auto ring = test::ring_pattern(num_ranks);
    auto longer = ring;
    for (auto& p : longer) {
        p.num_items += 3;
        p.num_slots += 2;
    }
    auto old = make(ring, {.route = "direct"});
    auto fresh = old.updated(mine(longer), {});
    EXPECT_EQ(fresh.plan(), make(longer, {.route = "direct"}).plan());
    test::expect_delivered(fresh, longer, rank);
    EXPECT_EQ(fresh.updated(mine(ring), {}).plan(), old.plan());

    auto shorter = ring;
    shorter.back().num_items = 0;
    if (!mine(ring).sends.indices.empty())
        expect_thrown(errc::invalid_plan, last_rank,
                      [&] { static_cast<void>(old.updated(mine(shorter), {})); });
    test::expect_delivered(old, ring, rank);
}

TEST_F(Updated, OnDirectListsOfOtherRanksAreNotLookedAt) {
    const auto all = test::all_to_all_pattern(num_ranks);
    const auto old = make(all, {.route = "direct"});
    auto nothing = mine(all);
    nothing.sends = nothing.receives = {};

    EXPECT_EQ(old.updated(nothing, {}).plan(), old.plan());
    const std::vector<rank_t> own{rank};
    auto part = mine(all);
    EXPECT_EQ(old.updated(part, own).plan(), old.plan());
}

TEST_F(Updated, ItKeepsRouteAndOptionsOfAnExchangeThatChose) {
    const auto ring = test::ring_pattern(num_ranks);
    const auto old = make(ring, {.route = "auto", .item_bytes = 4});
    const std::vector<rank_t> nobody;
    const auto fresh = old.updated(mine(ring), nobody);

    EXPECT_EQ(fresh.plan(), old.plan());
    EXPECT_EQ(fresh.choice(), nullptr);
    EXPECT_EQ(fresh.explain(), old.route() + "  given\n");
}

TEST_F(Updated, WhoIsNamedAloneIsAnErrorOnAllRanks) {
    if (num_ranks < 2) GTEST_SKIP() << "needs two ranks";
    const auto all = test::all_to_all_pattern(num_ranks);
    auto old = make(all, {.route = "direct"});
    auto without = mine(all);
    without.sends = {};
    for (std::size_t e = 0; e < mine(all).sends.size(); ++e) {
        if (rank != 0 || mine(all).sends.ranks[e] != last_rank)
            without.sends.append(mine(all).sends.ranks[e], mine(all).sends[e]);
    }
    const std::vector<rank_t> named{rank == 0 ? last_rank : 0}, nobody;

    // Rank 0 sends no more to the last one, which does not know.
    expect_thrown(errc::count_mismatch,
                  [&] { static_cast<void>(old.updated(without, rank == 0 ? named : nobody)); });
    // It knows, and expects what it did.
    expect_thrown(errc::count_mismatch, last_rank, [&] {
        static_cast<void>(old.updated(without, rank == 0 || is_last ? named : nobody));
    });
    test::expect_delivered(old, all, rank);
}

class Records : public test::AllRanks {
  protected:
    // Item i of a rank has (3 rank + i) mod 5 values.
    template <class T>
    static item_records<T> of_rank(rank_t of, count_t num_items) {
        item_records<T> all;
        for (count_t item = 0; item < num_items; ++item) {
            for (count_t k = 0; k < (3 * of + item) % 5; ++k)
                all.values.push_back(T(100 * of + 10 * item + k));
            all.offsets.push_back(std::ssize(all.values));
        }
        return all;
    }
    template <class T>
    void expect_records(const std::vector<pattern>& patterns, const neighbor_options& options) {
        neighbor_exchange halo(where, mine(patterns), options);
        std::vector<std::vector<T>> slots(static_cast<std::size_t>(mine(patterns).num_slots));
        for (const auto& a : test::arrivals(patterns, rank)) {
            const auto from =
                of_rank<T>(a.source, patterns[static_cast<std::size_t>(a.source)].num_items);
            const auto item = static_cast<std::size_t>(a.item);
            slots[static_cast<std::size_t>(a.slot)].assign(
                from.values.begin() + from.offsets[item],
                from.values.begin() + from.offsets[item + 1]);
        }
        item_records<T> expected;
        for (const auto& slot : slots) {
            expected.values.insert(expected.values.end(), slot.begin(), slot.end());
            expected.offsets.push_back(std::ssize(expected.values));
        }
        EXPECT_EQ(halo.forward_records(of_rank<T>(rank, mine(patterns).num_items)), expected);
    }
};

TEST_F(Records, ArriveWithTheirLengths) {
    for (const auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
        for (const char* route : {"direct", "three_step"}) {
            for (const char* executor : {"persistent", "auto"}) {
                expect_records<int>(patterns, {.route = route, .executor = executor});
                expect_records<double>(patterns, {.route = route, .executor = executor});
                expect_records<char>(patterns, {.route = route, .executor = executor});
            }
        }
    }
}

TEST_F(Records, OffsetsThatDoNotFitAreAnErrorOnAllRanks) {
    const auto ring = test::ring_pattern(num_ranks);
    neighbor_exchange halo(where, mine(ring));
    const auto right = of_rank<int>(rank, mine(ring).num_items);
    for (int fault = 0; fault < 4; ++fault) {
        auto wrong = right;
        if (is_last) {
            if (fault == 0) wrong.offsets.push_back(wrong.offsets.back());
            if (fault == 1) wrong.values.push_back(1);
            if (fault == 2) wrong.offsets.front() = 1;
            if (fault == 3) wrong.offsets.clear();
        }
        expect_thrown(errc::size_mismatch, last_rank,
                      [&] { static_cast<void>(halo.forward_records(wrong)); });
    }
    test::expect_delivered(halo, ring, rank);
}

}  // namespace
}  // namespace crossdock::updated_test
