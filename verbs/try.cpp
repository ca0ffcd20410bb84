#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bench/neighbor/contest.hpp"
#include "crossdock/discover_topology.hpp"
#include "src/base/environment_mpi.hpp"
#include "src/neighbor/automatic_route.hpp"
#include "tools/calibration/calibrate.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/cluster_estimate.hpp"
#include "tools/crossdock/number_range.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/pattern_input.hpp"
#include "tools/crossdock/project_files.hpp"
#include "tools/crossdock/try_advice.hpp"
#include "tools/crossdock/try_finding.hpp"
#include "tools/crossdock/try_page.hpp"
#include "tools/crossdock/verbs.hpp"
#include "tools/inputs/hierarchy.hpp"
#include "verbs/standing_json.hpp"

namespace crossdock::tool {

namespace {

constexpr int num_tried_routes = 3;

struct try_options {
    std::vector<std::string> files;  // none: the matrix that comes along
    std::string partition;
    std::string topology_text;
    std::string nodes_text;
    std::string machine;
    std::size_t item_bytes = 0;  // 0: what the file says
    double calibrate_seconds = 20;
    double seconds = 20;
    int iterations = 0;  // 0: as many as fit into `seconds`
    std::string output = "try.html";
    bool as_json = false;
};

// One exchange that is tried, as rank 0 knows it.
struct tried_pattern {
    std::string file;
    std::string partition;
    count_t item_bytes = 8;
};

void tell(const communicator& comm, const std::string& what) {
    if (comm.rank() == 0) report(what);
}

// The patterns of a drop-in's recordings, or the one file.
std::vector<std::string> files_of(const std::string& file) {
    namespace fs = std::filesystem;
    if (!fs::is_directory(file)) return {file};
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(file)) {
        if (default_partition(entry.path()) != "block") files.push_back(entry.path());
    }
    if (files.empty())
        throw error(errc::file_error,
                    file + " has no pattern, which is a file .mtx with its .owners");
    std::ranges::sort(files);
    return files;
}

std::vector<std::string> files_of(const try_options& options) {
    std::vector<std::string> all;
    for (const auto& file : options.files)
        std::ranges::copy(files_of(file), std::back_inserter(all));
    return all;
}

std::vector<workload> load(const try_options& options, const topology& regions,
                           std::vector<tried_pattern>& patterns) {
    std::vector<workload> works;
    for (const auto& file : files_of(options)) {
        const auto partition =
            options.partition.empty() ? default_partition(file) : options.partition;
        auto levels = load_levels(file, partition, regions);
        for (std::size_t level = 0; level < levels.size(); ++level) {
            patterns.push_back({levels.size() == 1 ? file : fmt::format("{}:{}", file, level),
                                partition,
                                options.item_bytes != 0 ? static_cast<count_t>(options.item_bytes)
                                                        : recorded_item_bytes(file)});
            works.push_back(std::move(levels[level]));
        }
    }
    return works;
}

topology nodes_of(const context& where) {
    return where.nodes() ? *where.nodes() : discover_topology(where.comm());
}

context calibrated(const context& where, double seconds) {
    tell(where, fmt::format("measures the machine, for about {} seconds", seconds));
    calibration_options how;
    how.seconds = seconds;
    how.description = fmt::format("{}, regions {}", mpi_version(), where.topology().to_string());
    return where.with_machine(
        calibrate(where, rank_layout(where.topology(), nodes_of(where)), how).found);
}

std::vector<bench::entrant> baselines_of_try() {
    std::vector<bench::entrant> chosen;
    for (auto& baseline : bench::baselines()) {
        if (baseline.name == "mpi_persistent" || baseline.name == "mpi_neighbor_alltoallv" ||
            baseline.name == "mpi_neighbor_alltoallv_init")
            chosen.push_back(std::move(baseline));
    }
    return chosen;
}

// MPI alone, direct, and the cheapest of the other routes.
std::vector<bench::entrant> entrants_of(const route_choice& choice) {
    std::vector<bench::entrant> entrants;
    for (auto& baseline : baselines_of_try())
        if (baseline.obstacle.empty()) entrants.push_back(std::move(baseline));
    entrants.push_back(bench::crossdock_route("direct", {}));
    int left = num_tried_routes;
    for (const auto& candidate : choice.candidates) {
        if (candidate.route == "direct" || left-- <= 0) continue;
        entrants.push_back(bench::crossdock_route(candidate.route, {}));
    }
    return entrants;
}

// As many rounds as fit into the time, after a few that say how long one takes.
bench::contest_options rounds_for(const context& where, std::span<const bench::share> part,
                                  const std::vector<bench::entrant>& entrants, double seconds,
                                  bench::contest_options how) {
    auto few = how;
    few.warm_ups = 1;
    few.iterations = 3;
    few.setups = 1;
    double round = 0;
    double setup = 0;
    for (const auto& one : bench::contest(where, part, entrants, few)) {
        round += one.exchange_seconds.median;
        setup += one.setup_seconds.median;
    }
    std::array<int, 2> rounds{static_cast<int>(std::clamp(0.8 * seconds / round, 10.0, 1000.0)),
                              static_cast<int>(std::clamp(0.2 * seconds / setup, 1.0, 5.0))};
    CROSSDOCK_MPI(MPI_Bcast(rounds.data(), 2, MPI_INT, 0, where.comm().get()));
    how.iterations = rounds[0];
    how.setups = rounds[1];
    return how;
}

count_t sum_of(const communicator& comm, count_t own) {
    count_t sum = 0;
    CROSSDOCK_MPI(MPI_Allreduce(&own, &sum, 1, MPI_INT64_T, MPI_SUM, comm.get()));
    return sum;
}

finding judge_standings(const std::vector<bench::standing>& standings, count_t num_messages) {
    std::vector<measured_contender> contenders;
    for (const auto& one : standings) {
        const auto& seconds = one.exchange_seconds;
        contenders.push_back({one.name, !one.executor.empty(), one.found.is_verified,
                              seconds.rounds, seconds.median, one.setup_seconds.median});
    }
    return judge(contenders, num_messages);
}

json finding_json(const finding& found) {
    return {{"outcome", to_string(found.found)},
            {"mpi", found.mpi},
            {"route", found.route},
            {"ratio", found.ratio.to_json()},
            {"exchanges_to_pay", found.exchanges_to_pay ? json(*found.exchanges_to_pay) : json()},
            {"text", found.text}};
}

// As it was measured; of a route that gains.
json advice_of(const finding& found, const context& where, const try_options& options,
               count_t item_bytes) {
    if (found.found != outcome::gain) return nullptr;
    const auto& known = where.comm().resource<environment>();
    const auto& executor = known.executor();
    return advice_json(
        {.route = found.route,
         .topology = options.topology_text.empty() ? known.topology() : options.topology_text,
         .nodes = options.nodes_text,
         .executor = executor == automatic_executor ? "" : executor,
         .item_bytes = item_bytes,
         .num_ranks = where.num_ranks()});
}

json left_out_json() {
    json left_out = json::array();
    for (const auto& baseline : baselines_of_try()) {
        if (!baseline.obstacle.empty())
            left_out.push_back({{"name", baseline.name}, {"reason", baseline.obstacle}});
    }
    return left_out;
}

json try_pattern(const context& where, const tried_pattern& about, const bench::share& part,
                 const try_options& options, double seconds) {
    bench::contest_options how;
    how.item_bytes = static_cast<std::size_t>(about.item_bytes);
    neighbor_options automatic;
    automatic.item_bytes = how.item_bytes;
    const auto choice = *resolve_route(where, part.exchange, automatic).choice;
    const auto entrants = entrants_of(choice);
    const std::span parts(&part, 1);
    how.iterations = options.iterations;
    if (options.iterations == 0) how = rounds_for(where, parts, entrants, seconds, how);
    const auto standings = bench::contest(where, parts, entrants, how);
    const auto num_messages =
        sum_of(where, bench::direct_traffic(where.topology(), part.exchange).messages);
    const auto found = judge_standings(standings, num_messages);
    return {{"file", about.file},
            {"partition", about.partition},
            {"item_bytes", about.item_bytes},
            {"warm_ups", how.warm_ups},
            {"iterations", how.iterations},
            {"setups", how.setups},
            {"choice", choice_json(choice)},
            {"contenders", contenders_json(standings)},
            {"left_out", left_out_json()},
            {"finding", finding_json(found)},
            {"advice", advice_of(found, where, options, about.item_bytes)}};
}

int count_hosts(const communicator& comm) {
    using host_name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
    host_name own{};
    int length = 0;
    CROSSDOCK_MPI(MPI_Get_processor_name(own.data(), &length));
    std::vector<host_name> all(comm.rank() == 0 ? static_cast<std::size_t>(comm.num_ranks()) : 0);
    CROSSDOCK_MPI(MPI_Gather(own.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all.data(),
                             MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0, comm.get()));
    return static_cast<int>(std::set(all.begin(), all.end()).size());
}

std::string cpu_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (const auto at = line.find(": "); line.starts_with("model name") && at != line.npos)
            return line.substr(at + 2);
    }
    return "unknown";
}

json warnings_of(const context& where, int num_hosts, int shared_cores) {
    json warnings = json::array();
    if (shared_cores > 0)
        warnings.push_back(
            fmt::format("{} ranks share {} cores: times differ where each rank has a core.",
                        where.num_ranks(), shared_cores));
    if (num_hosts == 1 && where.topology().num_regions() > 1)
        warnings.push_back(
            fmt::format("All ranks are on one machine, which the regions {} divide: no message "
                        "crosses a network.",
                        where.topology().to_string()));
    const std::string flags = CROSSDOCK_BUILD_FLAGS;
    if (flags.find("-O2") == flags.npos && flags.find("-O3") == flags.npos)
        warnings.push_back(fmt::format(
            "crossdock was built with \"{}\": the preset install gives better times.", flags));
    return warnings;
}

json document_head(const context& where, const try_options& options, bool is_calibrated) {
    const int num_hosts = count_hosts(where);
    std::optional<error> fault;
    const int shared_cores = count_shared_cores(where, fault);
    agree(where, fault);
    const auto nodes = nodes_of(where);
    return {{"schema", "crossdock.try/1"},
            {"version", CROSSDOCK_VERSION},
            {"file", fmt::format("{}", fmt::join(options.files, ", "))},
            {"mpi", mpi_version()},
            {"flags", CROSSDOCK_BUILD_FLAGS},
            {"cpu", cpu_name()},
            {"hosts", num_hosts},
            {"shared_cores", shared_cores > 0 ? json(shared_cores) : json()},
            {"ranks", where.num_ranks()},
            {"topology", where.topology().to_string()},
            {"regions", where.topology().num_regions()},
            {"nodes", nodes.to_string()},
            {"is_calibrated", is_calibrated},
            {"machine", json::parse(to_json(where.machine()))},
            {"warnings", warnings_of(where, num_hosts, shared_cores)}};
}

// One pattern's finding; of several how many gain, and the sentence of the one that gains most.
void add_conclusion(json& document) {
    const auto& patterns = document["patterns"];
    const auto is = [](const json& one, outcome which) {
        return one["finding"]["outcome"] == to_string(which);
    };
    const auto ratio = [](const json* one) {
        return (*one)["finding"]["ratio"]["median"].get<double>();
    };
    const json* shown = patterns.size() == 1 ? &patterns.front() : nullptr;
    std::vector<const json*> gains;
    std::size_t num_undecided = 0;
    for (const auto& one : patterns) {
        if (is(one, outcome::wrong)) shown = &one;
        if (is(one, outcome::gain)) gains.push_back(&one);
        if (is(one, outcome::undecided)) ++num_undecided;
    }
    std::string found = to_string(outcome::no_gain);
    std::string text =
        fmt::format("Nothing is gained in any of {} patterns: leave them to MPI.", patterns.size());
    if (num_undecided > 0) {
        found = to_string(outcome::undecided);
        text = fmt::format("Undecided in {} of {} patterns, and no gain in the others.",
                           num_undecided, patterns.size());
    }
    if (shown == nullptr && !gains.empty()) {
        shown = *std::ranges::min_element(gains, {}, ratio);
        text = fmt::format("There is a gain in {} of {} patterns, most in {}: ", gains.size(),
                           patterns.size(), (*shown)["file"].get<std::string>());
    } else if (shown != nullptr) {
        text.clear();
    }
    if (shown != nullptr) {
        found = (*shown)["finding"]["outcome"];
        text += (*shown)["finding"]["text"];
    }
    document["outcome"] = found;
    document["text"] = text;
}

// For every pattern, as rank 0 has the files; the last sentences of all.
void add_cluster_estimates(json& document) {
    for (auto& one : document["patterns"]) {
        const auto text = cluster_estimate(one["file"], one["partition"], one["item_bytes"]);
        one["cluster_estimate"] = text.empty() ? json() : json(text);
    }
}

void print_summary(const json& document, const output_file& page, bool is_page_printed) {
    auto text = document["text"].get<std::string>();
    for (const auto& warning : document["warnings"]) text += " " + warning.get<std::string>();
    if (is_page_printed) return report(text);
    print("{}\n", text);
    for (const auto& one : document["patterns"])
        if (!one["cluster_estimate"].is_null())
            print("{}\n", one["cluster_estimate"].get<std::string>());
    if (page.is_replaced()) print("{}\n", page.path());
}

std::unique_ptr<output_file> open_page(const try_options& options) {
    auto page = std::make_unique<output_file>(options.output);
    if (options.as_json && page->is_standard_output())
        throw error(errc::invalid_argument,
                    "standard output cannot have both the page and --json: name another -o");
    return page;
}

int run(const try_options& options) {
    // Routes are compared, whatever the environment says of them.
    for (const char* variable : {"CROSSDOCK_ROUTE", "CROSSDOCK_FORCE_ROUTE"}) ::unsetenv(variable);
    return on_all_ranks([&](const communicator& comm) {
        std::unique_ptr<output_file> page;
        on_all_or_none(comm, [&] {
            if (comm.rank() == 0) page = open_page(options);
        });
        context where(comm, {.topology = options.topology_text,
                             .nodes = options.nodes_text,
                             .machine = options.machine});
        std::vector<tried_pattern> patterns;
        const auto parts =
            bench::distribute(comm, [&] { return load(options, where.topology(), patterns); });
        patterns.resize(parts.size());
        for (auto& one : patterns)
            CROSSDOCK_MPI(MPI_Bcast(&one.item_bytes, 1, MPI_INT64_T, 0, comm.get()));
        const bool names_machine =
            !options.machine.empty() || !comm.resource<environment>().machine().empty();
        const bool is_calibrated = !names_machine && comm.num_ranks() > 1;
        if (is_calibrated) where = calibrated(where, options.calibrate_seconds);
        auto document = document_head(where, options, is_calibrated);
        bool is_right = true;
        for (std::size_t p = 0; p < parts.size(); ++p) {
            tell(comm, fmt::format("measures {}", patterns[p].file));
            document["patterns"].push_back(
                try_pattern(where, patterns[p], parts[p], options,
                            options.seconds / static_cast<double>(parts.size())));
            is_right = is_right && document["patterns"].back()["finding"]["outcome"] != "wrong";
        }
        add_conclusion(document);
        on_all_or_none(comm, [&] {
            if (comm.rank() != 0) return;
            add_cluster_estimates(document);
            const bool is_page_printed = page->is_standard_output();
            page->stream() << try_page(document);
            page->close();
            options.as_json ? print(document) : print_summary(document, *page, is_page_printed);
        });
        return is_right ? 0 : 1;
    });
}

}  // namespace

void add_try(CLI::App& app, action& chosen) {
    auto options = std::make_shared<try_options>();
    auto* verb = add_verb(app, "try");
    verb->add_option(
        "FILE", options->files,
        "Matrix Market files, plain or gzip; patterns that a program wrote, or folders of them; "
        "dense:K, random:K or amg:FOLDER; default: a matrix of the installation");
    verb->add_option("-o,--output", options->output, "The page")->capture_default_str();
    verb->add_option("--topology", options->topology_text,
                     "Regions: 4x16 | 16,16,8 | cyclic:4x16 | list:0,1,0,1; default: the nodes");
    verb->add_option("--nodes", options->nodes_text,
                     "Which ranks may share memory, written as for --topology");
    verb->add_option("--partition", options->partition,
                     "Who owns which rows: block | metis | metis:entries | random:SEED | FILE; "
                     "default: the .owners file of a pattern, or block");
    verb->add_option("--machine", options->machine,
                     "A preset or a file, instead of measuring this machine");
    verb->add_option("--item-bytes", options->item_bytes,
                     "Bytes of an item; default: those of the pattern's file, or 8")
        ->check(in_range(1, 1 << 20));
    verb->add_option("--calibrate-seconds", options->calibrate_seconds,
                     "About how long to measure the machine, in seconds")
        ->check(in_range(1e-3, 3600.0))
        ->capture_default_str();
    verb->add_option("--seconds", options->seconds,
                     "About how long to measure exchanges, in seconds")
        ->check(in_range(1e-3, 3600.0))
        ->capture_default_str();
    verb->add_option("--iterations", options->iterations,
                     "Timed exchanges of every contender, instead of --seconds")
        ->check(in_range(1, 1'000'000'000));
    verb->add_flag("--json", options->as_json, "Print JSON as well as the page");
    verb->callback([options, &chosen] {
        if (options->files.empty()) options->files = {demo_matrix().string()};
        chosen = [options] { return run(*options); };
    });
}

}  // namespace crossdock::tool
