#include <mpi.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/common/drop_in_library.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/verbs.hpp"

namespace crossdock::tool {

namespace {

struct run_options {
    std::vector<std::string> command;
    std::string route;
    std::string machine;
    std::string topology;
};

// Open MPI's launcher gives ranks on other nodes the variables only that it is told of.
bool has_to_be_told(const std::string& program) {
#ifdef OPEN_MPI
    const auto name = std::filesystem::path(program).filename();
    return name == "mpirun" || name == "mpiexec" || name == "orterun";
#else
    return program.empty();
#endif
}

// Becomes the command; the ranks that it starts get what is set here.
int run(const run_options& options) {
    auto command = options.command;
    const bool is_told = has_to_be_told(command.front());
    const auto set = [&](const char* name, const std::string& value) {
        if (value.empty()) return;
        setenv(name, value.c_str(), 1);
        std::fprintf(stderr, "crossdock: %s=%s\n", name, value.c_str());
        if (is_told) command.insert(command.begin() + 1, {"-x", name});
    };
    const auto library = bench::find_drop_in_library();
    if (library.empty()) throw error(errc::file_error, bench::no_drop_in_library);
    const char* const preloaded = std::getenv("LD_PRELOAD");
    set("LD_PRELOAD", library.string() + (preloaded ? std::string(":") + preloaded : ""));
    set("CROSSDOCK_ROUTE", options.route);
    set("CROSSDOCK_MACHINE", options.machine);
    set("CROSSDOCK_TOPOLOGY", options.topology);
    std::vector<char*> words;
    for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words.front(), words.data());
    report(fmt::format("{} cannot be started: {}", words.front(), std::strerror(errno)));
    return bad_input;
}

}  // namespace

void add_run(CLI::App& app, action& chosen) {
    auto* const verb = add_verb(app, "run");
    const auto options = std::make_shared<run_options>();
    verb->add_option("--route", options->route,
                     "The route of all exchanges (CROSSDOCK_ROUTE); by default the "
                     "fastest, which may be MPI's own");
    verb->add_option("--machine", options->machine,
                     "The machine that routes are chosen for (CROSSDOCK_MACHINE)");
    verb->add_option("--topology", options->topology,
                     "The regions of the ranks, as 4x16 (CROSSDOCK_TOPOLOGY); by "
                     "default nodes");
    verb->add_option("command", options->command,
                     "After --: what starts the program, as mpirun -n 64 ./app")
        ->required();
    verb->positionals_at_end();
    verb->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool
