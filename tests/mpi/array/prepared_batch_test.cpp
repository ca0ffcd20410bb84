// Prepared batches by every transport, route and strategy, against a serial array.
#include <algorithm>
#include <map>
#include <thread>

#include "array/variants.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::prepared_batch_test {
namespace {

using namespace test;

using indices = std::vector<count_t>;
using values = std::vector<std::int64_t>;
using word_array = distributed_array<std::int64_t>;

constexpr count_t num_entries = 19;

// Every rank's requests, of which every third rank has none.
std::vector<indices> draw_requests(rank_t num_ranks, std::uint64_t seed) {
    auto all =
        test::draw_changes<int>(num_ranks, num_entries, seed, 25, [](std::uint64_t) { return 0; });
    std::vector<indices> result;
    for (auto& one : all) {
        result.push_back(std::move(one.indices));
        if (result.size() % 3 == 2) result.back().clear();
    }
    result.front().insert(result.front().end(), {7, 7, 7, 0});
    return result;
}

class PreparedBatch : public AllRanks {
  protected:
    static void fill(word_array& a, std::int64_t factor) {
        for (std::size_t k = 0; k < a.local().size(); ++k)
            a.local()[k] = factor * (1 + a.first_index() + static_cast<count_t>(k));
    }

    static values filled(const indices& requests, std::int64_t factor) {
        values result;
        for (const count_t index : requests) result.push_back(factor * (1 + index));
        return result;
    }

    // Value of a rank's k-th request; different for all.
    static std::int64_t value_of(rank_t of, std::size_t k) {
        return 1000 * (of + 1) + static_cast<std::int64_t>(k);
    }
    static values values_of(rank_t of, const indices& requests) {
        values result;
        for (std::size_t k = 0; k < requests.size(); ++k) result.push_back(value_of(of, k));
        return result;
    }

    // Calls `use(array)` for an array of each variant.
    template <class Use>
    void for_each_array(const std::vector<array_variant>& variants, Use&& use) const {
        with_arrays<std::int64_t>(comm, variants, num_entries, use);
    }
    template <class Use>
    void for_few_arrays(Use&& use) const {
        for_each_array(few_variants(num_ranks), use);
    }
};

// Calls `use(rank, k, index)` for all requests by rank, then in the rank's order.
template <class Use>
void for_each_request(const std::vector<indices>& all, Use&& use) {
    for (std::size_t r = 0; r < all.size(); ++r) {
        for (std::size_t k = 0; k < all[r].size(); ++k)
            use(static_cast<rank_t>(r), k, static_cast<std::size_t>(all[r][k]));
    }
}

TEST_F(PreparedBatch, ReadsWhatIsThereEveryTime) {
    const auto all = draw_requests(num_ranks, 1);
    for_each_array(variants_of_any_operation(num_ranks), [&](word_array& a) {
        auto p = a.prepare(mine(all));
        ASSERT_EQ(p.num_requests(), std::ssize(mine(all)));
        values out(mine(all).size());
        for (const std::int64_t factor : {3, 3, -5}) {
            fill(a, factor);
            p.read(out);
            ASSERT_EQ(out, filled(mine(all), factor));
        }
    });
}

TEST_F(PreparedBatch, PeersLearnOfAFaultyStart) {
    if (num_ranks == 1) return;
    constexpr rank_t culprit = 1;
    word_array a(where, num_entries);
    // Every rank needs an entry of each.
    indices wanted;
    for (count_t index = 0; index < num_entries; ++index) wanted.push_back(index);
    auto p = a.prepare(wanted);
    for (const bool is_read : {true, false}) {
        fill(a, 1);
        values own(wanted.size(), 1);
        const auto start = [&](std::span<std::int64_t> some) {
            if (is_read) {
                p.start_read(some);
            } else {
                p.start_update(std::span<const std::int64_t>(some), sum());
            }
        };
        if (rank == culprit) {
            expect_thrown(errc::size_mismatch, [&] { start(std::span(own).first(1)); });
        } else {
            start(own);
            expect_thrown(errc::peer_failed, culprit, [&] { p.wait(); });
        }
        EXPECT_FALSE(p.is_active());
        fill(a, 2);
        p.update(values(wanted.size(), 1), sum());
        values expected;
        for (count_t index = 0; index < num_entries; ++index)
            expected.push_back(2 * (1 + index) + num_ranks);
        EXPECT_EQ(read_all(a), expected) << "the array does not count the batch as active";
    }
    a.close();
}

TEST_F(PreparedBatch, UpdatesAsASerialArrayDoes) {
    const auto all = draw_requests(num_ranks, 2);
    for_each_array(variants_of_any_operation(num_ranks), [&](word_array& a) {
        auto p = a.prepare(mine(all));
        const values brought = values_of(rank, mine(all));
        values sums(num_entries), greatest(num_entries);
        for_each_request(all, [&](rank_t r, std::size_t k, std::size_t index) {
            sums[index] += value_of(r, k);
            greatest[index] = std::max(greatest[index], value_of(r, k));
        });

        p.update(brought, sum());
        ASSERT_EQ(read_all(a), sums);
        p.update(brought, sum());
        for (auto& one : sums) one *= 2;
        ASSERT_EQ(read_all(a), sums);

        std::fill(a.local().begin(), a.local().end(), 0);
        p.update(brought, maximum());
        ASSERT_EQ(read_all(a), greatest);
    });
}

TEST_F(PreparedBatch, GathersValuesByEntryThenByRank) {
    const auto all = draw_requests(num_ranks, 3);
    for_few_arrays([&](word_array& a) {
        auto p = a.prepare(mine(all));
        std::vector<values> expected(num_entries);
        for_each_request(all, [&](rank_t r, std::size_t k, std::size_t index) {
            expected[index].push_back(value_of(r, k));
        });

        const auto gathered = p.gather(values_of(rank, mine(all)));

        ASSERT_EQ(gathered.offsets.size(), a.local().size() + 1);
        ASSERT_EQ(gathered.offsets.back(), std::ssize(gathered.values));
        for (std::size_t e = 0; e < a.local().size(); ++e) {
            const values found(gathered.values.begin() + gathered.offsets[e],
                               gathered.values.begin() + gathered.offsets[e + 1]);
            EXPECT_EQ(found, expected[static_cast<std::size_t>(a.first_index()) + e]);
        }

        // Back again, each to where it came from.
        values changed = gathered.values;
        for (auto& one : changed) one = -one;
        values out(mine(all).size());
        p.scatter(changed, std::span(out));
        for (std::size_t k = 0; k < out.size(); ++k) EXPECT_EQ(out[k], -value_of(rank, k));
    });
}

TEST_F(PreparedBatch, FetchesAndUpdatesOneAfterTheOther) {
    const auto all = draw_requests(num_ranks, 4);
    for_few_arrays([&](word_array& a) {
        fill(a, 1);
        auto p = a.prepare(mine(all));
        values serial(num_entries), before;
        for (std::size_t i = 0; i < serial.size(); ++i) serial[i] = 1 + static_cast<count_t>(i);
        // Not commutative, so that the order shows.
        const auto op = [](const std::int64_t& x, const std::int64_t& y) noexcept {
            return (31 * x + y) % 1000003;
        };
        for (int round = 0; round < 2; ++round) {
            before.clear();
            for_each_request(all, [&](rank_t r, std::size_t k, std::size_t index) {
                if (r == rank) before.push_back(serial[index]);
                serial[index] = op(serial[index], value_of(r, k));
            });
            values out(mine(all).size());
            p.fetch_and_update(values_of(rank, mine(all)), std::span(out), op);
            EXPECT_EQ(out, before);
            EXPECT_EQ(read_all(a), serial);
        }
    });
}

TEST_F(PreparedBatch, SeveralMayBeActiveAndWaitedForInAnyOrder) {
    for_few_arrays([&](word_array& a) {
        fill(a, 2);
        std::vector<std::vector<indices>> all;
        std::vector<prepared_batch<std::int64_t>> batches;
        std::vector<values> out;
        for (std::uint64_t b = 0; b < 3; ++b) {
            all.push_back(draw_requests(num_ranks, b));
            batches.push_back(a.prepare(mine(all.back())));
            out.emplace_back(mine(all.back()).size());
        }
        for (int round = 0; round < 3; ++round) {
            for (auto& one : out) std::fill(one.begin(), one.end(), -1);
            for (std::size_t b = 0; b < 3; ++b) batches[b].start_read(out[b]);
            // Each rank in another order, the first by testing.
            const auto first = static_cast<std::size_t>(rank + round);
            EXPECT_TRUE(batches[first % 3].is_active());
            while (!batches[first % 3].test()) std::this_thread::yield();
            batches[(first + 2) % 3].wait();
            batches[(first + 1) % 3].wait();
            for (std::size_t b = 0; b < 3; ++b) {
                EXPECT_FALSE(batches[b].is_active());
                EXPECT_EQ(out[b], filled(mine(all[b]), 2));
            }
            EXPECT_EQ(read_all(a),
                      filled({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, 2))
                << "all are complete";
        }
    });
}

TEST_F(PreparedBatch, MayBePreparedWhileAnotherIsActive) {
    const auto all = draw_requests(num_ranks, 5);
    for_few_arrays([&](word_array& a) {
        fill(a, 4);
        auto first = a.prepare(mine(all));
        values out(mine(all).size()), again(mine(all).size());
        first.start_read(out);
        auto second = a.prepare(mine(all));
        second.start_read(again);
        second.wait();
        first.wait();
        EXPECT_EQ(out, filled(mine(all), 4));
        EXPECT_EQ(again, filled(mine(all), 4));
    });
}

TEST_F(PreparedBatch, MayHaveNoRequestsOnAnyRank) {
    word_array a(where, num_entries);
    auto p = a.prepare({});
    EXPECT_EQ(p.num_requests(), 0);
    p.read({});
    p.update({}, sum());
    EXPECT_EQ(std::ssize(p.gather({}).offsets), std::ssize(a.local()) + 1);
    EXPECT_EQ(read_all(a), values(num_entries));
    a.close();
}

TEST_F(PreparedBatch, MayBeOfAnArrayWithoutEntries) {
    word_array a(where, 0);
    auto p = a.prepare({});
    p.read({});
    EXPECT_EQ(p.gather({}).offsets, indices{0});
    a.close();
}

TEST_F(PreparedBatch, RefusesToBeWaitedForWhileIdle) {
    word_array a(where, num_entries);
    auto p = a.prepare(indices{1});
    expect_thrown(errc::invalid_state, [&] { p.wait(); });
    expect_thrown(errc::invalid_state, [&] { return p.test(); });
    EXPECT_EQ(read_all(a), values(num_entries)) << "the array does not count it as active";
    a.close();
}

TEST_F(PreparedBatch, MayMove) {
    word_array a(where, num_entries);
    fill(a, 1);
    values out(1);
    auto first = a.prepare(indices{3});
    auto second = std::move(first);
    second.read(out);
    EXPECT_EQ(out, values{4});

    auto other = a.prepare(indices{5});
    second = std::move(other);
    second.start_read(out);
    auto third = std::move(second);
    EXPECT_TRUE(third.is_active());
    third.wait();
    EXPECT_EQ(out, values{6});
    EXPECT_EQ(std::ssize(read_all(a)), num_entries);
    a.close();
}

TEST_F(PreparedBatch, MayOutliveTheArray) {
    for (const auto& variant : few_variants(num_ranks)) {
        SCOPED_TRACE(variant.name);
        std::optional<prepared_batch<std::int64_t>> p;
        {
            word_array a(variant.where(comm), num_entries, variant.options<std::int64_t>());
            fill(a, 1);
            p = a.prepare(indices{3, rank % num_entries});
            a.close();
        }
        values out(2);
        p->read(out);
        EXPECT_EQ(out, (values{4, rank % num_entries + 1}));
        p->update(values{10, 0}, sum());
        p->read(out);
        EXPECT_EQ(out[0], 4 + 10 * num_ranks);
    }
}

}  // namespace
}  // namespace crossdock::prepared_batch_test
