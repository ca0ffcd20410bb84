#include "verbs/bench_neighbor.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

#include "bench/common/all_ranks.hpp"
#include "bench/neighbor/amg.hpp"
#include "bench/neighbor/amg_matrix.hpp"
#include "src/neighbor/automatic_route.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/number_range.hpp"
#include "tools/crossdock/route_names.hpp"
#include "tools/inputs/hierarchy.hpp"

namespace crossdock::tool {

namespace {

std::vector<std::string> baseline_names() {
    std::vector<std::string> names;
    for (const auto& baseline : bench::baselines()) names.push_back(baseline.name);
    return names;
}

std::vector<bench::entrant> entrants(const neighbor_options& options,
                                     const std::vector<std::string>& routes) {
    crossdock::neighbor_options how;
    std::vector<bench::entrant> all;
    for (const auto& baseline : asked_baselines(options))
        if (baseline.obstacle.empty()) all.push_back(baseline);
    for (const auto& file : options.peers)
        std::ranges::move(bench::peers_of(file), std::back_inserter(all));
    for (const auto& route : routes) {
        for (const bool deduplicate : {false, true}) {
            how.deduplicate = deduplicate;
            for (const auto& executor : options.executors) {
                how.executor = executor;
                all.push_back(bench::crossdock_route(route, how));
            }
        }
    }
    return all;
}

// A contest on every level, if there are several, and one on all of them together.
neighbor_result contest(const context& where, std::span<const bench::share> parts,
                        const std::vector<bench::entrant>& entrants,
                        const neighbor_options& options) {
    neighbor_result found;
    const bool has_levels = options.is_amg || is_hierarchy(options.input.file);
    for (std::size_t level = 0; has_levels && level < parts.size(); ++level) {
        const auto part = parts.subspan(level, 1);
        const auto num_rows = static_cast<count_t>(part.front().item_columns.size());
        found.levels.push_back({bench::sum_over_ranks(where, {num_rows})[0],
                                bench::contest(where, part, entrants, options.contest)});
    }
    auto together = options.contest;
    together.has_overlap = together.has_overlap && parts.size() == 1;
    found.standings = bench::contest(where, parts, entrants, together);
    return found;
}

std::vector<bench::share> distribute_amg(const communicator& comm, const topology& regions,
                                         const bench_input& input) {
    if (const auto obstacle = bench::amg_obstacle(); !obstacle.empty())
        throw error(errc::invalid_argument, "--amg: " + obstacle);
    const auto finest = on_all_or_none(comm, [&] {
        if (comm.rank() != 0) return workload();
        return bench::make_amg_matrix(load_workload(input.file, input.partition, regions));
    });
    auto levels = bench::make_amg_levels(comm, finest);
    return bench::distribute(comm, [&] { return std::move(levels); });
}

int run(const neighbor_options& options) {
    return on_all_ranks(
        [&](const communicator& comm) {
            const auto& input = options.input;
            const auto regions = topology_of(comm, input.topology_text);
            const auto routes = expand_routes(options.routes);
            on_all_or_none(comm, [&] {
                for (const auto& route : routes) {
                    if (!is_automatic(route)) static_cast<void>(make_route(route, regions));
                }
            });
            const auto parts = options.is_amg
                                   ? distribute_amg(comm, regions, input)
                                   : bench::distribute(comm, [&] {
                                         return load_levels(input.file, input.partition, regions);
                                     });
            if (options.contest.has_progress_thread) comm.start_progress_thread();
            context where(comm, regions);
            if (!options.nodes_text.empty())
                where =
                    where.with_nodes(topology::from_string(options.nodes_text, comm.num_ranks()));
            const auto all = on_all_or_none(comm, [&] { return entrants(options, routes); });
            const auto found = contest(where, parts, all, options);
            if (comm.rank() == 0)
                (options.as_json ? print_neighbor_json : print_neighbor_tables)(options, regions,
                                                                                found);
            return exit_code(found.standings);
        },
        options.contest.has_progress_thread ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
}

void choose_items(neighbor_options& options) {
    if (options.num_values != 0) options.contest.item_bytes = options.num_values * sizeof(double);
    if (options.direction == "forward") return;
    options.contest.way = bench::direction::reverse;
    if (options.contest.item_bytes % sizeof(double) != 0)
        throw CLI::ValidationError(
            "--item-bytes", "reverse adds doubles, so an item must be a multiple of 8 bytes");
}

void check_peers(const neighbor_options& options) {
    const auto& contest = options.contest;
    if (!options.peers.empty() &&
        (options.direction != "forward" || contest.item_bytes != sizeof(double)))
        throw CLI::ValidationError("--peers",
                                   "peers need items of 8 bytes and the direction forward");
}

void check_product(const neighbor_options& options) {
    if (!options.contest.has_product) return;
    if (options.direction != "forward" || options.contest.item_bytes != sizeof(double))
        throw CLI::ValidationError("--product",
                                   "the product needs items of 8 bytes and the direction forward");
    if (is_hierarchy(options.input.file))
        throw CLI::ValidationError(
            "--product",
            "a recorded hierarchy has no matrices to multiply with; name a Matrix Market file");
}

}  // namespace

std::vector<bench::entrant> asked_baselines(const neighbor_options& options) {
    std::vector<bench::entrant> asked;
    for (const auto& name : options.baselines) {
        for (const auto& baseline : bench::baselines())
            if (baseline.name == name) asked.push_back(baseline);
    }
    return asked;
}

void add_bench_neighbor(CLI::App& verb, action& chosen) {
    auto options = std::make_shared<neighbor_options>();
    auto* neighbor = verb.add_subcommand("neighbor",
                                         "Time the halo of y = A x by every route, by hand-written "
                                         "MPI, by MPI's collectives, and by PETSc");
    add_input(*neighbor, options->input,
              "every rank sends K items to every other, the same K to all ranks of a region; or "
              "random:K: every rank needs an item from each of K others; or amg:FOLDER[:LEVEL]: a "
              "multigrid hierarchy");
    neighbor->add_flag(
        "--amg", options->is_amg,
        "Set up hypre's BoomerAMG on FILE, through PETSc, and time the exchanges of all levels");
    neighbor
        ->add_option("--direction", options->direction,
                     "forward: items are copied into slots; reverse: slots, of doubles, are added "
                     "to items")
        ->check(CLI::IsMember({"forward", "reverse"}))
        ->capture_default_str();
    options->baselines = baseline_names();
    neighbor
        ->add_option("--baselines", options->baselines,
                     "What the library is compared with, separated by commas")
        ->delimiter(',')
        ->check(CLI::IsMember(baseline_names()))
        ->capture_default_str();
    neighbor
        ->add_option("--peers", options->peers,
                     "Shared objects that bench/peers/build made, of other libraries to compare "
                     "with, separated by commas")
        ->delimiter(',');
    neighbor
        ->add_option("--routes", options->routes,
                     routes_help() + "; auto, auto:measure: chosen by the library")
        ->delimiter(',');
    neighbor->add_option("--executors", options->executors, "How plans run, separated by commas")
        ->delimiter(',')
        ->check(CLI::IsMember({"auto", "persistent", "shared_memory"}))
        ->capture_default_str();
    neighbor->add_option("--nodes", options->nodes_text,
                         "Which ranks may share memory, written as for --topology");
    auto& contest = options->contest;
    add_count(*neighbor, "--iterations", contest.iterations, "Timed exchanges of every contender",
              1);
    add_count(*neighbor, "--in-a-row", contest.in_a_row,
              "Exchanges in a row in each iteration; its time is their mean", 1);
    add_count(*neighbor, "--warm-ups", contest.warm_ups, "Exchanges before the timed ones", 0);
    add_count(*neighbor, "--set-ups", contest.setups, "Timed set-ups of every contender", 1);
    auto* item_bytes =
        add_count(*neighbor, "--item-bytes", contest.item_bytes, "Bytes of an item", 1);
    neighbor
        ->add_option("--values", options->num_values,
                     "Values of 8 bytes in an item, as for several right-hand sides")
        ->check(in_range(1, 100'000'000))
        ->excludes(item_bytes);
    neighbor->add_flag("--overlap", contest.has_overlap,
                       "Also compute between start and wait, about as long as the exchange takes");
    neighbor->add_flag("--progress-thread", contest.has_progress_thread,
                       "Have a thread make progress; nobody tests while it computes");
    neighbor->add_flag("--product", contest.has_product,
                       "Also time y = A x: the exchange and then the product of each rank's rows");
    neighbor->add_flag("--json", options->as_json, "Print JSON");
    neighbor->callback([options, &chosen] {
        choose_items(*options);
        check_peers(*options);
        check_product(*options);
        chosen = [options] { return run(*options); };
    });
}

}  // namespace crossdock::tool
