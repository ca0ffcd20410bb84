#include "tools/crossdock/verbs.hpp"

#include <unistd.h>

#include <array>
#include <cstring>
#include <exception>
#include <filesystem>

#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"

namespace crossdock::tool {

namespace {

constexpr std::array verbs{
    verb_entry{"info", "crossdock", "Show MPI, the topology and the routes there are"},
    verb_entry{"demo", "crossdock",
               "Exchange the halo of y = A x over every route, and count what each sends"},
    verb_entry{
        "run", "crossdock",
        "Run an MPI program that knows nothing of crossdock, with its neighborhood collectives "
        "taken over: crossdock run -- mpirun -n 64 ./app"},
    verb_entry{"analyze", "crossdock-analyze",
               "Count what every route sends for the halo of y = A x; needs no MPI, and under a "
               "launcher the first process alone does it"},
    verb_entry{"simulate", "crossdock-analyze",
               "Replay the halo of y = A x over every route on a machine that is described by "
               "numbers; needs no MPI, and under a launcher the first process alone does it"},
    verb_entry{"try", "crossdock",
               "Measure whether crossdock pays for a pattern on the machine at hand, and write a "
               "page that says so; "
               "under mpirun"},
    verb_entry{"explain", "crossdock-analyze",
               "Which route \"auto\" takes for the halo of y = A x, and why: what every candidate "
               "is estimated to cost, or a few of them simulated; needs no MPI, and under a "
               "launcher the first process alone does it"},
    verb_entry{
        "draw", "crossdock-analyze",
        "Draw who sends to whom on one route, stage by stage, for the halo of y = A x; needs no "
        "MPI, but Python's matplotlib; up to 32 ranks are drawn message by message"},
    verb_entry{"report", "crossdock-analyze",
               "Make one HTML page of results: simulations, what analyze counted, and what bench "
               "neighbor measured; needs no MPI, but Python's matplotlib"},
    verb_entry{"export", "crossdock-analyze",
               "Write what all ranks do in the halo of y = A x over one route, for other programs; "
               "needs no MPI, and under a launcher the first process alone does it"},
    verb_entry{"bench", "crossdock-bench", "Time contenders against each other; under mpirun"},
    verb_entry{"calibrate", "crossdock-bench",
               "Measure the machine at hand, for prices and simulations: to be run by mpirun"},
};

// Help, or what is wrong with the arguments; said once, without MPI.
int explain(const CLI::App& app, const CLI::ParseError& why) {
    // The launcher ends all processes at the first error: it must be the one that says why.
    if (!is_first_process()) return 0;
    return app.exit(why);
}

// Becomes the program that has the verb; both lie in one folder.
int become(const verb_entry& verb, char** argv) {
    const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / verb.program;
    execv(path.c_str(), argv);
    report(fmt::format("{} has the verb {}, and cannot be started: {}", path.string(), verb.name,
                       std::strerror(errno)));
    return bad_input;
}

int run(const action& chosen) {
    try {
        return chosen();
    } catch (const std::exception& fault) {
        report(fault.what());
        return bad_input;
    }
}

}  // namespace

std::span<const verb_entry> all_verbs() { return verbs; }

CLI::App* add_verb(CLI::App& app, const char* name) {
    for (const auto& verb : verbs) {
        if (std::strcmp(verb.name, name) == 0) return app.add_subcommand(name, verb.summary);
    }
    throw error(errc::internal, fmt::format("no verb {}", name));
}

int run_program(int argc, char** argv, std::initializer_list<add_function> own_verbs) {
    CLI::App app("Irregular MPI communication, re-sorted on the way", "crossdock");
    app.set_version_flag("--version", CROSSDOCK_VERSION);
    app.require_subcommand(1);
    action chosen;
    for (const auto add : own_verbs) add(app, chosen);
    for (const auto& verb : verbs) {
        const auto is_it = [&](const CLI::App* known) { return known->get_name() == verb.name; };
        if (!app.get_subcommands(is_it).empty()) continue;
        if (argc > 1 && std::strcmp(argv[1], verb.name) == 0) return become(verb, argv);
        app.add_subcommand(verb.name, verb.summary);
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& why) {
        return explain(app, why);
    }
    return run(chosen);
}

}  // namespace crossdock::tool
