// Writes and updates of every type and by every rule, in batches and in steps, against a serial array.
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "array/variants.hpp"
#include "support/sensitive_values.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::array_changes_test {
namespace {

using namespace test;

constexpr count_t num_entries = 23;

template <class T>
T make_value(std::uint64_t random) {
    return static_cast<T>(random % 50);
}
template <>
link make_value<link>(std::uint64_t random) {
    return {static_cast<double>(random % 7), static_cast<std::int64_t>(random % 50),
            static_cast<std::int64_t>(random % 50)};
}

class ArrayChanges : public AllRanks {
  protected:
    template <class T>
    std::vector<changes<T>> draw(std::uint64_t seed, count_t n = num_entries) const {
        return draw_changes<T>(num_ranks, n, seed, 30, make_value<T>);
    }

    // Updates by one operation, round after round.
    template <class T, class Op>
    void expect_updates(const array_variant& variant, Op op) {
        SCOPED_TRACE(variant.name);
        distributed_array<T> a(variant.where(comm), num_entries, variant.options<T>());
        std::vector<T> serial(static_cast<std::size_t>(num_entries));
        for (std::uint64_t round = 0; round < 2; ++round) {
            const auto all = draw<T>(round);
            for_each_change(all, [&](std::size_t index, const T& value) {
                serial[index] = static_cast<T>(op(serial[index], value));
            });
            a.update(mine(all).indices, mine(all).values, op);
            ASSERT_EQ(read_all(a), serial);
        }
        a.close();
    }

    // Writes by one rule; `stays(written values by rank)` says what is right.
    template <class T, class Stays>
    void expect_writes(const array_variant& variant, const array_options<T>& options, Stays stays) {
        SCOPED_TRACE(variant.name);
        distributed_array<T> a(variant.where(comm), num_entries, options);
        std::vector<T> before(static_cast<std::size_t>(num_entries));
        for (std::uint64_t round = 0; round < 2; ++round) {
            const auto all = draw<T>(round);
            std::map<count_t, std::vector<T>> written;  // by rank, then in its order
            for_each_change(all, [&](std::size_t index, const T& value) {
                written[static_cast<count_t>(index)].push_back(value);
            });
            a.write(mine(all).indices, mine(all).values);
            const auto after = read_all(a);
            for (count_t index = 0; index < num_entries; ++index) {
                const auto at = static_cast<std::size_t>(index);
                if (!written.contains(index)) {
                    ASSERT_EQ(after[at], before[at]);
                } else {
                    ASSERT_TRUE(stays(after[at], written[index], all, index));
                }
            }
            before = after;
        }
        a.close();
    }
};

template <class T>
const auto is_one_of = [](const T& found, const std::vector<T>& written, const auto&, count_t) {
    return std::find(written.begin(), written.end(), found) != written.end();
};

// The last of the lowest rank that wrote the entry.
template <class T>
const auto is_last_of_smallest_rank =
    [](const T& found, const std::vector<T>&, const std::vector<changes<T>>& all, count_t index) {
        for (const auto& list : all) {
            for (std::size_t k = list.indices.size(); k-- > 0;) {
                if (list.indices[k] == index) return found == list.values[k];
            }
        }
        return false;
    };

TEST_F(ArrayChanges, UpdatesOfAllOperationsAreThoseOfASerialArray) {
    for (const auto& variant : variants_of_any_operation(num_ranks)) {
        expect_updates<int>(variant, sum());
        expect_updates<link>(variant, lighter());
    }
    for (const auto& variant : few_variants(num_ranks)) {
        expect_updates<int>(variant, [](const int& a, const int& b) { return a ^ b; });
        expect_updates<link>(variant, lighter());
        expect_updates<char>(variant, bit_or());
        expect_updates<int>(variant, bit_and());
        expect_updates<int>(variant, bit_xor());
        expect_updates<std::uint32_t>(variant, product());
        expect_updates<char>(variant, maximum());
        expect_updates<int>(variant, minimum());
        expect_updates<double>(variant, sum());
        expect_updates<double>(variant, minimum());
        expect_updates<double>(variant, maximum());
        expect_updates<std::uint16_t>(variant, bit_or());
        expect_updates<float>(variant, sum());
    }
}

// A rank's own requests for an entry first, from 0 on in their order; of ranks the owner first, then the others.
TEST_F(ArrayChanges, ReproducibleSumsHaveTheSameBitsByEveryRouteTransportAndStrategy) {
    count_t place = 0;
    const auto all = draw_changes<double>(
        num_ranks, num_entries, 3, 60, [&](std::uint64_t) { return sensitive_value(0, place++); });
    const auto parts = block_partition::blocks(num_entries, num_ranks);
    auto expected = sensitive_values(1, num_entries);
    for (count_t e = 0; e < num_entries; ++e) {
        std::vector<std::optional<double>> sums(static_cast<std::size_t>(num_ranks));
        for (std::size_t r = 0; r < all.size(); ++r)
            for (std::size_t k = 0; k < all[r].indices.size(); ++k)
                if (all[r].indices[k] == e) sums[r] = sums[r].value_or(0) + all[r].values[k];
        const auto owner = static_cast<std::size_t>(parts.owner(e));
        auto& entry = expected[static_cast<std::size_t>(e)];
        entry += sums[owner].value_or(0);
        for (std::size_t r = 0; r < sums.size(); ++r)
            if (r != owner && sums[r]) entry += *sums[r];
    }

    std::set<number_bits> prepared, without;
    for (const auto& variant : variants_of_any_operation(num_ranks)) {
        for (const bool is_reproducible : {true, false}) {
            SCOPED_TRACE(variant.name);
            auto options = variant.options<double>();
            options.reproducible = is_reproducible;
            distributed_array<double> a(variant.where(comm), num_entries, options);
            const auto fill = [&] {
                const auto entries = sensitive_values(1, num_entries);
                std::copy_n(entries.begin() + a.first_index(), a.local().size(), a.local().begin());
            };
            fill();
            a.update(mine(all).indices, mine(all).values, sum{});
            const auto found = bits_of(read_all(a));
            if (!is_reproducible) {
                without.insert(found);
                continue;
            }
            ASSERT_EQ(found, bits_of(expected));
            auto batch = a.prepare(mine(all).indices);
            fill();
            batch.update(mine(all).values, sum{});
            prepared.insert(bits_of(read_all(a)));
        }
    }
    EXPECT_EQ(prepared.size(), 1u);
    if (num_ranks > 2) {
        EXPECT_GT(without.size(), 1u);
    }
}

TEST_F(ArrayChanges, OneSidedCallsAreNotReproducible) {
    array_options<double> options;
    options.transport = array_transport::rma;
    options.reproducible = true;
    expect_thrown(errc::invalid_argument,
                  [&] { distributed_array<double>(where, num_entries, options); });
}

TEST_F(ArrayChanges, AnyWrittenValueStaysWhole) {
    for (const auto& variant : variants_of_any_operation(num_ranks))
        expect_writes<int>(variant, variant.options<int>(), is_one_of<int>);
    for (const auto& variant : few_variants(num_ranks)) {
        expect_writes<char>(variant, variant.options<char>(), is_one_of<char>);
        expect_writes<link>(variant, variant.options<link>(), is_one_of<link>);
    }
}

TEST_F(ArrayChanges, TheLastWriteOfTheSmallestRankStays) {
    constexpr auto rule = overwrite::smallest_rank_last;
    for (const auto& variant : variants_of_any_operation(num_ranks))
        expect_writes<int>(variant, variant.options<int>(rule), is_last_of_smallest_rank<int>);
    for (const auto& variant : few_variants_of_any_operation(num_ranks)) {
        expect_writes<char>(variant, variant.options<char>(rule), is_last_of_smallest_rank<char>);
        expect_writes<double>(variant, variant.options<double>(rule),
                              is_last_of_smallest_rank<double>);
        expect_writes<link>(variant, variant.options<link>(rule), is_last_of_smallest_rank<link>);
    }
}

TEST_F(ArrayChanges, TheLeastOrGreatestWriteStaysWhateverTheEntryWas) {
    const auto is_least = [](auto found, const auto& written, const auto&, count_t) {
        return found == *std::min_element(written.begin(), written.end());
    };
    const auto is_greatest = [](auto found, const auto& written, const auto&, count_t) {
        return found == *std::max_element(written.begin(), written.end());
    };
    for (const auto& variant : variants_of_any_operation(num_ranks)) {
        expect_writes<int>(variant, variant.options<int>(overwrite::minimum), is_least);
        expect_writes<int>(variant, variant.options<int>(overwrite::maximum), is_greatest);
    }
    for (const auto& variant : few_variants_of_any_operation(num_ranks)) {
        expect_writes<char>(variant, variant.options<char>(overwrite::minimum), is_least);
        expect_writes<double>(variant, variant.options<double>(overwrite::maximum), is_greatest);
    }
}

TEST_F(ArrayChanges, TheUsersFunctionSaysWhichWriteStays) {
    const auto is_lightest = [](const link& found, const std::vector<link>& written, const auto&,
                                count_t) {
        const link lightest =
            std::accumulate(written.begin() + 1, written.end(), written.front(), lighter());
        return found.weight == lightest.weight && found.id == lightest.id;
    };
    for (const auto& variant : variants_of_any_operation(num_ranks)) {
        auto options = variant.options<link>(overwrite::user);
        options.choose = lighter();
        expect_writes<link>(variant, options, is_lightest);
    }
}

// Steps.

TEST_F(ArrayChanges, AStepWritesThenUpdatesThenReads) {
    with_arrays<int>(comm, few_variants(num_ranks), num_entries, [&](auto& a) {
        for (int round = 1; round <= 3; ++round) {
            // Queued the other way round; all write the same to entry 5.
            int at_5 = -1, at_6 = -1, again = -1, own_entry = -1;
            a.read(5, &at_5);
            a.read(6, &at_6);
            a.update(5, rank + 1);
            a.update(6, 1);
            a.update(6, 1);
            a.write(5, 1000 * round);
            a.write(num_entries - 1 - rank, rank);
            a.read(5, &again);
            a.read(num_entries - 1 - next, &own_entry);
            a.step();

            EXPECT_EQ(at_5, 1000 * round + num_ranks * (num_ranks + 1) / 2);
            EXPECT_EQ(again, at_5);
            EXPECT_EQ(at_6, 2 * num_ranks * round);
            EXPECT_EQ(own_entry, next);
        }
    });
}

TEST_F(ArrayChanges, AStepMayBeEmptyOrOfOneRank) {
    with_arrays<int>(comm, few_variants(num_ranks), num_entries, [&](auto& a) {
        a.step();
        EXPECT_EQ(read_all(a), std::vector<int>(num_entries));

        int first = -1, last = -1;
        if (is_last) {
            a.write(0, 7);
            a.update(num_entries - 1, 8);
            a.read(0, &first);
            a.read(num_entries - 1, &last);
        }
        a.step();
        EXPECT_EQ(first, is_last ? 7 : -1);
        EXPECT_EQ(last, is_last ? 8 : -1);

        a.step();
        std::vector<int> expected(num_entries);
        expected.front() = 7;
        expected.back() = 8;
        EXPECT_EQ(read_all(a), expected) << "a step's requests are done once";
    });
}

TEST_F(ArrayChanges, AStepTakesAnOperationAndARule) {
    for (const auto& variant : few_variants_of_any_operation(num_ranks)) {
        SCOPED_TRACE(variant.name);
        distributed_array<link> a(variant.where(comm), num_entries,
                                  variant.options<link>(overwrite::smallest_rank_last));
        link found{};
        a.write(3, {100.0 + rank, rank, 0});
        a.update(3, {50.0 - rank, rank, 1});
        a.update(4, {1, 0, 0});
        a.read(3, &found);
        a.step(lighter());
        EXPECT_EQ(found, (link{51.0 - num_ranks, num_ranks - 1, 1}));

        a.write(3, {100.0 + rank, rank, 0});
        a.write(3, {200.0 + rank, rank, 0});
        a.read(3, &found);
        a.step(lighter());
        EXPECT_EQ(found, (link{200, 0, 0}));
        a.close();
    }
}

TEST_F(ArrayChanges, AStepUpdatesByReplacingWhereThereIsNoSum) {
    with_arrays<link>(comm, few_variants(num_ranks), num_entries, [&](auto& a) {
        link found{};
        a.update(2, {1, 2, 3});
        a.read(2, &found);
        a.step();
        EXPECT_EQ(found, (link{1, 2, 3}));
    });
}

// Partitions.

TEST_F(ArrayChanges, PartsMayBeUnevenOrEmpty) {
    // Rank r has r % 3 entries, and the last has 4 more.
    const auto size_of = [&](rank_t r) { return r % 3 + (r == num_ranks - 1 ? 4 : 0); };
    count_t n = 0;
    std::vector<rank_t> owners;
    for (rank_t r = 0; r < num_ranks; ++r) {
        n += size_of(r);
        owners.insert(owners.end(), static_cast<std::size_t>(size_of(r)), r);
    }
    for (const auto& variant : variants_of_any_operation(num_ranks)) {
        SCOPED_TRACE(variant.name);
        auto options = variant.options<int>();
        options.num_local = size_of(rank);
        distributed_array<int> a(variant.where(comm), n, options);
        ASSERT_EQ(a.size(), n);
        ASSERT_EQ(std::ssize(a.local()), size_of(rank));
        for (count_t index = 0; index < n; ++index)
            ASSERT_EQ(a.owners().owner(index), owners[static_cast<std::size_t>(index)]);
        for (auto& entry : a.local()) entry = 10 * rank;

        const auto all = draw<int>(3, n);
        a.update(mine(all).indices, mine(all).values, sum());

        std::vector<int> serial;
        for (const rank_t owner : owners) serial.push_back(10 * owner);
        for_each_change(all, [&](std::size_t index, int value) { serial[index] += value; });
        ASSERT_EQ(read_all(a), serial);
        const auto first = serial.begin() + a.first_index();
        ASSERT_TRUE(std::equal(a.local().begin(), a.local().end(), first));
        a.close();
    }
}

TEST_F(ArrayChanges, AnArrayMayHaveNoEntriesOrFewerThanRanks) {
    for (const count_t n : {count_t{0}, count_t{1}, std::max<count_t>(num_ranks - 1, 0)}) {
        with_arrays<int>(comm, few_variants(num_ranks), n, [&](auto& a) {
            const auto all = draw<int>(4, n);
            a.write(mine(all).indices, mine(all).values);
            a.step();
            const auto values = read_all(a);
            ASSERT_EQ(std::ssize(values), n);
            std::vector<bool> is_written(values.size()), is_one(values.size());
            for_each_change(all, [&](std::size_t index, int value) {
                is_written[index] = true;
                if (value == values[index]) is_one[index] = true;
            });
            EXPECT_EQ(is_one, is_written);
        });
    }
}

// Neither can be an element of a std::vector<T> that a span could see, or be made from nothing.
struct without_default {
    explicit without_default(int v) : value(v) {}
    int value;
};

TEST_F(ArrayChanges, AStepTakesAnyTypeThatMayBeCopied) {
    distributed_array<bool> flags(where, num_entries);
    distributed_array<without_default> numbers(where, num_entries);
    bool is_set = false;
    bool is_other_set = true;
    without_default found(0);
    flags.write(1, true);
    flags.read(1, &is_set);
    flags.read(0, &is_other_set);
    numbers.write(1, without_default(7));
    numbers.read(1, &found);
    flags.step();
    numbers.step();
    EXPECT_TRUE(is_set);
    EXPECT_FALSE(is_other_set);
    EXPECT_EQ(found.value, 7);
    flags.close();
    numbers.close();
}

// Of what is no number MPI knows no more than bytes.
TEST_F(ArrayChanges, OneWholeValueStaysOfThoseThatAllRanksWriteAtOnce) {
    using block = std::array<std::int64_t, 64>;
    std::vector<count_t> indices(num_entries);
    std::iota(indices.begin(), indices.end(), count_t{0});
    block written;
    written.fill(rank + 1);
    with_arrays<block>(comm, few_variants(num_ranks), num_entries, [&](auto& a) {
        for (int round = 0; round < 5; ++round) {
            a.write(indices, std::vector<block>(num_entries, written));
            for (const block& entry : a.local()) {
                EXPECT_TRUE(1 <= entry[0] && entry[0] <= num_ranks) << entry[0];
                block whole;
                whole.fill(entry[0]);
                EXPECT_EQ(entry, whole);
            }
        }
    });
}

TEST_F(ArrayChanges, RmaReadsWhateverItsRuleOfWrites) {
    distributed_array<int> a(
        where, num_entries,
        {.transport = array_transport::rma, .equal_writes = overwrite::minimum});
    int found = -1;
    a.read(num_entries - 1, &found);
    a.step();
    EXPECT_EQ(found, 0);
    a.close();
}

TEST_F(ArrayChanges, AnArrayMayMove) {
    distributed_array<int> first(where, num_entries);
    first.write(1, 5);
    distributed_array<int> second(std::move(first));
    second.step();
    first = std::move(second);
    std::vector<int> expected(num_entries);
    expected[1] = 5;
    EXPECT_EQ(read_all(first), expected);
    first.close();
}

}  // namespace
}  // namespace crossdock::array_changes_test
