// The halos of matrices over virtual topologies of one to lg P dimensions.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "crossdock/plan.hpp"
#include "satellites/studies/drawn_patterns.hpp"
#include "satellites/studies/link_loads.hpp"
#include "satellites/studies/placed_grid.hpp"
#include "satellites/studies/print_record.hpp"
#include "satellites/studies/replay.hpp"
#include "satellites/studies/store_and_forward.hpp"
#include "tools/inputs/workload.hpp"

namespace {

using namespace crossdock;
using nlohmann::json;

struct study_options {
    std::vector<std::string> files;
    rank_t num_ranks = 0;
    rank_t node_size = 16;
    std::vector<std::string> machine_names;
    std::vector<rank_t> dimensions;
    count_t item_bytes = 8;
    std::string partition = "metis";
    std::string cache;
    std::optional<double> submessage_seconds;
    std::optional<double> nonzero_seconds;
    bool maps = false;
    bench::network network;  // without sizes: no loads of links are counted
    std::vector<rank_t> rows;
};

bool is_drawn(const std::string& file) { return file.starts_with("drawn:"); }

// The matrix's name is its file's, without folder and endings.
std::string name_of(const std::string& file) {
    if (is_drawn(file)) return "drawn";
    const auto name = std::filesystem::path(file).filename().string();
    return name.substr(0, name.find('.'));
}

std::string cached_owners(const std::string& file, const study_options& options) {
    return fmt::format("{}/{}-{}-{}.txt", options.cache, name_of(file), options.partition,
                       options.num_ranks);
}

void write_owners(const std::string& path, const partition& owners) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (!file) throw error(errc::file_error, path + " cannot be written");
    for (const rank_t owner : owners.row_owner) fmt::print(file, "{}\n", owner);
    std::fclose(file);
}

// METIS takes minutes for many parts.
workload load(const std::string& file, const study_options& options, const topology& regions) {
    if (options.cache.empty()) return load_workload(file, options.partition, regions);
    const auto path = cached_owners(file, options);
    if (std::filesystem::exists(path)) return load_workload(file, "file:" + path, regions);
    auto work = load_workload(file, options.partition, regions);
    if (work.matrix.num_rows != work.matrix.num_columns)
        throw error(errc::size_mismatch, file + " is not square");
    write_owners(path, work.owners);
    return work;
}

// One dimension is direct, and lg P of them are the hypercube.
std::vector<std::string> routes_for(const study_options& options) {
    const auto most =
        static_cast<rank_t>(std::bit_width(static_cast<unsigned>(options.num_ranks)) - 1);
    auto dimensions = options.dimensions;
    for (rank_t n = 2; options.dimensions.empty() && n <= most; ++n) dimensions.push_back(n);
    std::vector<std::string> routes{"direct"};
    for (const rank_t n : dimensions)
        routes.push_back(n == most ? "hypercube" : fmt::format("grid:{}", n));
    return routes;
}

// What is exchanged, how many rows it is of, and what each rank then multiplies by; drawn patterns are of no matrix.
struct exchange {
    std::vector<pattern> patterns;
    count_t rows = 0;
    std::vector<count_t> nonzeros;
};

std::vector<count_t> nonzeros_of_ranks(const workload& work) {
    std::vector<count_t> nonzeros(static_cast<std::size_t>(work.owners.num_ranks));
    for (count_t row = 0; row < work.matrix.num_rows; ++row) {
        const auto owner = work.owners.row_owner[static_cast<std::size_t>(row)];
        nonzeros[static_cast<std::size_t>(owner)] += std::ssize(work.matrix.row(row));
    }
    return nonzeros;
}

exchange exchange_of(const std::string& file, const study_options& options,
                     const topology& regions) {
    if (is_drawn(file))
        return {bench::draw_patterns(options.num_ranks, bench::parse_drawn_counts(file)), 0, {}};
    exchange result;
    const auto work = load(file, options, regions);
    result.rows = work.matrix.num_rows;
    result.nonzeros = nonzeros_of_ranks(work);
    for (auto& rank : halos_from_matrix(work.matrix, work.owners))
        result.patterns.push_back(std::move(rank.exchange));
    return result;
}

// The slowest rank's product: each multiplies when its part of the exchange is complete.
double product_seconds(const rank_layout& layout, const schedule& work, const machine& m,
                       const exchange& what, double nonzero_seconds) {
    auto seconds = bench::finish_seconds(layout, work, m);
    for (std::size_t rank = 0; rank < seconds.size(); ++rank)
        seconds[rank] += static_cast<double>(what.nonzeros[rank]) * nonzero_seconds;
    return *std::ranges::max_element(seconds);
}

// As the study runs it: moving a submessage takes a time of its own, moving its items takes that of
// their bytes.
void add_stored_and_forwarded(json& times, const rank_layout& layout, const exchange& what,
                              const route& way, machine m, const study_options& options) {
    m.copy_seconds_per_item = *options.submessage_seconds;
    const bench::submessage_costs costs{.item_bytes = options.item_bytes};
    const auto work = bench::store_and_forward(what.patterns, way, costs);
    times["stored_and_forwarded_seconds"] = bench::simulated_seconds(layout, work, m);
    if (options.nonzero_seconds) {
        times["stored_and_forwarded_product_seconds"] =
            product_seconds(layout, work, m, what, *options.nonzero_seconds);
    }
}

json route_json(const std::string& name, const rank_layout& layout, const exchange& what,
                const std::vector<machine>& machines, const study_options& options) {
    const auto& regions = layout.regions();
    const auto way = make_route(name, regions);
    json result{{"route", name}, {"dimensions", way->num_stages()}};
    result["most_messages"] = way->max_messages_per_rank();
    const auto plans = compile(regions, what.patterns, *way, {.deduplicate = false});
    result["sent"] = bench::to_json(bench::count(regions, plans));
    std::vector<count_t> at_once;
    for (const auto& p : plans) at_once.push_back(bench::items_at_once(p));
    result["sent"]["items_at_once"] = bench::to_json(summarize(at_once));
    for (const auto& m : machines) {
        auto& times = result["times"][m.name];
        const travel_options travel{options.item_bytes, false};
        times = bench::times(layout, plans, m, travel);
        if (options.nonzero_seconds) {
            times["product_seconds"] = product_seconds(layout, schedule_of(layout, plans, travel),
                                                       m, what, *options.nonzero_seconds);
        }
        if (options.submessage_seconds && way->num_stages() > 1)
            add_stored_and_forwarded(times, layout, what, *way, m, options);
    }
    if (!options.network.sizes.empty()) {
        const auto work =
            way->num_stages() > 1
                ? bench::store_and_forward(what.patterns, *way, {.item_bytes = options.item_bytes})
                : schedule_of(layout, plans, {options.item_bytes, false});
        result["link_bytes"] = bench::most_link_bytes(work, regions, options.network);
    }
    return result;
}

// To how many others ranks send, from the one that sends to fewest on.
json partners_json(const std::vector<pattern>& patterns) {
    std::vector<std::size_t> partners;
    for (const auto& one : patterns) partners.push_back(one.sends.size());
    std::ranges::sort(partners);
    const auto at = [&](std::size_t percent) {
        return partners[(partners.size() - 1) * percent / 100];
    };
    return {{"least", at(0)},           {"lower_quartile", at(25)}, {"median", at(50)},
            {"upper_quartile", at(75)}, {"percentile_95", at(95)},  {"most", at(100)}};
}

// No places can make ranks send fewer: each rank's partners with the most items, both ways, are the
// nearest. All places see equally many others at every distance.
count_t least_items(const route& way, const std::vector<pattern>& patterns) {
    const auto num_ranks = static_cast<rank_t>(patterns.size());
    std::vector<count_t> distances;
    for (rank_t rank = 1; rank < num_ranks; ++rank) distances.push_back(count_hops(way, 0, rank));
    std::ranges::sort(distances);
    std::vector<std::map<rank_t, count_t>> partners(patterns.size());
    for (const auto& p : patterns) {
        for (std::size_t e = 0; e < p.sends.size(); ++e) {
            const rank_t other = p.sends.ranks[e];
            if (other == p.rank) continue;
            partners[static_cast<std::size_t>(p.rank)][other] += std::ssize(p.sends[e]);
            partners[static_cast<std::size_t>(other)][p.rank] += std::ssize(p.sends[e]);
        }
    }
    count_t both_ways = 0;
    for (const auto& of_rank : partners) {
        std::vector<count_t> items;
        for (const auto& [other, num_items] : of_rank) items.push_back(num_items);
        std::ranges::sort(items, std::greater());
        for (std::size_t i = 0; i < items.size(); ++i) both_ways += items[i] * distances[i];
    }
    return both_ways / 2;
}

// With places that suit the traffic: those of a node stay together, or all ranks exchange places.
json mapped_json(const std::string& name, const rank_layout& layout, const exchange& what,
                 const std::vector<machine>& machines, const study_options& options) {
    const auto& nodes = layout.regions();
    json result{{"least_items", least_items(*make_route(name, nodes), what.patterns)}};
    for (const auto& [who, regions] :
         {std::pair{"inside_nodes", nodes},
          std::pair{"everywhere", topology::one_region(nodes.num_ranks())}}) {
        const auto grid = make_route(name, regions);
        const auto placed = place_ranks(
            regions, what.patterns, dynamic_cast<const grid_route&>(*grid), {.deduplicate = false});
        const auto plans =
            compile(regions, what.patterns, placed ? *placed : *grid, {.deduplicate = false});
        auto& one = result[who];
        one["sent"] = bench::to_json(bench::count(nodes, plans));
        for (const auto& m : machines)
            one["times"][m.name] = bench::times(layout, plans, m, {options.item_bytes, false});
    }
    return result;
}

json matrix_json(const std::string& file, const study_options& options, const rank_layout& layout,
                 const std::vector<machine>& machines) {
    const auto what = exchange_of(file, options, layout.regions());
    json result{{"matrix", name_of(file)}, {"rows", what.rows}};
    if (options.nonzero_seconds) {
        if (what.nonzeros.empty())
            throw error(errc::invalid_argument, file + " is of no matrix to multiply by");
        result["nonzeros"] = bench::to_json(summarize(what.nonzeros));
        result["partners"] = partners_json(what.patterns);
    }
    result["routes"] = json::array();
    for (const auto& name : routes_for(options)) {
        auto& route =
            result["routes"].emplace_back(route_json(name, layout, what, machines, options));
        if (options.maps && name != "direct")
            route["mapped"] = mapped_json(name, layout, what, machines, options);
    }
    fmt::print(stderr, "{} on {} ranks\n", name_of(file), options.num_ranks);
    return result;
}

json run(const study_options& options) {
    if (options.num_ranks % options.node_size != 0)
        throw error(errc::invalid_argument, "the ranks do not fill the nodes");
    const rank_layout layout(topology::from_string(
        fmt::format("{}x{}", options.num_ranks / options.node_size, options.node_size)));
    std::vector<machine> machines;
    for (const auto& name : options.machine_names) machines.push_back(load_machine(name));
    json matrices = json::array();
    for (const auto& file : options.files)
        matrices.push_back(matrix_json(file, options, layout, machines));
    return {{"ranks", options.num_ranks},
            {"node_size", options.node_size},
            {"partition", options.partition},
            {"item_bytes", options.item_bytes},
            {"matrices", std::move(matrices)}};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Counts and simulates the halos of square matrices over grids; prints JSON");
    study_options options;
    app.add_option("FILE", options.files,
                   "Matrix Market files, or drawn:... as in drawn_patterns.hpp")
        ->required();
    app.add_option("--ranks", options.num_ranks, "A power of two")
        ->required()
        ->check(CLI::Range(2, 1 << 20));
    app.add_option("--node-size", options.node_size, "Ranks of a node")->capture_default_str();
    app.add_option("--machines", options.machine_names, "Presets or files; none: only count")
        ->delimiter(',');
    app.add_option("--dimensions", options.dimensions, "Besides direct; all if none is given")
        ->delimiter(',');
    app.add_option("--item-bytes", options.item_bytes, "Bytes of an item")->capture_default_str();
    app.add_option("--partition", options.partition, "block | metis | metis:entries | random:SEED")
        ->capture_default_str();
    app.add_option("--cache", options.cache, "Folder that partitions are kept in");
    app.add_option(
           "--submessage-seconds", options.submessage_seconds,
           "Simulate also the study's own algorithm, which takes so long to move a submessage")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--nonzero-seconds", options.nonzero_seconds,
                   "Time also the product: a rank takes so long for each nonzero of its rows")
        ->check(CLI::NonNegativeNumber);
    auto* const torus =
        app.add_option("--torus", options.network.sizes,
                       "Count also the bytes on links of such a torus, with the study's algorithm")
            ->delimiter(',');
    app.add_option("--rows", options.rows,
                   "Likewise where a router has links to all others of its row in each dimension")
        ->delimiter(',')
        ->excludes(torus);
    app.add_option("--router-nodes", options.network.router_nodes, "Nodes of a router")
        ->capture_default_str();
    app.add_flag("--mapped", options.maps, "Also with places that suit the traffic");
    CLI11_PARSE(app, argc, argv);
    if (!options.rows.empty())
        options.network = {false, options.network.router_nodes, options.rows};
    return bench::print_record([&] { return run(options); });
}
