#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "crossdock/plan.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/pattern_input.hpp"
#include "tools/crossdock/plan_picture.hpp"
#include "tools/crossdock/plots.hpp"
#include "tools/crossdock/progress.hpp"
#include "tools/crossdock/verbs.hpp"

namespace crossdock::tool {

namespace {

struct draw_options {
    pattern_input input;
    std::string route = "three_step";
    bool without_dedup = false;
    std::string output = "plan.svg";
};

std::string refuse_unknown_suffix(const std::string& output) {
    const auto suffix = std::filesystem::path(output).extension();
    if (suffix == ".svg" || suffix == ".pdf" || suffix == ".png") return {};
    return output + " ends in none of .svg, .pdf, .png";
}

json picture_of(const draw_options& options) {
    const auto regions = options.input.regions();
    const auto r = make_route(options.route, regions);
    const progress done("draw");
    const auto patterns = load_patterns(options.input, regions);
    const auto plans = compile(regions, patterns, *r, {.deduplicate = !options.without_dedup});
    json document{{"file", options.input.file},           {"ranks", regions.num_ranks()},
                  {"regions", regions.num_regions()},     {"topology", regions.to_string()},
                  {"partition", options.input.partition}, {"route", r->name()},
                  {"dedup", !options.without_dedup}};
    document.update(plan_picture(regions, plans));
    return document;
}

int run(const draw_options& options) {
    if (!is_first_process()) return 0;
    output_file output(options.output);
    return run_plot_script("draw_plan.py", picture_of(options), output);
}

}  // namespace

void add_draw(CLI::App& app, action& chosen) {
    auto options = std::make_shared<draw_options>();
    auto* verb = add_verb(app, "draw");
    verb->add_option(
            "FILE", options->input.file,
            "A Matrix Market file, plain or gzip; or dense:K, where any two ranks exchange K items")
        ->required();
    add_division(*verb, options->input);
    verb->add_option("--route", options->route, "A route; `crossdock info` lists them")
        ->capture_default_str();
    verb->add_flag("--no-deduplicate", options->without_dedup,
                   "Do not deduplicate: an item travels once for each of its destinations");
    verb->add_option("-o,--output", options->output, "The picture: a file .svg, .pdf or .png")
        ->capture_default_str()
        ->check(refuse_unknown_suffix);
    verb->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool
