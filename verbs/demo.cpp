#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "bench/neighbor/contest.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/project_files.hpp"
#include "tools/crossdock/route_names.hpp"
#include "tools/crossdock/statistics_json.hpp"
#include "tools/crossdock/table.hpp"
#include "tools/crossdock/verbs.hpp"

namespace crossdock::tool {

namespace {

constexpr int wrong_result = 1;

struct demo_options {
    std::string file;  // empty: the matrix that comes along
    std::string topology_text;
    bool as_json = false;
};

// One route's exchange: what it sent, and whether it was right.
struct showing {
    std::string route;
    int num_stages;
    traffic sent;
    bool is_verified;
};

std::string two_regions(rank_t num_ranks) {
    if (num_ranks == 1) return "1";
    return fmt::format("{},{}", num_ranks - num_ranks / 2, num_ranks / 2);
}

std::vector<showing> show_all(const context& where, const bench::share& part) {
    std::vector<showing> shown;
    for (const auto& r : make_routes(expand_routes({"all"}), where.topology())) {
        const auto entrant = bench::crossdock_route(r->name(), {});
        const auto [is_verified, sent] = bench::check(where, part, entrant, {});
        shown.push_back({r->name(), r->num_stages(), sent, is_verified});
    }
    return shown;
}

// Which route crosses regions with the fewest messages, and what that costs or saves in items.
std::string conclusion(const std::vector<showing>& shown) {
    const auto& direct = shown.front();
    const auto& best = *std::min_element(shown.begin(), shown.end(), [](auto& a, auto& b) {
        return std::tie(a.sent.inter_region_messages, a.sent.inter_region_items) <
               std::tie(b.sent.inter_region_messages, b.sent.inter_region_items);
    });
    if (best.sent.inter_region_messages == direct.sent.inter_region_messages)
        return "No route sends fewer messages between regions than direct.";
    return fmt::format(
        "{} sends {} messages between regions where direct sends {}, with {} items instead of {}.",
        best.route, best.sent.inter_region_messages, direct.sent.inter_region_messages,
        best.sent.inter_region_items, direct.sent.inter_region_items);
}

void print_json(const demo_options& options, const topology& regions,
                const std::vector<showing>& shown) {
    json routes = json::array();
    for (const auto& [route, num_stages, sent, is_verified] : shown) {
        routes.push_back({{"route", route},
                          {"stages", num_stages},
                          {"messages", sent.messages},
                          {"inter_region_messages", sent.inter_region_messages},
                          {"items", sent.items},
                          {"inter_region_items", sent.inter_region_items},
                          {"verified", is_verified}});
    }
    const json document{{"schema", "crossdock.demo/1"}, {"file", options.file},
                        {"ranks", regions.num_ranks()}, {"topology", regions.to_string()},
                        {"routes", std::move(routes)},  {"conclusion", conclusion(shown)}};
    print(document);
}

void print_table(const demo_options& options, const topology& regions,
                 const std::vector<showing>& shown) {
    print("y = A x with {} on {} ranks in {} regions ({})\n\n", options.file, regions.num_ranks(),
          regions.num_regions(), regions.to_string());
    table lines({"route", "stages", "messages", "inter-region messages", "items",
                 "inter-region items", "verified"});
    for (const auto& [route, num_stages, sent, is_verified] : shown) {
        lines.add({route, fmt::to_string(num_stages), fmt::to_string(sent.messages),
                   fmt::to_string(sent.inter_region_messages), fmt::to_string(sent.items),
                   fmt::to_string(sent.inter_region_items), is_verified ? "yes" : "NO"});
    }
    print("{}\n{}\n", lines.to_string(), conclusion(shown));
}

int run(demo_options options) {
    return on_all_ranks([&](const communicator& comm) {
        const auto regions =
            topology_of(comm, options.topology_text.empty() ? two_regions(comm.num_ranks())
                                                            : options.topology_text);
        const auto part = bench::distribute(comm, options.file, "block", regions);
        const auto shown = show_all(context(comm, regions), part);
        if (comm.rank() == 0)
            options.as_json ? print_json(options, regions, shown)
                            : print_table(options, regions, shown);
        const bool is_right = std::all_of(shown.begin(), shown.end(),
                                          [](const auto& one) { return one.is_verified; });
        return is_right ? 0 : wrong_result;
    });
}

}  // namespace

void add_demo(CLI::App& app, action& chosen) {
    auto options = std::make_shared<demo_options>();
    auto* verb = add_verb(app, "demo");
    verb->add_option(
        "FILE", options->file,
        "A Matrix Market file, plain or gzip; or dense:K; default: a matrix of the installation");
    verb->add_option("--topology", options->topology_text,
                     "Regions: 4x16 | 16,16,8 | cyclic:4x16 | list:0,1,0,1; default: two halves");
    verb->add_flag("--json", options->as_json, "Print JSON");
    verb->callback([options, &chosen] {
        if (options->file.empty()) options->file = demo_matrix().string();
        chosen = [options] { return run(*options); };
    });
}

}  // namespace crossdock::tool
