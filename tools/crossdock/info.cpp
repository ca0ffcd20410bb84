#include <memory>
#include <string>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/discover_topology.hpp"
#include "crossdock/route.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/statistics_json.hpp"
#include "tools/crossdock/table.hpp"
#include "tools/crossdock/verbs.hpp"

namespace crossdock::tool {

namespace {

struct info_options {
    std::string level = "node";
    std::string topology_text;
    bool as_json = false;
};

topology find_topology(const info_options& options, const communicator& comm) {
    // A lone process may look at the topology of any machine.
    if (!options.topology_text.empty() && comm.num_ranks() == 1)
        return topology::from_string(options.topology_text);
    if (!options.topology_text.empty()) return topology_of(comm, options.topology_text);
    const auto level = on_all_or_none(comm, [&] { return parse_locality(options.level); });
    return discover_topology(comm, level);
}

std::vector<route_description> routes_and_named_grids() {
    auto routes = registered_routes();
    routes.insert(routes.end(), named_grids().begin(), named_grids().end());
    return routes;
}

void print_json(const info_options& options, const topology& regions, rank_t num_processes) {
    json routes = json::array();
    for (const auto& entry : routes_and_named_grids()) {
        routes.push_back(
            {{"name", entry.name}, {"example", entry.example}, {"summary", entry.summary}});
    }
    json sizes = json::array();
    for (region_t region = 0; region < regions.num_regions(); ++region)
        sizes.push_back(regions.region_size(region));
    const json document{
        {"schema", "crossdock.info/1"},
        {"version", CROSSDOCK_VERSION},
        {"configuration", json::parse(configuration())},
        {"mpi", {{"library", mpi_version()}, {"ranks", num_processes}}},
        {"topology",
         {{"text", regions.to_string()},
          {"level", options.topology_text.empty() ? json(options.level) : json(nullptr)},
          {"ranks", regions.num_ranks()},
          {"regions", regions.num_regions()},
          {"region_sizes", std::move(sizes)}}},
        {"routes", std::move(routes)}};
    print(document);
}

void print_table(const info_options& options, const topology& regions, rank_t num_processes) {
    const auto all = json::parse(configuration());
    const auto& build = all["build"];
    std::vector<std::string> parts;
    for (const auto& [part, is_there] : build["with"].items())
        if (is_there) parts.push_back(part);
    tool::print("crossdock  {}, commit {}\n", CROSSDOCK_VERSION,
                all["commit"].is_null() ? "unknown" : all["commit"].get<std::string>());
    tool::print("built      {} by {}, {} libraries, with {}\n", build["type"].get<std::string>(),
                build["compiler"].get<std::string>(), build["shared"] ? "shared" : "static",
                fmt::join(parts, ", "));
    for (const auto& [part, reason] : build["without"].items())
        print("left out   {}, as {}\n", part, reason.get<std::string>());
    print("MPI        {}, built for standard {}, ranks: {}\n", mpi_version(),
          all["mpi"]["standard"].get<std::string>(), num_processes);
    print("topology   {} ({}), ranks: {}, regions: {}\n\n", regions.to_string(),
          options.topology_text.empty() ? "by " + options.level : "as given", regions.num_ranks(),
          regions.num_regions());
    table lines({"route", "for example"});
    for (const auto& entry : routes_and_named_grids()) lines.add({entry.name, entry.example});
    print("{}\n", lines.to_string());
    for (const auto& entry : routes_and_named_grids()) print("{}: {}\n", entry.name, entry.summary);
}

int run(const info_options& options) {
    return on_all_ranks([&](const communicator& comm) {
        const auto regions = find_topology(options, comm);
        if (comm.rank() == 0)
            options.as_json ? print_json(options, regions, comm.num_ranks())
                            : print_table(options, regions, comm.num_ranks());
        return 0;
    });
}

}  // namespace

void add_info(CLI::App& app, action& chosen) {
    auto options = std::make_shared<info_options>();
    auto* verb = add_verb(app, "info");
    auto* level =
        verb->add_option("--level", options->level, "What a region is: node | socket | numa | l3")
            ->capture_default_str();
    verb->add_option("--topology", options->topology_text,
                     "Show this topology instead: 4x16 | 16,16,8 | cyclic:4x16 | list:0,1,0,1")
        ->excludes(level);
    verb->add_flag("--json", options->as_json, "Print JSON");
    verb->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool
