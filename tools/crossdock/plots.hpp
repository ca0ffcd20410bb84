/// @file
/// @brief Runs the Python scripts of tools/plots, which draw with matplotlib.
#pragma once

#include <string>

#include "tools/crossdock/output.hpp"
#include "tools/crossdock/statistics_json.hpp"

namespace crossdock::tool {

/// @brief Runs `script` with `data` on its standard input and the output's path as its argument;
/// what it prints is written to `output`, whose path standard output then tells.
///
/// Scripts are looked for in the folder that the environment variable CROSSDOCK_PLOTS names; without
/// it where they are installed, seen from this program, and where they are in its sources. The
/// interpreter is CROSSDOCK_PYTHON; without it the first of `python3` and `/usr/bin/python3` that
/// has matplotlib.
/// @return 0, or `bad_input` if the script has told the user what is wrong
/// @throws error(errc::file_error)  there is no such script, no interpreter or no matplotlib, the
/// data cannot be handed over, the output cannot be written, or the script failed in a way it does not explain
int run_plot_script(const std::string& script, const json& data, output_file& output);

}  // namespace crossdock::tool
