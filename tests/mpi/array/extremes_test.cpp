// Minima and maxima of values that < does not order, wherever values are combined.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "array/variants.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/make_pattern.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "support/topologies.hpp"

namespace crossdock::extremes_test {
namespace {

using namespace test;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::array pool{1.0, -0.0, 0.0, nan, 856.0, -infinity, 0.0, -3.0, infinity, nan, -0.0};
constexpr count_t num_entries = 41;

// Entry 0 is the smallest case in which a number was lost.
double first_value(count_t entry) {
    return entry == 0 ? 1e9 : pool[static_cast<std::size_t>(entry) % pool.size()];
}
double value_of(rank_t rank, count_t entry) {
    if (entry == 0) return rank == 0 ? nan : rank == 1 ? 856 : 2000;
    const auto at = static_cast<std::size_t>(entry * (3 * rank + 2) + rank);
    return pool[at % pool.size()];
}

// One number for what may not be told apart: all NaN are alike, and zeros are not.
template <class T>
std::uint64_t bits_of(T value) {
    return std::isnan(value) ? 1 : std::bit_cast<std::uint64_t>(static_cast<double>(value));
}
template <class Values>
std::vector<std::uint64_t> bits_of_all(const Values& values) {
    std::vector<std::uint64_t> result;
    for (const auto value : values) result.push_back(bits_of(value));
    return result;
}

// By what IEEE 754-2019 says of all values at once, in which no order can play a part.
struct rule {
    bool is_least;
    bool has_nan;  // if there is one among the values, it is the result

    double of(const std::vector<double>& values) const {
        std::optional<double> best;
        bool is_any_nan = false;
        for (const double value : values) {
            const auto is_better = [&](double than) {
                if (value != than) return is_least ? value < than : value > than;
                return std::signbit(value) == is_least;
            };
            if (std::isnan(value)) {
                is_any_nan = true;
            } else if (!best || is_better(*best)) {
                best = value;
            }
        }
        return (is_any_nan && has_nan) || !best ? nan : *best;
    }
};

template <class Use>
void for_each_operation_with_rule(Use&& use) {
    use("minimum", minimum(), rule{true, true});
    use("maximum", maximum(), rule{false, true});
    use("minimum_number", minimum_number(), rule{true, false});
    use("maximum_number", maximum_number(), rule{false, false});
}

class Extremes : public AllRanks {
  protected:
    // Of one entry, with what all ranks have of it.
    std::vector<double> values_of_all(count_t entry, bool with_first) const {
        std::vector<double> values;
        if (with_first) values.push_back(first_value(entry));
        for (rank_t r = 0; r < num_ranks; ++r) values.push_back(value_of(r, entry));
        return values;
    }
    std::vector<std::uint64_t> expected(const rule& by, bool with_first) const {
        std::vector<std::uint64_t> result;
        for (count_t entry = 0; entry < num_entries; ++entry)
            result.push_back(bits_of(by.of(values_of_all(entry, with_first))));
        return result;
    }
    std::vector<count_t> all_entries() const {
        std::vector<count_t> result;
        for (count_t entry = 0; entry < num_entries; ++entry) result.push_back(entry);
        return result;
    }
    template <class T>
    std::vector<T> own_values() const {
        std::vector<T> result;
        for (count_t entry = 0; entry < num_entries; ++entry)
            result.push_back(static_cast<T>(value_of(rank, entry)));
        return result;
    }
    std::vector<context> places() const {
        const auto nodes = topology::from_string(std::to_string(num_ranks) + "x1");
        const auto regions = conformance_topologies(num_ranks);
        return {{comm, regions.front()},
                context(comm, regions[1]).with_nodes(nodes),
                context(comm, regions.back()).with_nodes(nodes)};
    }

    template <class T>
    void expect_updates(const array_variant& variant, bool is_every) {
        SCOPED_TRACE(variant.name);
        for_each_operation_with_rule([&](const char* name, auto op, const rule& by) {
            if (!is_every && by.is_least != by.has_nan) return;
            SCOPED_TRACE(name);
            distributed_array<T> a(variant.where(comm), num_entries, variant.options<T>());
            const auto fill = [&] {
                count_t entry = a.first_index();
                for (auto& value : a.local()) value = static_cast<T>(first_value(entry++));
            };
            fill();
            a.update(all_entries(), own_values<T>(), op);
            EXPECT_EQ(bits_of_all(read_all(a)), expected(by, true));

            fill();
            auto batch = a.prepare(all_entries());
            const auto values = own_values<T>();
            batch.update(values, op);
            EXPECT_EQ(bits_of_all(read_all(a)), expected(by, true));
            a.close();
        });
    }
};

TEST_F(Extremes, OfUpdatesAreTheSameByEveryRouteStrategyAndTransport) {
    for (const auto& variant : variants_of_any_operation(num_ranks))
        expect_updates<double>(variant, false);
    for (const auto& variant : few_variants(num_ranks)) {
        expect_updates<double>(variant, true);
        expect_updates<float>(variant, true);
    }
}

TEST_F(Extremes, OfWritesAreTheSameByEveryRouteAndStrategy) {
    for (const auto& variant : variants_of_any_operation(num_ranks)) {
        SCOPED_TRACE(variant.name);
        for (const bool is_least : {true, false}) {
            const auto which = is_least ? overwrite::minimum : overwrite::maximum;
            distributed_array<double> a(variant.where(comm), num_entries,
                                        variant.options<double>(which));
            a.write(all_entries(), own_values<double>());
            EXPECT_EQ(bits_of_all(read_all(a)), expected({is_least, true}, false));
            a.close();
        }
    }
}

TEST_F(Extremes, OfGatherScattersAreTheSameByEveryMethodAndRoute) {
    auto ids = all_entries();
    for (auto& id : ids) ++id;
    for (const auto& place : places()) {
        for (const auto& route : conformance_routes()) {
            for (const std::string method : {"owners", "holders"}) {
                SCOPED_TRACE(place.topology().to_string() + " " + method + " " + route);
                gather_scatter shared(place, ids, {.method = method, .route = route});
                for_each_operation_with_rule([&](const char* name, auto op, const rule& by) {
                    SCOPED_TRACE(name);
                    auto values = own_values<double>();
                    shared.combine(values, op);
                    EXPECT_EQ(bits_of_all(values), expected(by, false));
                });
            }
        }
    }
}

// The last rank's items are needed by all, so that values of many ranks meet on the way to it.
TEST_F(Extremes, OfReverseExchangesAreTheSameOnEveryRoute) {
    const auto own = pattern_from_needed(comm, 0, is_last ? num_entries : 0, all_entries());
    for (const auto& place : places()) {
        for (const auto& route : conformance_routes()) {
            SCOPED_TRACE(place.topology().to_string() + " " + route);
            neighbor_exchange halo(place, own, {.route = route});
            for_each_operation_with_rule([&](const char* name, auto op, const rule& by) {
                SCOPED_TRACE(name);
                std::vector<double> items;
                for (count_t entry = 0; entry < num_entries; ++entry)
                    items.push_back(first_value(entry));
                halo.reverse(own_values<double>(), items, op);
                if (is_last) {
                    EXPECT_EQ(bits_of_all(items), expected(by, true));
                }
            });
        }
    }
}

// Whatever wraps around does so in any order.
TEST_F(Extremes, OfIntegersMayBeExceeded) {
    const auto sum_of = [&](auto greatest) {
        using T = decltype(greatest);
        for (const auto& variant : few_variants(num_ranks)) {
            SCOPED_TRACE(variant.name);
            distributed_array<T> a(variant.where(comm), 2, variant.template options<T>());
            T total = 0, power = 1;
            for (rank_t r = 0; r < num_ranks; ++r) {
                total = static_cast<T>(static_cast<std::uint64_t>(total) +
                                       static_cast<std::uint64_t>(greatest));
                power = static_cast<T>(static_cast<std::uint64_t>(power) *
                                       static_cast<std::uint64_t>(greatest));
            }
            a.update(std::vector<count_t>{1}, std::vector<T>{greatest}, sum());
            EXPECT_EQ(read_all(a), (std::vector<T>{0, total}));
            for (auto& entry : a.local()) entry = 1;
            a.update(std::vector<count_t>{1}, std::vector<T>{greatest}, product());
            EXPECT_EQ(read_all(a), (std::vector<T>{1, power}));
            a.close();
        }
    };
    sum_of(std::numeric_limits<std::int32_t>::max());
    sum_of(std::numeric_limits<std::int64_t>::max());
    sum_of(std::numeric_limits<std::uint16_t>::max());
}

}  // namespace
}  // namespace crossdock::extremes_test
