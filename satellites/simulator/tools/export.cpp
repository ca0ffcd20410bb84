#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <optional>

#include "crossdock/plan.hpp"
#include "crossdock/schedule.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/number_range.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/pattern_input.hpp"
#include "tools/crossdock/progress.hpp"
#include "tools/crossdock/route_names.hpp"
#include "tools/crossdock/verbs.hpp"

namespace crossdock::tool {

namespace {

struct export_options {
    pattern_input input;
    std::string route;
    bool without_dedup = false;
    std::string machine_name;
    count_t item_bytes = 8;
    std::string format;
    std::string unit = "ns";
    std::string output_file;  // empty: standard output
};

void write(std::ostream& to, const export_options& options, const topology& regions,
           const machine& m, std::span<const plan> plans) {
    if (options.format == "goal") {
        const rank_layout layout(regions);
        const auto unit = options.unit == "ps" ? goal_unit::picosecond : goal_unit::nanosecond;
        write_goal(to, layout, schedule_of(layout, plans, {options.item_bytes, false}), m, unit);
        return;
    }
    for (const auto& p : plans) to << to_json(p) << '\n';
}

int run(const export_options& options) {
    if (!is_first_process()) return 0;
    const auto regions = options.input.regions();
    const auto way = make_route(options.route, regions);
    const auto m = load_machine(options.machine_name);
    std::optional<output_file> file;
    if (!options.output_file.empty()) file.emplace(options.output_file);
    progress done("export");
    done.tell(options.input.file);
    const auto plans = compile(regions, patterns_of(load_one_level(options.input, regions)), *way,
                               {.deduplicate = !options.without_dedup});
    write(file ? file->stream() : std::cout, options, regions, m, plans);
    if (file) {
        file->close();
        return 0;
    }
    if (!std::cout.flush()) throw error(errc::file_error, "cannot write to standard output");
    return 0;
}

}  // namespace

void add_export(CLI::App& app, action& chosen) {
    auto options = std::make_shared<export_options>();
    options->machine_name = default_machine().name;
    auto* verb = add_verb(app, "export");
    verb->add_option("FILE", options->input.file,
                     "As in `simulate`, but one level of a hierarchy, amg:FOLDER:LEVEL")
        ->required();
    add_division(*verb, options->input);
    verb->add_option("--route", options->route, "A route; `crossdock info` lists them")->required();
    verb->add_flag("--no-deduplicate", options->without_dedup,
                   "Write the plans without deduplication");
    verb->add_option("--format", options->format,
                     "goal: the operations of all ranks, for LogGOPSim's txt2bin; json: the plans, "
                     "one per line")
        ->check(CLI::IsMember({"goal", "json"}))
        ->required();
    verb->add_option(
            "--machine", options->machine_name,
            "goal: the machine, a preset or a file, for the time of copying and LogGP's parameters")
        ->capture_default_str();
    verb->add_option(
            "--unit", options->unit,
            "goal: unit of time; LogGOPSim wants whole numbers, which ps gives for parameters, too")
        ->check(CLI::IsMember({"ns", "ps"}))
        ->capture_default_str();
    verb->add_option("--item-bytes", options->item_bytes, "goal: bytes of an item")
        ->check(in_range(count_t{1}, count_t{1} << 20))
        ->capture_default_str();
    verb->add_option("-o,--output", options->output_file,
                     "Write to this file, not to standard output");
    verb->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool
