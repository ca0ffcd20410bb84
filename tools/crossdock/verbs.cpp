#include "tools/crossdock/verbs.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/help_format.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/program_folder.hpp"

namespace crossdock::tool {

namespace {

constexpr std::array verbs{
    verb_entry{"info", "crossdock", "Show the MPI, the topology and the routes",
               "mpirun -n 8 crossdock info"},
    verb_entry{"demo", "crossdock",
               "Exchange the halo of y = A x over every route, check it, and count what each sends",
               "mpirun -n 8 crossdock demo --topology 2x4"},
    verb_entry{"run", "crossdock",
               "Run an unchanged MPI program under the drop-in, which takes over its neighborhood "
               "collectives",
               "crossdock run -- mpirun -n 64 ./app"},
    verb_entry{"trace", "crossdock",
               "Run a program that uses the library, and write the timeline of its exchanges",
               "crossdock trace -o trace.json -- mpirun -n 64 ./app"},
    verb_entry{
        "why", "crossdock-analyze",
        "Say why a program hangs, from the lines that CROSSDOCK_WATCHDOG makes its ranks write",
        "crossdock why program.log"},
    verb_entry{"try", "crossdock",
               "Measure on this machine, under mpirun, whether crossdock pays for a pattern, and "
               "write a page with the answer",
               "mpirun -n 4 crossdock try dense:4 --topology 2x2 -o try.html"},
    verb_entry{"analyze", "crossdock-analyze",
               "Count what every route sends for the halo of y = A x. Runs in one process",
               "crossdock analyze dense:4 --ranks 64 --topology 4x16"},
    verb_entry{"simulate", "crossdock-analyze",
               "Simulate the halo of y = A x over every route on a machine that is described by "
               "numbers. Runs in one process",
               "crossdock simulate dense:4 --ranks 64 --topology 4x16"},
    verb_entry{
        "explain", "crossdock",
        "Show which route \"auto\" takes for the halo of y = A x, and what every candidate is "
        "estimated to cost. Runs in one process",
        "crossdock explain dense:4 --ranks 64 --topology 4x16"},
    verb_entry{"draw", "crossdock-analyze",
               "Draw who sends to whom on one route, stage by stage, for the halo of y = A x: each "
               "message for up to 32 ranks, matrices for more. Needs matplotlib",
               "crossdock draw dense:1 --ranks 16 --topology 4x4 --route three_step -o plan.svg"},
    verb_entry{"report", "crossdock-analyze",
               "Make one HTML page of figures from results of simulate, analyze, explain, try, "
               "bench and the drop-in. Needs matplotlib",
               "crossdock report result.json -o report.html"},
    verb_entry{
        "export", "crossdock-analyze",
        "Write what all ranks do in the halo of y = A x over one route, for other programs. "
        "Runs in one process",
        "crossdock export dense:1 --ranks 16 --topology 4x4 --route three_step --format json"},
    verb_entry{"bench", "crossdock-bench",
               "Time crossdock against MPI and other libraries, under mpirun",
               "mpirun -n 8 crossdock bench neighbor dense:4 --topology 2x4"},
    verb_entry{"calibrate", "crossdock-bench",
               "Measure this machine, under mpirun, for estimates and simulations",
               "mpirun -n 8 crossdock calibrate --topology 2x4 -o machine.json"},
    verb_entry{"help", nullptr,
               "Show this list, or the help of one verb: crossdock help bench neighbor", nullptr},
};

constexpr const char* exit_codes =
    "Exit codes: 0 done; 1 done, but a result was wrong; 2 not done, because of wrong usage, a "
    "file that cannot be read or the like; standard error says why; 130 ended by Ctrl-C. `run` "
    "returns the exit code of the program that it runs.";

// Help, or what is wrong with the arguments; said once, without MPI.
int explain(const CLI::App& app, const CLI::ParseError& why) {
    // The launcher ends all processes at the first error: it must be the one that says why.
    if (!is_first_process()) return 0;
    return app.exit(why) == 0 ? 0 : bad_input;
}

// How many letters are inserted, left out, replaced, or swapped with their neighbor.
std::size_t num_slips(std::string_view from, std::string_view to) {
    std::vector<std::vector<std::size_t>> slips(from.size() + 1,
                                                std::vector<std::size_t>(to.size() + 1));
    for (std::size_t i = 0; i <= from.size(); ++i) {
        for (std::size_t j = 0; j <= to.size(); ++j) {
            if (i == 0 || j == 0) {
                slips[i][j] = i + j;
                continue;
            }
            const bool differ = from[i - 1] != to[j - 1];
            slips[i][j] = std::min(
                {slips[i - 1][j] + 1, slips[i][j - 1] + 1, slips[i - 1][j - 1] + (differ ? 1 : 0)});
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
                slips[i][j] = std::min(slips[i][j], slips[i - 2][j - 2] + 1);
        }
    }
    return slips[from.size()][to.size()];
}

// What to say of a word where a verb is expected; empty if all words are verbs that there are.
std::string mistyped(CLI::App& app, std::span<const std::string> words) {
    CLI::App* at = &app;
    for (const auto& word : words) {
        const auto known = at->get_subcommands([](CLI::App*) { return true; });
        if (known.empty() || word.starts_with('-')) return {};
        const auto found = std::ranges::find(known, word, &CLI::App::get_name);
        if (found != known.end()) {
            at = *found;
            continue;
        }
        std::vector<std::string> names;
        for (const auto* one : known) names.push_back(one->get_name());
        const auto slips = [&](const std::string& name) { return num_slips(word, name); };
        const auto nearest = std::ranges::min_element(names, {}, slips);
        const bool is_near = slips(*nearest) <= std::min<std::size_t>(2, nearest->size() / 2);
        return fmt::format("\"{}\" is none of {}{}", word, fmt::join(names, ", "),
                           is_near ? fmt::format("; did you mean {}?", *nearest) : "");
    }
    return {};
}

// The words behind the program's name; `help` before verbs is --help behind them.
std::vector<std::string> words_of(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty() || words.front() != "help") return words;
    words.erase(words.begin());
    if (!words.empty() && words.front() == "help") words.erase(words.begin());
    words.emplace_back("--help");
    return words;
}

// What builds the program of a verb, where it was left out.
int report_missing(const verb_entry& verb) {
    if (!is_first_process()) return bad_input;
    const auto build = program_folder().parent_path().parent_path();
    std::string target = verb.program;
    std::ranges::replace(target, '-', '_');
    report(std::filesystem::exists(build / "CMakeCache.txt")
               ? fmt::format("{} is not built; this builds it: cmake --build {} --target {}",
                             verb.name, std::filesystem::proximate(build).string(), target)
               : fmt::format("{} is not installed: {} belongs beside this program", verb.name,
                             verb.program));
    return bad_input;
}

// Becomes the program that has the verb; both lie in one folder.
int become(const verb_entry& verb, char* name, std::vector<std::string> words) {
    const auto path = program_folder() / verb.program;
    std::vector<char*> arguments{name};
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(path.c_str(), arguments.data());
    if (errno == ENOENT) return report_missing(verb);
    report(fmt::format("{} has the verb {}, and cannot be started: {}", path.string(), verb.name,
                       std::strerror(errno)));
    return bad_input;
}

int run(const action& chosen) {
    try {
        return chosen();
    } catch (const std::bad_alloc&) {
        report("there is not enough memory for this");
        return bad_input;
    } catch (const std::exception& fault) {
        report(fault.what());
        return bad_input;
    }
}

}  // namespace

std::span<const verb_entry> all_verbs() { return verbs; }

CLI::App* add_verb(CLI::App& app, const char* name) {
    for (const auto& verb : verbs) {
        if (std::strcmp(verb.name, name) != 0) continue;
        auto* const added = app.add_subcommand(name, verb.summary);
        added->footer(fmt::format("Example: {}\n\n{}", verb.example, exit_codes));
        return added;
    }
    throw error(errc::internal, fmt::format("no verb {}", name));
}

int run_program(int argc, char** argv, std::initializer_list<add_function> own_verbs) {
    CLI::App app("Irregular MPI communication, re-sorted on the way", "crossdock");
    app.set_version_flag("--version", CROSSDOCK_VERSION);
    app.require_subcommand(1);
    app.footer(exit_codes);
    app.formatter(std::make_shared<help_format>());
    action chosen;
    const auto words = words_of(argc, argv);
    for (const auto add : own_verbs) add(app, chosen);
    for (const auto& verb : verbs) {
        const auto is_it = [&](const CLI::App* known) { return known->get_name() == verb.name; };
        if (!app.get_subcommands(is_it).empty()) continue;
        if (verb.program && !words.empty() && words.front() == verb.name)
            return become(verb, argv[0], words);
        app.add_subcommand(verb.name, verb.summary);
    }
    if (const auto fault = mistyped(app, words); !fault.empty()) {
        if (is_first_process()) report(fault);
        return is_first_process() ? bad_input : 0;
    }
    try {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& why) {
        return explain(app, why);
    }
    return run(chosen);
}

}  // namespace crossdock::tool
