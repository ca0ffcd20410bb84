/// @file
/// @brief The machine that a verb's ranks are thought to be on.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "crossdock/machine.hpp"

namespace crossdock::tool {

/// @brief What the options --nodes and --machine say.
struct machine_input {
    std::string nodes_text;  ///< empty: every region is a node
    std::string machine_name = default_machine().name;

    /// @throws error  as `topology::from_string`
    rank_layout layout(const topology& regions) const {
        return nodes_text.empty()
                   ? rank_layout(regions)
                   : rank_layout(regions, topology::from_string(nodes_text, regions.num_ranks()));
    }
    /// @throws error  as `load_machine`
    machine load() const { return load_machine(machine_name); }
};

/// @brief Adds the options --nodes and --machine to a verb.
inline void add_machine(CLI::App& verb, machine_input& input) {
    verb.add_option("--nodes", input.nodes_text,
                    "Nodes, written as regions are; every region is one if not given");
    verb.add_option("--machine", input.machine_name, "A preset or a file")->capture_default_str();
}

}  // namespace crossdock::tool
