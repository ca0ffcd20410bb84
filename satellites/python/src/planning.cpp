#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>

#include "crossdock/analysis.hpp"
#include "crossdock/block_partition.hpp"
#include "crossdock/core.hpp"
#include "crossdock/route_choice.hpp"
#include "support.hpp"
#include "tools/crossdock/plan_picture.hpp"

namespace crossdock::python {

namespace {

constexpr double seconds_per_picosecond = 1e-12;

std::vector<pattern> patterns_of(nb::handle given) {
    std::vector<pattern> all;
    for (const nb::handle one : nb::borrow<nb::iterable>(given))
        all.push_back(object_argument<pattern>(one, "a pattern", "a Pattern"));
    return all;
}

// The halos of y = A x for blocks of rows and columns, as equal as possible. Rows lie in compressed
// form.
std::vector<pattern> halos(rank_t num_ranks, count_t num_columns, std::span<const count_t> ends,
                           std::span<const count_t> columns) {
    const auto rows = block_partition::blocks(static_cast<count_t>(ends.size()) - 1, num_ranks);
    const auto owners = block_partition::blocks(num_columns, num_ranks);
    std::vector<pattern> all(static_cast<std::size_t>(num_ranks));
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        auto& mine = all[static_cast<std::size_t>(rank)];
        mine.rank = rank;
        mine.num_ranks = num_ranks;
        mine.num_items = owners.size(rank);
        const auto end_of = [&](count_t row) {
            return columns.begin() + ends[static_cast<std::size_t>(row)];
        };
        std::vector<count_t> ghosts(end_of(rows.first(rank)), end_of(rows.first(rank + 1)));
        std::erase_if(ghosts, [&](count_t column) { return owners.owner(column) == rank; });
        std::ranges::sort(ghosts);
        ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());
        mine.num_slots = static_cast<count_t>(ghosts.size());
        for (auto next = ghosts.begin(); next != ghosts.end();) {
            const rank_t owner = owners.owner(*next);
            const auto end = std::lower_bound(next, ghosts.end(), owners.first(owner + 1));
            std::vector<count_t> slots(static_cast<std::size_t>(end - next));
            std::vector<count_t> items(slots.size());
            for (std::size_t i = 0; i < slots.size(); ++i) {
                slots[i] = next - ghosts.begin() + static_cast<count_t>(i);
                items[i] = next[static_cast<std::ptrdiff_t>(i)] - owners.first(owner);
            }
            mine.receives.append(owner, slots);
            all[static_cast<std::size_t>(owner)].sends.append(rank, items);
            next = end;
        }
    }
    return all;
}

nb::list patterns_from_matrix(rank_t num_ranks, count_t num_columns, nb::handle row_ends,
                              nb::handle columns) {
    const auto ends = integers<count_t>(row_ends, "indptr");
    const auto indices = integers<count_t>(columns, "indices");
    if (num_ranks < 1)
        throw error(errc::invalid_argument,
                    "num_ranks is " + std::to_string(num_ranks) + "; the minimum is 1");
    const bool are_rows = !ends.empty() && ends.front() == 0 && std::ranges::is_sorted(ends) &&
                          ends.back() == static_cast<count_t>(indices.size());
    if (!are_rows)
        throw error(errc::size_mismatch,
                    "indptr does not divide the " + std::to_string(indices.size()) +
                        " indices into rows: it must begin with 0, never decrease and end with " +
                        std::to_string(indices.size()));
    for (const count_t column : indices) {
        if (column < 0 || column >= num_columns)
            throw error(errc::index_out_of_range, "column " + std::to_string(column) +
                                                      " is outside [0, " +
                                                      std::to_string(num_columns) + ")");
    }
    auto all = without_gil([&] { return halos(num_ranks, num_columns, ends, indices); });
    nb::list result;
    for (auto& one : all) result.append(nb::cast(std::move(one)));
    return result;
}

using summary_tuple = std::tuple<count_t, count_t, double>;

summary_tuple as_tuple(const summary& s) { return {s.total, s.max, s.mean}; }

std::vector<summary_tuple> as_tuples(const traffic_summary& t) {
    return {as_tuple(t.messages), as_tuple(t.items), as_tuple(t.inter_region_messages),
            as_tuple(t.inter_region_items)};
}

// The plans of all ranks, and what they were compiled from.
class plans_object {
  public:
    static std::unique_ptr<plans_object> make(const topology& regions, nb::handle patterns,
                                              const std::string& route, bool deduplicate) {
        auto result = std::make_unique<plans_object>(regions, patterns_of(patterns));
        without_gil([&] {
            const auto way = make_route(route, regions);
            result->plans_ = compile(regions, result->patterns_, *way, {deduplicate});
        });
        return result;
    }

    plans_object(topology regions, std::vector<pattern> patterns)
        : regions_(std::move(regions)), patterns_(std::move(patterns)) {}

    void prove() const {
        without_gil([&] { verify(plans_, patterns_); });
    }

    std::tuple<std::vector<std::vector<summary_tuple>>, std::vector<summary_tuple>, summary_tuple>
    statistics() const {
        const auto counted = without_gil([&] { return analyze(regions_, plans_); });
        std::vector<std::vector<summary_tuple>> stages;
        for (const auto& stage : counted.stages) stages.push_back(as_tuples(stage));
        return {std::move(stages), as_tuples(counted.total), as_tuple(counted.buffer_items)};
    }

    // When each rank is done, and what all spend their time on: copying, messages by how far they go, waiting.
    std::tuple<nb::object, double, double, double, double, double> simulated(
        const std::string& machine_name, count_t item_bytes, bool shares_memory,
        double mean_noise_seconds, std::uint64_t seed) const {
        if (item_bytes < 1)
            throw error(errc::invalid_argument,
                        "item_bytes is " + std::to_string(item_bytes) + "; the minimum is 1");
        if (!(mean_noise_seconds >= 0 && mean_noise_seconds < 1e6))
            throw error(errc::invalid_argument, "the mean noise is not between 0 and 10^6 seconds");
        const auto result = without_gil([&] {
            const rank_layout layout(regions_);
            simulation_options options;
            options.mean_noise =
                static_cast<picoseconds>(mean_noise_seconds / seconds_per_picosecond);
            options.seed = seed;
            const auto operations = schedule_of(layout, plans_, {item_bytes, shares_memory});
            return simulate(layout, operations, load_machine(machine_name), options);
        });
        const std::vector<count_t> finish(result.finish.begin(), result.finish.end());
        const auto& shares = result.shares;
        const auto seconds_of = [&](locality_level level) {
            return shares.by_level[static_cast<std::size_t>(level)] * seconds_per_picosecond;
        };
        return {array_of<count_t>(finish),
                shares.copying * seconds_per_picosecond + seconds_of(locality_level::self),
                seconds_of(locality_level::region),
                seconds_of(locality_level::node),
                seconds_of(locality_level::network),
                shares.idle * seconds_per_picosecond};
    }

    // What is drawn of them, as JSON.
    std::string picture() const {
        return without_gil([&] { return tool::plan_picture(regions_, plans_).dump(); });
    }

    std::string text(std::size_t rank) const { return to_string(at(rank)); }
    std::string json(std::size_t rank) const { return to_json(at(rank)); }
    std::size_t size() const noexcept { return plans_.size(); }

  private:
    const plan& at(std::size_t rank) const {
        if (rank >= plans_.size())
            throw error(errc::rank_out_of_range, "rank " + std::to_string(rank) +
                                                     " is outside [0, " +
                                                     std::to_string(plans_.size()) + ")");
        return plans_[rank];
    }

    topology regions_;
    std::vector<pattern> patterns_;
    std::vector<plan> plans_;
};

std::vector<std::tuple<std::string, double, std::string>> estimates(const topology& regions,
                                                                    nb::handle patterns,
                                                                    const std::string& machine_name,
                                                                    count_t item_bytes,
                                                                    bool shares_memory) {
    if (item_bytes < 1)
        throw error(errc::invalid_argument,
                    "item_bytes is " + std::to_string(item_bytes) + "; the minimum is 1");
    const auto all = patterns_of(patterns);
    const auto choice = without_gil([&] {
        estimate_options options;
        options.travel.item_bytes = item_bytes;
        options.travel.shares_memory = shares_memory;
        return choose_route(rank_layout(regions), all, load_machine(machine_name), options);
    });
    std::vector<std::tuple<std::string, double, std::string>> result;
    for (const auto& one : choice.candidates)
        result.emplace_back(one.route, one.seconds, one.dominating_term);
    return result;
}

}  // namespace

void bind_planning(nb::module_& module) {
    module.def("patterns_from_matrix", &patterns_from_matrix);
    module.def("estimates", &estimates);
    module.def("routes", [] {
        nb::dict result;
        for (const auto& one : registered_routes()) result[one.example.c_str()] = one.summary;
        return result;
    });
    module.def("machines", [] {
        nb::dict result;
        for (const auto& one : machine_presets()) result[one.name.c_str()] = one.description;
        return result;
    });
    nb::class_<plans_object>(module, "Plans")
        .def_static("make", &plans_object::make)
        .def("verify", &plans_object::prove)
        .def("statistics", &plans_object::statistics)
        .def("simulate", &plans_object::simulated)
        .def("picture", &plans_object::picture)
        .def("text", &plans_object::text)
        .def("json", &plans_object::json)
        .def("__len__", &plans_object::size);
}

}  // namespace crossdock::python
