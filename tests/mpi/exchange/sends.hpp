/// @file
/// @brief What all ranks send in the tests of the sparse data exchange, and what each must get.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "crossdock/sparse_exchange.hpp"
#include "support/routes.hpp"

namespace crossdock::test {

/// @brief Every algorithm, `routed` over every route, and the rule that chooses one.
inline std::vector<std::string> exchange_algorithms() {
    std::vector<std::string> result{"auto"};
    for (const auto& one : registered_exchange_algorithms()) {
        if (one.method != exchange_method::routed) result.push_back(one.name);
    }
    for (const auto& route : conformance_routes()) result.push_back("routed:" + route);
    return result;
}

/// @brief The destinations of all ranks, entry p for rank p; in the order sent, possibly repeated.
using all_destinations = std::vector<std::vector<rank_t>>;

struct named_destinations {
    std::string name;
    all_destinations destinations;
};

/// @brief Many ranks are nearly silent and a few are busy, and low ranks hear from most.
inline all_destinations skewed_destinations(rank_t num_ranks, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](rank_t limit) {
        return static_cast<rank_t>(random() % static_cast<std::uint64_t>(limit));
    };
    all_destinations result(static_cast<std::size_t>(num_ranks));
    for (auto& destinations : result) {
        for (int i = draw(4) == 0 ? 2 * num_ranks : draw(4); i > 0; --i)
            destinations.push_back(draw(draw(num_ranks) + 1));
    }
    return result;
}

/// @brief The destinations that `next(source)` lists, for every source.
template <class Next>
all_destinations make_destinations(rank_t num_ranks, Next&& next) {
    all_destinations result;
    for (rank_t source = 0; source < num_ranks; ++source) result.push_back(next(source));
    return result;
}

/// @brief The shapes of an exchange that every algorithm must cope with.
inline std::vector<named_destinations> conformance_destinations(rank_t num_ranks) {
    using list = std::vector<rank_t>;
    const auto make = [&](auto next) { return make_destinations(num_ranks, next); };
    const auto behind = [&](rank_t rank, rank_t step) { return (rank + step) % num_ranks; };
    const rank_t middle = num_ranks / 2;
    list all;
    for (rank_t rank = num_ranks - 1; rank >= 0; --rank) all.push_back(rank);
    return {{"nothing", make([](rank_t) { return list{}; })},
            {"self", make([](rank_t rank) {
                 return list{rank, rank};
             })},
            {"ring", make([&](rank_t rank) { return list{behind(rank, 1)}; })},
            {"one_to_all", make([&](rank_t rank) { return rank == middle ? all : list{}; })},
            {"all_to_one", make([&](rank_t) { return list{middle}; })},
            {"all_to_all", make([&](rank_t) { return all; })},
            {"repeated", make([&](rank_t rank) {
                 return list{behind(rank, 1), behind(rank, 2), behind(rank, 1), rank,
                             behind(rank, 1), behind(rank, 2)};
             })},
            {"skewed_1", skewed_destinations(num_ranks, 1)},
            {"skewed_2", skewed_destinations(num_ranks, 2)}};
}

struct outgoing {
    rank_t destination;
    std::vector<std::int64_t> values;
};

/// @brief The messages of all ranks, entry p for what rank p sends.
using all_messages = std::vector<std::vector<outgoing>>;

/// @brief Messages of `count_of(source, index)` values, all different and none zero.
template <class CountOf>
all_messages make_messages(const all_destinations& destinations, CountOf&& count_of) {
    all_messages result(destinations.size());
    for (std::size_t source = 0; source < destinations.size(); ++source) {
        std::int64_t index = 0;
        for (const rank_t destination : destinations[source]) {
            outgoing message{destination, {}};
            for (count_t k = count_of(static_cast<rank_t>(source), index); k > 0; --k) {
                message.values.push_back(static_cast<std::int64_t>(source + 1) * 1'000'000 +
                                         index * 1'000 + k);
            }
            result[source].push_back(std::move(message));
            ++index;
        }
    }
    return result;
}

/// @brief Sizes that differ: most messages short, some empty, a few long.
inline count_t uneven_count(rank_t source, std::int64_t index) {
    return index == 1 && source % 3 == 1 ? 700 : (7 * source + 3 * index) % 5;
}

/// @brief One rank's messages, as the typed exchange takes them.
template <class T>
struct typed_sends {
    std::vector<rank_t> destinations;
    std::vector<count_t> counts;
    std::vector<T> values;

    variable_messages<T> variable() const { return {destinations, counts, {}, values}; }
    constant_messages<T> constant(count_t count) const { return {destinations, count, values}; }
};

/// @brief What `rank` sends, each value made by `make(std::int64_t)`.
template <class T, class Make>
typed_sends<T> sends_of(rank_t rank, const all_messages& messages, Make&& make) {
    typed_sends<T> result;
    for (const auto& [destination, values] : messages[static_cast<std::size_t>(rank)]) {
        result.destinations.push_back(destination);
        result.counts.push_back(static_cast<count_t>(values.size()));
        for (const auto value : values) result.values.push_back(make(value));
    }
    return result;
}

inline typed_sends<std::int64_t> sends_of(rank_t rank, const all_messages& messages) {
    return sends_of<std::int64_t>(rank, messages, [](std::int64_t value) { return value; });
}

/// @brief What `rank` must get, sorted by source, each value made by `make(std::int64_t)`.
template <class T, class Make>
received<T> expected_at(rank_t rank, const all_messages& messages, Make&& make) {
    received<T> result;
    for (std::size_t source = 0; source < messages.size(); ++source) {
        for (const auto& [destination, values] : messages[source]) {
            if (destination != rank) continue;
            result.sources.push_back(static_cast<rank_t>(source));
            result.counts.push_back(static_cast<count_t>(values.size()));
            result.displacements.push_back(static_cast<count_t>(result.values.size()));
            for (const auto value : values) result.values.push_back(make(value));
        }
    }
    return result;
}

inline received<std::int64_t> expected_at(rank_t rank, const all_messages& messages) {
    return expected_at<std::int64_t>(rank, messages, [](std::int64_t value) { return value; });
}

inline void expect_same_arrangement(const received_messages& actual,
                                    const received_messages& expected) {
    EXPECT_EQ(actual.sources, expected.sources);
    EXPECT_EQ(actual.counts, expected.counts);
    EXPECT_EQ(actual.displacements, expected.displacements);
}

template <class T>
void expect_equal(const received<T>& actual, const received<T>& expected) {
    expect_same_arrangement(actual, expected);
    EXPECT_EQ(actual.values, expected.values);
}

}  // namespace crossdock::test
