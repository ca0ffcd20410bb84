#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/base/error.hpp"
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

constexpr std::array<std::string_view, 3> known_schemas{
    "crossdock.simulate/1", "crossdock.analyze/1", "crossdock.bench.neighbor/1"};

void refuse_unknown_schema(const std::string& file, const json& record) {
    const auto schema = record.is_object() ? record.value("schema", json()) : json();
    const auto is_schema = [&](std::string_view name) { return schema == json(name); };
    if (std::any_of(known_schemas.begin(), known_schemas.end(), is_schema)) return;
    std::string known;
    for (const auto& name : known_schemas) known += (known.empty() ? "" : ", ") + std::string(name);
    throw error(errc::parse_error,
                file + ": " +
                    (schema.is_null() ? "there is no schema" : "unknown schema " + schema.dump()) +
                    "; a report reads " + known);
}

json read_record(const std::string& file) {
    std::ifstream stream(file);
    if (!stream) throw error(errc::file_error, "cannot open " + file);
    json record = json::parse(stream, nullptr, false);
    if (record.is_discarded()) throw error(errc::parse_error, file + " is not JSON");
    refuse_unknown_schema(file, record);
    return record;
}

int run(const report_options& options) {
    if (!is_first_process()) return 0;
    json results = json::array();
    for (const auto& file : options.files)
        results.push_back({{"path", file}, {"record", read_record(file)}});
    const int code = run_plot_script("report.py", results, options.output);
    if (code == 0) print("{}\n", options.output);
    flush_output();
    return code;
}

}  // namespace

void add_report(CLI::App& app, action& chosen) {
    auto options = std::make_shared<report_options>();
    auto* verb = add_verb(app, "report");
    verb->add_option("RESULT", options->files,
                     "JSON files, as simulate, analyze and bench neighbor print with --json")
        ->required();
    verb->add_option("-o,--output", options->output, "The page")->capture_default_str();
    verb->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool
