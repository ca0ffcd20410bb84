#include "crossdock/sparse_exchange.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <set>
#include <span>

#include "exchange/sends.hpp"
#include "support/all_ranks.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::exchange_test {
namespace {

using namespace test;

class Exchange : public AllRanks, public testing::WithParamInterface<std::string> {
  protected:
    bool takes_any_size() const {
        return GetParam() == "auto" ||
               !takes_one_size_only(parse_exchange_algorithm(GetParam()).method);
    }
    exchange_options by_algorithm() const { return {.algorithm = GetParam()}; }

    // An irregular placement, if there are ranks enough for one.
    const topology irregular = conformance_topologies(num_ranks).back();
    const context here{comm, irregular};

    // Calls `use(destinations)` for every shape of an exchange.
    template <class Use>
    void for_each_shape(Use&& use) {
        for (const auto& [name, destinations] : conformance_destinations(num_ranks)) {
            SCOPED_TRACE(name);
            use(destinations);
        }
    }

    const all_destinations skewed = skewed_destinations(num_ranks, 3);

    template <class Use>
    void for_each_topology(Use&& use) {
        for (const auto& regions : conformance_topologies(num_ranks)) {
            SCOPED_TRACE(regions.to_string());
            use(regions);
        }
    }

    void expect_delivered(const topology& regions, const all_messages& messages,
                          const exchange_options& options) {
        expect_equal(
            sparse_exchange(context(comm, regions), sends_of(rank, messages).variable(), options),
            expected_at(rank, messages));
    }

    void expect_delivered(const topology& regions, const all_messages& messages, count_t count,
                          const exchange_options& options) {
        const auto sends = sends_of(rank, messages);
        expect_equal(sparse_exchange(context(comm, regions), sends.constant(count), options),
                     expected_at(rank, messages));
    }
};

INSTANTIATE_TEST_SUITE_P(Algorithms, Exchange, testing::ValuesIn(exchange_algorithms()),
                         [](const auto& tested) { return test_name(tested.param); });

auto always(count_t count) {
    return [count](rank_t, std::int64_t) { return count; };
}

TEST_P(Exchange, DeliversMessagesOfAnySize) {
    if (!takes_any_size()) GTEST_SKIP() << "takes messages of one size only";
    for_each_topology([&](const topology& regions) {
        for_each_shape([&](const auto& destinations) {
            expect_delivered(regions, make_messages(destinations, uneven_count), by_algorithm());
        });
    });
}

TEST_P(Exchange, DeliversMessagesOfOneSize) {
    for_each_shape([&](const auto& destinations) {
        expect_delivered(irregular, make_messages(destinations, always(3)), 3, by_algorithm());
    });
    for_each_topology([&](const topology& regions) {
        expect_delivered(regions, make_messages(skewed, always(3)), 3, by_algorithm());
    });
}

TEST_P(Exchange, DeliversMessagesWithoutValues) {
    for_each_shape([&](const auto& destinations) {
        const auto messages = make_messages(destinations, always(0));
        expect_delivered(irregular, messages, 0, by_algorithm());
        if (takes_any_size()) expect_delivered(irregular, messages, by_algorithm());
    });
}

TEST_P(Exchange, DeliversZeros) {
    auto messages = make_messages(skewed, always(2));
    for (auto& sent : messages) {
        for (auto& message : sent) message.values = {0, 0};
    }
    expect_delivered(irregular, messages, 2, by_algorithm());
    if (takes_any_size()) expect_delivered(irregular, messages, by_algorithm());
}

// Has padding, and no default value of its own.
struct particle {
    double position;
    std::int32_t id;
    char kind;

    friend bool operator==(const particle&, const particle&) = default;
};

particle particle_of(std::int64_t value) {
    return {0.5 * static_cast<double>(value), static_cast<std::int32_t>(-value),
            static_cast<char>('a' + value % 26)};
}

TEST_P(Exchange, DeliversStructs) {
    const auto messages = make_messages(skewed, always(2));
    const auto sends = sends_of<particle>(rank, messages, particle_of);
    const auto expected = expected_at<particle>(rank, messages, particle_of);
    expect_equal(sparse_exchange(here, sends.constant(2), by_algorithm()), expected);
    if (!takes_any_size()) return;
    expect_equal(sparse_exchange(here, sends.variable(), by_algorithm()), expected);
}

TEST_P(Exchange, TakesValuesFromDisplacements) {
    if (!takes_any_size()) GTEST_SKIP() << "takes messages of one size only";
    // Every rank sends all ranks overlapping stretches of one array, starting at its end.
    const auto first_value = [](rank_t source) { return 100 * (source + 1); };
    std::vector<rank_t> destinations;
    std::vector<count_t> counts, displacements;
    std::vector<int> values;
    received<int> expected;
    for (rank_t other = 0; other < num_ranks; ++other) {
        destinations.push_back(other);
        counts.push_back(2 + other % 2);
        displacements.push_back(num_ranks - 1 - other);
        const count_t count = 2 + rank % 2;
        expected.sources.push_back(other);
        expected.counts.push_back(count);
        expected.displacements.push_back(other * count);
        for (int k = 0; k < count; ++k)
            expected.values.push_back(first_value(other) + num_ranks - 1 - rank + k);
    }
    for (int i = 0; i < num_ranks + 2; ++i) values.push_back(first_value(rank) + i);

    expect_equal(
        sparse_exchange(here, variable_messages<int>{destinations, counts, displacements, values},
                        by_algorithm()),
        expected);
}

TEST_P(Exchange, DeliversTheSameInOrderOfArrival) {
    auto options = by_algorithm();
    options.order = message_order::arrival;
    const auto as_set = [](const received<std::int64_t>& all) {
        std::multiset<std::pair<rank_t, std::vector<std::int64_t>>> result;
        for (std::size_t i = 0; i < all.num_messages(); ++i) {
            const auto values = all.message(i);
            result.emplace(all.sources[i], std::vector(values.begin(), values.end()));
        }
        return result;
    };
    for_each_shape([&](const auto& destinations) {
        const auto messages = make_messages(destinations, always(2));
        const auto sends = sends_of(rank, messages);
        const auto actual = sparse_exchange(here, sends.constant(2), options);
        EXPECT_EQ(as_set(actual), as_set(expected_at(rank, messages)));
        for (std::size_t i = 0; i < actual.num_messages(); ++i)
            EXPECT_EQ(actual.displacements[i], static_cast<count_t>(2 * i));
    });
}

TEST_P(Exchange, UsesAKnownNumberOfSources) {
    for_each_shape([&](const auto& destinations) {
        const auto messages = make_messages(destinations, always(1));
        auto options = by_algorithm();
        options.num_sources = static_cast<count_t>(expected_at(rank, messages).num_messages());
        expect_delivered(irregular, messages, 1, options);
    });
}

TEST_P(Exchange, CutsLongMessages) {
    // Of 0 to 72 bytes: shorter than the limit, exact multiples of it, and others.
    const auto by_index = [](rank_t source, std::int64_t index) { return (source + index) % 10; };
    for_each_shape([&](const auto& destinations) {
        auto options = by_algorithm();
        options.max_message_bytes = 16;
        expect_delivered(irregular, make_messages(destinations, always(4)), 4, options);
        if (!takes_any_size()) return;
        for (const count_t max_message_bytes : {1, 8, 16}) {
            options.max_message_bytes = max_message_bytes;
            expect_delivered(irregular, make_messages(destinations, by_index), options);
        }
    });
}

TEST_P(Exchange, AnnouncesMessagesThatAreTooLongToForward) {
    if (GetParam() != "auto" && !GetParam().starts_with("routed:"))
        GTEST_SKIP() << "forwards all or nothing";
    for_each_shape([&](const auto& destinations) {
        const auto messages = make_messages(destinations, uneven_count);
        for (const count_t max_forwarded_bytes : {0, 16}) {
            auto options = by_algorithm();
            options.max_forwarded_bytes = max_forwarded_bytes;
            expect_delivered(irregular, messages, options);
            // 7 equal parts of 5600 bytes, and more than may wait at a receiver
            for (const count_t max_message_bytes : {800, 9}) {
                options.max_message_bytes = max_message_bytes;
                expect_delivered(irregular, messages, options);
            }
        }
    });
}

// A datatype and where the bytes of its values lie in their extent.
struct sparse_datatype {
    std::string name;
    MPI_Datatype datatype;
    count_t extent;
    std::vector<count_t> used_bytes;
};

sparse_datatype committed(std::string name, MPI_Datatype datatype, count_t extent,
                          std::vector<count_t> used_bytes) {
    MPI_Type_commit(&datatype);
    return {std::move(name), datatype, extent, std::move(used_bytes)};
}

std::vector<sparse_datatype> sparse_datatypes() {
    std::vector<sparse_datatype> result;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 3, MPI_SHORT, &made);
    result.push_back(committed("vector", made, 8, {0, 1, 6, 7}));
    MPI_Type_create_resized(MPI_INT, 0, 16, &made);
    result.push_back(committed("resized", made, 16, {0, 1, 2, 3}));
    const int lengths[] = {1, 2};
    const MPI_Aint places[] = {8, 1};
    const MPI_Datatype parts[] = {MPI_INT, MPI_CHAR};
    MPI_Type_create_struct(2, lengths, places, parts, &made);
    MPI_Datatype padded = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(made, 0, 12, &padded);
    MPI_Type_free(&made);
    result.push_back(committed("struct", padded, 12, {1, 2, 8, 9, 10, 11}));
    MPI_Type_contiguous(3, MPI_CHAR, &made);
    result.push_back(committed("contiguous", made, 3, {0, 1, 2}));
    return result;
}

// `unused` everywhere but in the bytes of the values.
std::vector<std::byte> spread(const std::vector<std::int64_t>& values, const sparse_datatype& type,
                              std::byte unused) {
    std::vector<std::byte> result(values.size() * static_cast<std::size_t>(type.extent), unused);
    for (std::size_t i = 0; i < values.size(); ++i) {
        for (const count_t at : type.used_bytes) {
            result[i * static_cast<std::size_t>(type.extent) + static_cast<std::size_t>(at)] =
                static_cast<std::byte>(3 * values[i] + at);
        }
    }
    return result;
}

TEST_P(Exchange, DeliversValuesOfDatatypesWithGaps) {
    constexpr std::byte rubbish{0xee}, zero{0};
    for (auto& type : sparse_datatypes()) {
        SCOPED_TRACE(type.name);
        const auto messages = make_messages(skewed, always(2));
        const auto sends = sends_of(rank, messages);
        const auto data = spread(sends.values, type, rubbish);
        const auto actual = sparse_exchange(
            here, constant_datatype_messages{sends.destinations, 2, data.data(), type.datatype},
            by_algorithm());
        const auto expected = expected_at(rank, messages);
        expect_same_arrangement(actual, expected);
        EXPECT_EQ(actual.values, spread(expected.values, type, zero));
        MPI_Type_free(&type.datatype);
    }
}

// Values one message after the other, the last message's first; and where each message's lie.
struct reversed_values {
    std::vector<std::int64_t> values;
    std::vector<count_t> displacements;

    explicit reversed_values(const std::vector<outgoing>& messages)
        : displacements(messages.size()) {
        for (std::size_t i = messages.size(); i-- > 0;) {
            displacements[i] = static_cast<count_t>(values.size());
            values.insert(values.end(), messages[i].values.begin(), messages[i].values.end());
        }
    }
};

TEST_P(Exchange, DeliversAnyNumberOfValuesOfDatatypesWithGaps) {
    if (!takes_any_size()) GTEST_SKIP() << "takes messages of one size only";
    constexpr std::byte rubbish{0xee}, zero{0};
    for (auto& type : sparse_datatypes()) {
        SCOPED_TRACE(type.name);
        const auto messages = make_messages(skewed, uneven_count);
        const auto sends = sends_of(rank, messages);
        const reversed_values reversed(messages[static_cast<std::size_t>(rank)]);
        const auto data = spread(reversed.values, type, rubbish);
        const auto actual = sparse_exchange(
            here,
            variable_datatype_messages{sends.destinations, sends.counts, reversed.displacements,
                                       data.data(), type.datatype},
            by_algorithm());
        const auto expected = expected_at(rank, messages);
        expect_same_arrangement(actual, expected);
        EXPECT_EQ(actual.values, spread(expected.values, type, zero));
        MPI_Type_free(&type.datatype);
    }
}

TEST_P(Exchange, CutsMessagesInMorePartsThanMayWait) {
    if (!takes_any_size()) GTEST_SKIP() << "takes messages of one size only";
    // Two messages to each rank, whose parts must not overtake each other; 64 and 65 parts are borders.
    for (const count_t count : {64, 65, 128, 129, 1000}) {
        const auto to = make_destinations(num_ranks, [&](rank_t from) {
            const rank_t behind = (from + 1) % num_ranks;
            return std::vector<rank_t>{behind, behind, 0};
        });
        const auto messages =
            make_messages(to, [&](rank_t, std::int64_t index) { return index == 1 ? 1 : count; });
        for (const auto max_forwarded_bytes :
             {std::optional<count_t>(), std::optional<count_t>(8)}) {
            auto options = by_algorithm();
            options.max_message_bytes = 8;
            options.max_forwarded_bytes = max_forwarded_bytes;
            expect_delivered(irregular, messages, options);
        }
    }
}

class ExchangeRanges : public AllRanks {
  protected:
    void expect_delivered(const received<double>& actual) {
        EXPECT_EQ(actual.sources, std::vector{previous});
        EXPECT_EQ(actual.counts, std::vector<count_t>{2});
        EXPECT_EQ(actual.values, (std::vector<double>{1, 2}));
    }
};

TEST_F(ExchangeRanges, MayBeOfAnyContiguousKindAndOfIntsOrWords) {
    const std::vector<double> values{1, 2};
    const std::vector<int> rank_vector{next}, int_counts{2};
    const std::array<rank_t, 1> rank_array{next};
    const std::int64_t wide_rank[1] = {next};
    const std::vector<long long> long_counts{2};
    const std::array<std::int64_t, 1> count_array{2};
    std::vector<count_t> changeable{2};

    expect_delivered(sparse_exchange(where, rank_vector, int_counts, values));
    expect_delivered(sparse_exchange(where, rank_array, long_counts, values));
    expect_delivered(sparse_exchange(where, wide_rank, count_array, values));
    expect_delivered(
        sparse_exchange(where, std::span(rank_vector), std::span(changeable), std::span(values)));
    expect_delivered(sparse_exchange(where, {next}, {2}, std::array<double, 2>{1, 2}));
    expect_delivered(
        sparse_exchange(where, std::vector{next}, std::vector{2}, std::vector<double>{1, 2}, {}));
}

TEST_F(ExchangeRanges, RefuseARankOfMoreThan32Bits) {
    const std::vector<std::int64_t> ranks{count_t{1} << 32};
    const error heard = thrown_by(
        [&] { static_cast<void>(sparse_exchange(where, ranks, {1}, std::vector<double>{1})); });
    EXPECT_EQ(heard.code(), errc::rank_out_of_range);
    EXPECT_STREQ(heard.what(), "rank 0: destination 0 is 4294967296, which cannot be a rank");
}

}  // namespace
}  // namespace crossdock::exchange_test
