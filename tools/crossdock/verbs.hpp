/// @file
/// @brief The verbs of the command line, one file each, and the programs that have them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <span>

namespace crossdock::tool {

/// @brief What main runs once the arguments are parsed; returns the exit code.
using action = std::function<int()>;

/// @brief A verb, the program that has it, its line in the help, and an example, which tests run.
struct verb_entry {
    const char* name;
    const char* program;  ///< null: every one has it
    const char* summary;
    const char* example;  ///< null: it has no help of its own
};
std::span<const verb_entry> all_verbs();

/// @brief A verb's subcommand, with the summary of `all_verbs`.
CLI::App* add_verb(CLI::App& app, const char* name);

/// @brief Adds a verb to `app`; when it is chosen, parsing sets `chosen`.
using add_function = void (*)(CLI::App& app, action& chosen);
void add_info(CLI::App& app, action& chosen);
void add_analyze(CLI::App& app, action& chosen);
void add_simulate(CLI::App& app, action& chosen);
void add_draw(CLI::App& app, action& chosen);
void add_report(CLI::App& app, action& chosen);
void add_explain(CLI::App& app, action& chosen);
void add_export(CLI::App& app, action& chosen);
void add_bench(CLI::App& app, action& chosen);
void add_calibrate(CLI::App& app, action& chosen);
void add_demo(CLI::App& app, action& chosen);
void add_try(CLI::App& app, action& chosen);
void add_run(CLI::App& app, action& chosen);
void add_trace(CLI::App& app, action& chosen);
void add_why(CLI::App& app, action& chosen);

/// @brief What main does: parses the arguments and runs the verb, which is one of these or of another
/// program.
/// @return the exit code
int run_program(int argc, char** argv, std::initializer_list<add_function> verbs);

}  // namespace crossdock::tool
