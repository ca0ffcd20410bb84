#include <memory>
#include <optional>
#include <string>

#include "tools/calibration/calibrate.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/number_range.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/table.hpp"
#include "tools/crossdock/verbs.hpp"

namespace crossdock::tool {

namespace {

struct calibrate_options {
    std::string topology_text;
    std::string nodes_text;
    std::string output_file;
    std::string name = "calibrated";
    double seconds = 60;
};

void show_progress(const std::string& part, double share) {
    fmt::print(stderr, "{:3.0f} % {}\n", 100 * share, part);
    std::fflush(stderr);
}

void print_errors(const calibration& result) {
    table lines({"fitted", "samples", "median error"});
    for (const auto& one : result.errors) {
        lines.add({one.group, fmt::format("{}", one.num_samples),
                   fmt::format("{:.1f} %", 100 * one.relative_error)});
    }
    fmt::print(stderr, "{}", lines.to_string());
}

void warn_of_what_is_missing(const rank_layout& layout) {
    if (layout.num_ranks() == 1) {
        warn(
            "one rank sends no messages: what they cost is not measured, and assumed to be what a "
            "copy costs; start calibrate by mpirun, on two nodes at least");
    } else if (layout.nodes().num_regions() == 1) {
        warn(
            "all ranks are on one node: what messages between nodes cost is not measured, and "
            "assumed to be what messages inside cost; start calibrate on two nodes at least");
    }
}

void tell_how_to_use(const std::string& file) {
    fmt::print(stderr,
               "{0} describes this machine. To use it:\n"
               "    crossdock explain FILE --ranks P --topology NxM --machine {0}\n"
               "    CROSSDOCK_MACHINE={0} mpirun -n P program\n",
               file);
}

rank_layout layout_of(const communicator& comm, const calibrate_options& options) {
    auto regions = topology_of(comm, options.topology_text);
    auto nodes = topology_of(comm, options.nodes_text);
    return {std::move(regions), std::move(nodes)};
}

int run(const calibrate_options& options) {
    return on_all_ranks([&](const communicator& comm) {
        const auto layout = layout_of(comm, options);
        std::optional<output_file> file;
        on_all_or_none(comm, [&] {
            if (comm.rank() == 0 && !options.output_file.empty()) file.emplace(options.output_file);
        });
        if (comm.rank() == 0) warn_of_what_is_missing(layout);
        calibration_options how;
        how.seconds = options.seconds;
        how.name = options.name;
        how.description = fmt::format("{}, regions {}, nodes {}", mpi_version(),
                                      layout.regions().to_string(), layout.nodes().to_string());
        how.progress = show_progress;
        const auto result = calibrate(comm, layout, how);
        on_all_or_none(comm, [&] {
            if (comm.rank() != 0) return;
            print_errors(result);
            if (!file) return print("{}", to_json(result.found));
            file->stream() << to_json(result.found);
            file->close();
            tell_how_to_use(file->path());
            warn_of_what_is_missing(layout);
        });
        return 0;
    });
}

}  // namespace

void add_calibrate(CLI::App& app, action& chosen) {
    auto options = std::make_shared<calibrate_options>();
    auto* verb = add_verb(app, "calibrate");
    verb->add_option("--topology", options->topology_text,
                     "Regions: 4x16 | 16,16,8 | cyclic:4x16 | list:0,1,0,1; default: the nodes");
    verb->add_option("--nodes", options->nodes_text,
                     "Nodes, written as for --topology; default: the ranks that share memory");
    verb->add_option("-o,--output", options->output_file,
                     "Write the machine to this file, not to standard output");
    verb->add_option("--name", options->name, "Name of the machine")->capture_default_str();
    verb->add_option("--seconds", options->seconds, "About how long to measure, in seconds")
        ->check(in_range(1e-3, 3600.0))
        ->capture_default_str();
    verb->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool
