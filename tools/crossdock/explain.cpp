#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "satellites/simulator/src/replayed_choice.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/machine_input.hpp"
#include "tools/crossdock/memory_limit.hpp"
#include "tools/crossdock/number_range.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/pattern_input.hpp"
#include "tools/crossdock/progress.hpp"
#include "tools/crossdock/replay_memory.hpp"
#include "tools/crossdock/statistics_json.hpp"
#include "tools/crossdock/table.hpp"
#include "tools/crossdock/verbs.hpp"
#include "tools/inputs/hierarchy.hpp"

namespace crossdock::tool {

namespace {

struct explain_options {
    pattern_input input;
    machine_input where;
    bool without_dedup = false;
    count_t item_bytes = 8;
    std::string executor = "auto";
    int num_replayed = 0;
    bool as_json = false;
};

// What the options say, made.
struct chooser {
    rank_layout layout;
    machine hardware;
    estimate_options how;
};

chooser make_chooser(const explain_options& options) {
    auto layout = options.where.layout(options.input.regions());
    const auto how = estimate_of(layout, options.item_bytes, options.executor != "persistent",
                                 !options.without_dedup);
    auto hardware = options.where.load(layout);
    return {std::move(layout), std::move(hardware), how};
}

route_choice choose(const chooser& with, const std::vector<pattern>& patterns, int num_replayed) {
    if (num_replayed == 0) return choose_route(with.layout, patterns, with.hardware, with.how);
    const auto& regions = with.layout.regions();
    for (const auto& route : candidate_routes(regions, with.hardware))
        check_memory("the route " + route, replay_bytes(patterns, *make_route(route, regions)), 0);
    return choose_by_replay(with.layout, patterns, with.hardware, with.how, num_replayed);
}

std::vector<route_choice> choose_all(const explain_options& options, const chooser& with) {
    progress done("explain");
    done.tell(options.input.file);
    std::vector<route_choice> choices;
    for (auto& level : load_all_levels(options.input, with.layout.regions())) {
        done.tell(fmt::format("{}, choice {}", options.input.file, choices.size() + 1));
        choices.push_back(choose(with, patterns_of(level), options.num_replayed));
        level = {};
    }
    return choices;
}

void print_json(const explain_options& options, const chooser& with,
                const std::vector<route_choice>& choices) {
    const auto& regions = with.layout.regions();
    json document{{"schema", "crossdock.explain/1"},
                  {"file", options.input.file},
                  {"ranks", regions.num_ranks()},
                  {"topology", regions.to_string()},
                  {"nodes", with.layout.nodes().to_string()},
                  {"partition", options.input.partition},
                  {"machine", with.hardware.name},
                  {"item_bytes", options.item_bytes},
                  {"dedup", with.how.deduplicate},
                  {"executor", options.executor},
                  {"replayed", options.num_replayed}};
    if (is_hierarchy(options.input.file)) {
        document["levels"] = json::array();
        for (std::size_t k = 0; k < choices.size(); ++k) {
            auto level = choice_json(choices[k]);
            level["level"] = k;
            document["levels"].push_back(std::move(level));
        }
    } else {
        document.update(choice_json(choices.front()));
    }
    print(document);
}

// Why it is that one: how much longer the simplest of the slower routes takes, and with what.
std::string conclusion(const route_choice& choice, int num_replayed) {
    const auto& best = choice.candidates.front();
    if (num_replayed == 1) return fmt::format("{} has the lowest price.", best.route);
    if (choice.candidates.size() == 1) return fmt::format("{} is the only candidate.", best.route);
    std::string text = best.route;
    const candidate_price* other = nullptr;
    for (const auto& one : std::span(choice.candidates).subspan(1)) {
        if (is_tie(best.seconds, one.seconds)) {
            text += (text == best.route ? ", which ties with " : ", ") + one.route;
        } else if (!other || one.route == "direct") {
            other = &one;
        }
    }
    if (!other) return text + ".";
    return fmt::format("{}: {} would take {:.2f} times as long, mostly {}.", text, other->route,
                       other->seconds / best.seconds, other->dominating_term);
}

void print_choice(const route_choice& choice, int num_replayed) {
    table lines({"route", "us", "times the best", "mostly"});
    const double best = choice.candidates.front().seconds;
    for (const auto& [route, seconds, term] : choice.candidates) {
        lines.add({route, fmt::format("{:.3f}", 1e6 * seconds),
                   fmt::format("{:.2f}", best > 0 ? seconds / best : 1), term});
    }
    print("{}", lines.to_string());
    if (best > 0) print("{}\n", conclusion(choice, num_replayed));
}

void print_tables(const explain_options& options, const chooser& with,
                  const std::vector<route_choice>& choices) {
    const auto& regions = with.layout.regions();
    print("{}: {} ranks in {} regions ({}) and {} nodes, partition {}\n", options.input.file,
          regions.num_ranks(), regions.num_regions(), regions.to_string(),
          with.layout.nodes().num_regions(), options.input.partition);
    print("{} {}, items of {} bytes, {}\n",
          options.num_replayed > 0 ? "replayed on" : "estimated for",
          options.where.text(with.hardware), options.item_bytes,
          with.how.travel.shares_memory ? "ranks of a node share memory"
                                        : "messages inside nodes, too");
    for (std::size_t k = 0; k < choices.size(); ++k) {
        print("{}", is_hierarchy(options.input.file) ? fmt::format("\nlevel {}\n", k) : "\n");
        print_choice(choices[k], options.num_replayed);
    }
}

int run(const explain_options& options) {
    if (!is_first_process()) return 0;
    const auto with = make_chooser(options);
    const auto choices = choose_all(options, with);
    options.as_json ? print_json(options, with, choices) : print_tables(options, with, choices);
    flush_output();
    return 0;
}

}  // namespace

void add_explain(CLI::App& app, action& chosen) {
    auto options = std::make_shared<explain_options>();
    auto* verb = add_verb(app, "explain");
    verb->add_option("FILE", options->input.file,
                     "A Matrix Market file, plain or gzip; or dense:K, where any two ranks "
                     "exchange K items; or random:K, where each rank needs an item from each of K "
                     "others; or amg:FOLDER[:LEVEL], a recorded multigrid hierarchy")
        ->required();
    add_division(*verb, options->input);
    add_machine(*verb, options->where);
    verb->add_flag("--no-deduplicate", options->without_dedup,
                   "Do not deduplicate: an item travels once for each of its destinations");
    verb->add_option("--item-bytes", options->item_bytes, "Bytes of an item")
        ->check(in_range(count_t{1}, count_t{1} << 20))
        ->capture_default_str();
    verb->add_option("--executor", options->executor,
                     "persistent: ranks of a node send messages; auto, shared_memory: they use "
                     "shared memory")
        ->check(CLI::IsMember({"auto", "persistent", "shared_memory"}))
        ->capture_default_str();
    verb->add_option("--replay", options->num_replayed,
                     "Compile plans for all candidates, simulate this many of the cheapest, and "
                     "choose the fastest")
        ->check(in_range(1, 1000));
    verb->add_flag("--json", options->as_json, "Print JSON");
    verb->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool
