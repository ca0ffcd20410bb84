/// @file
/// @brief The verbs of the command line, one file each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace crossdock::tool {

/// @brief What main runs once the arguments are parsed; returns the exit code.
using action = std::function<int()>;

/// @brief Adds a verb to `app`; when it is chosen, parsing sets `chosen`.
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

}  // namespace crossdock::tool
