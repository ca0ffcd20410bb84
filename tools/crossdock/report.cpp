#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "crossdock/error.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/plots.hpp"
#include "tools/crossdock/verbs.hpp"

namespace crossdock::tool {

namespace {

struct report_options {
    std::vector<std::string> files;
    std::string output = "report.html";
};

std::string content_of(const std::string& file) {
    std::ifstream stream(file);
    if (!stream) throw error(errc::file_error, "cannot open " + file);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

int run(const report_options& options) {
    if (!is_first_process()) return 0;
    json results = json::array();
    for (const auto& file : options.files)
        results.push_back({{"path", file}, {"text", content_of(file)}});
    output_file output(options.output);
    return run_plot_script("report.py", results, output);
}

}  // namespace

void add_report(CLI::App& app, action& chosen) {
    auto options = std::make_shared<report_options>();
    auto* verb = add_verb(app, "report");
    verb->add_option("RESULT", options->files,
                     "Files with the --json output of simulate, analyze, explain, try or bench "
                     "(neighbor, hypre, exchange, gather, array, stream), or records of it; "
                     "drawings (.svg) of draw; files that CROSSDOCK_REPORT names")
        ->required();
    verb->add_option("-o,--output", options->output, "The page")->capture_default_str();
    verb->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool
