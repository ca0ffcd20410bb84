/// @file
/// @brief The variants of a distributed array that its tests go through, and serial results.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "crossdock/distributed_array.hpp"
#include "support/all_ranks.hpp"
#include "support/routes.hpp"

namespace crossdock::test {

/// @brief How an array is made, and the name of that in traces.
struct array_variant {
    std::string name;
    topology regions;
    array_transport transport = array_transport::routed;
    std::string route = "auto";
    combining_options combine = {};

    context where(const communicator& comm) const { return {comm, regions}; }

    template <item_type T>
    array_options<T> options(overwrite equal_writes = overwrite::any) const {
        array_options<T> result;
        result.route = route;
        result.combine = combine;
        result.transport = transport;
        result.equal_writes = equal_writes;
        return result;
    }
};

/// @brief `plain`, and every route with every strategy.
inline std::vector<array_variant> variants_of_any_operation(rank_t num_ranks) {
    const auto regions = topology::from_string("cyclic:1x" + std::to_string(num_ranks));
    std::vector<array_variant> result{{"plain", regions, array_transport::plain}};
    for (const auto& route_name : conformance_routes()) {
        for (const auto& one : registered_combining()) {
            result.push_back({route_name + " " + one.name,
                              regions,
                              array_transport::routed,
                              route_name,
                              {one.strategy, true, true}});
        }
    }
    for (const bool locally : {false, true}) {
        for (const auto strategy : {combining::sort, combining::envelope_hash}) {
            result.push_back(
                {"hypercube " + to_string(strategy) + (locally ? " locally" : " on the way"),
                 regions,
                 array_transport::routed,
                 "hypercube",
                 {strategy, locally, !locally}});
        }
    }
    return result;
}

/// @brief A few of each transport, where all would take long.
inline std::vector<array_variant> few_variants(rank_t num_ranks) {
    const auto regions = topology::one_region(num_ranks);
    const auto routed = array_transport::routed;
    return {{"plain", regions, array_transport::plain},
            {"rma", regions, array_transport::rma},
            {"direct none", regions, routed, "direct", {combining::none, true, true}},
            {"hypercube sort", regions, routed, "hypercube", {combining::sort, true, true}},
            {"grid:2 hash", regions, routed, "grid:2", {combining::hash, false, true}},
            {"grid:3 envelope_sort",
             regions,
             routed,
             "grid:3",
             {combining::envelope_sort, true, true}}};
}

/// @brief Of those, which write by any rule: all but `rma`.
inline std::vector<array_variant> few_variants_of_any_operation(rank_t num_ranks) {
    auto result = few_variants(num_ranks);
    std::erase_if(result,
                  [](const auto& variant) { return variant.transport == array_transport::rma; });
    return result;
}

/// @brief One rank's requests that bring values.
template <class T>
struct changes {
    std::vector<count_t> indices;
    std::vector<T> values;
};

/// @brief Up to `most` requests of every rank, known to all; half of them for the first four entries.
template <class T, class MakeValue>
std::vector<changes<T>> draw_changes(rank_t num_ranks, count_t num_entries, std::uint64_t seed,
                                     std::uint64_t most, MakeValue&& make_value) {
    std::mt19937_64 draw(seed);
    std::vector<changes<T>> all(static_cast<std::size_t>(num_ranks));
    for (auto& own : all) {
        const auto count = num_entries > 0 ? draw() % (most + 1) : 0;
        for (std::uint64_t k = 0; k < count; ++k) {
            const auto index = draw() % static_cast<std::uint64_t>(num_entries);
            own.indices.push_back(static_cast<count_t>(k % 2 == 0 ? index % 4 : index));
            own.values.push_back(make_value(draw()));
        }
    }
    return all;
}

/// @brief Calls `use(index, value)` for all changes by rank, then in the rank's order.
template <class T, class Use>
void for_each_change(const std::vector<changes<T>>& all, Use&& use) {
    for (const auto& list : all) {
        for (std::size_t k = 0; k < list.indices.size(); ++k)
            use(static_cast<std::size_t>(list.indices[k]), list.values[k]);
    }
}

/// @brief Calls `use(array)` for an array of each variant.
template <class T, class Use>
void with_arrays(const communicator& comm, const std::vector<array_variant>& variants,
                 count_t num_entries, Use&& use) {
    for (const auto& variant : variants) {
        SCOPED_TRACE(variant.name);
        distributed_array<T> a(variant.where(comm), num_entries, variant.options<T>());
        use(a);
        a.close();
    }
}

/// @brief All entries, on every rank.
template <item_type T>
std::vector<T> read_all(distributed_array<T>& a) {
    std::vector<count_t> indices;
    for (count_t index = 0; index < a.size(); ++index) indices.push_back(index);
    std::vector<T> result(indices.size());
    a.read(indices, std::span<T>(result));
    return result;
}

/// @brief Bytes without padding, so that values can be compared.
struct link {
    double weight;
    std::int64_t id;
    std::int64_t color;
    friend bool operator==(const link&, const link&) = default;
};
static_assert(sizeof(link) == 24);

/// @brief The lighter of two links, and of equally light ones that with the smaller id.
struct lighter {
    link operator()(const link& a, const link& b) const noexcept {
        if (a.weight != b.weight) return a.weight < b.weight ? a : b;
        return a.id < b.id ? a : b;
    }
};

}  // namespace crossdock::test
