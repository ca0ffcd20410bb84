/// @file
/// @brief How the programs of the studies end.
#pragma once

#include <fmt/format.h>

#include <exception>

namespace crossdock::bench {

/// @brief Prints what `run` returns, on one line; or why it throws.
/// @return the program's exit code
template <class Run>
int print_record(Run&& run) {
    try {
        fmt::print("{}\n", run().dump());
    } catch (const std::exception& fault) {
        fmt::print(stderr, "{}\n", fault.what());
        return 1;
    }
    return 0;
}

}  // namespace crossdock::bench
