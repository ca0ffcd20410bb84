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

#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/drop_in_library.hpp"
#include "tools/crossdock/linked_mpi.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/verbs.hpp"

namespace crossdock::tool {

namespace {

// An option that sets a variable of the library.
struct variable {
    const char* option;
    const char* name;
    const char* meaning;
    std::string value{};
};

struct run_options {
    std::vector<std::string> command;
    std::vector<variable> variables{
        {"--route", "CROSSDOCK_ROUTE",
         "The route of all exchanges; by default the fastest, or MPI if it is faster"},
        {"--machine", "CROSSDOCK_MACHINE", "The machine that routes are chosen for"},
        {"--topology", "CROSSDOCK_TOPOLOGY",
         "The regions of the ranks, such as 4x16; by default the nodes"},
        {"--executor", "CROSSDOCK_EXECUTOR",
         "How plans run: persistent | shared_memory; by default the library chooses"},
        {"--take", "CROSSDOCK_TAKE",
         "alltoallv: intercept MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw, too"},
        {"--report", "CROSSDOCK_REPORT",
         "A file for `crossdock report`, to which each calling place in the program adds a line of "
         "JSON; 1: "
         "print a table on stderr"},
        {"--progress", "CROSSDOCK_PROGRESS",
         "calls: progress only inside intercepted calls that block, even if MPI can call back"},
        {"--record", "CROSSDOCK_RECORD", "A folder that gets the pattern of each plan"},
        {"--verify", "CROSSDOCK_VERIFY", "1: compare every exchange with MPI's"},
    };
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

// Under another MPI than its own the library would end the program, or worse.
void check_mpi(const std::vector<std::string>& command, const std::filesystem::path& library) {
    const auto program = find_mpi_program(command);
    const auto of_program = mpi_of_file(program);
    const auto of_library = mpi_of_file(library);
    if (of_program.mpi_family.empty() || of_library.mpi_family.empty() ||
        of_program.mpi_family == of_library.mpi_family)
        return;
    throw error(errc::invalid_argument,
                fmt::format("{} needs a crossdock that is built with {}, since it is linked with "
                            "{}; this one is built with {} ({})",
                            program.string(), of_program.mpi_family, of_program.library,
                            of_library.mpi_family, of_library.library));
}

void set(const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
    std::fprintf(stderr, "crossdock: %s=%s\n", name, value.c_str());
}

// The ranks that it starts get what is set here, and what was set before.
int become(std::vector<std::string> command) {
    if (has_to_be_told(command.front()))
        for (char** at = environ; *at != nullptr; ++at) {
            const std::string name(*at, std::strcspn(*at, "="));
            if (name == "LD_PRELOAD" || name.starts_with("CROSSDOCK_"))
                command.insert(command.begin() + 1, {"-x", name});
        }
    std::vector<char*> words;
    for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words.front(), words.data());
    report(fmt::format("{} cannot be started: {}", words.front(), std::strerror(errno)));
    return bad_input;
}

int run(const run_options& options) {
    const auto library = find_drop_in_library();
    if (library.empty()) throw error(errc::file_error, no_drop_in_library);
    check_mpi(options.command, library);
    std::string libraries = library.string();
    if (const auto of_hypre = find_drop_in_library("hypre"); !of_hypre.empty())
        libraries += ":" + of_hypre.string();
    const char* const preloaded = std::getenv("LD_PRELOAD");
    set("LD_PRELOAD", libraries + (preloaded ? std::string(":") + preloaded : ""));
    for (const auto& one : options.variables)
        if (!one.value.empty()) set(one.name, one.value);
    return become(options.command);
}

struct trace_options {
    std::vector<std::string> command;
    std::string output = "trace.json";
};

int trace(const trace_options& options) {
    const auto output = std::filesystem::absolute(options.output);
    std::filesystem::remove(output);  // the program adds to what is there
    set("CROSSDOCK_TRACE", output.string());
    return become(options.command);
}

void add_command(CLI::App& verb, std::vector<std::string>& command) {
    verb.add_option("command", command,
                    "The command that starts the program, after --, such as mpirun -n 64 ./app")
        ->required();
    verb.positionals_at_end();
}

}  // namespace

void add_run(CLI::App& app, action& chosen) {
    auto* const verb = add_verb(app, "run");
    const auto options = std::make_shared<run_options>();
    for (auto& one : options->variables)
        verb->add_option(one.option, one.value, fmt::format("{} ({})", one.meaning, one.name));
    add_command(*verb, options->command);
    verb->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

void add_trace(CLI::App& app, action& chosen) {
    auto* const verb = add_verb(app, "trace");
    const auto options = std::make_shared<trace_options>();
    add_command(*verb, options->command);
    verb->add_option("-o,--output", options->output, "The timeline")->capture_default_str();
    verb->callback([options, &chosen] { chosen = [options] { return trace(*options); }; });
}

}  // namespace crossdock::tool
