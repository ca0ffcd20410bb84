/// @file
/// @brief The machine that a verb's ranks are thought to be on.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "crossdock/machine.hpp"
#include "crossdock/route_choice.hpp"

namespace crossdock::tool {

/// @brief What the options --nodes and --machine say.
struct machine_input {
    std::string nodes_text;  ///< empty: every region is a node
    std::string machine_name = default_machine().name;
    bool is_chosen = false;  ///< whether --machine is given

    /// @throws error  as `topology::from_string`
    rank_layout layout(const topology& regions) const {
        return nodes_text.empty()
                   ? rank_layout(regions)
                   : rank_layout(regions, topology::from_string(nodes_text, regions.num_ranks()));
    }
    /// @brief Warns of assumed costs of messages that these ranks send, unless it is a preset.
    /// @throws error  as `load_machine`
    machine load(const rank_layout& layout) const;

    /// @brief The machine's name, for people, and whether it was assumed.
    std::string text(const machine& m) const;
};

/// @brief Adds the options --nodes and --machine to a verb.
void add_machine(CLI::App& verb, machine_input& input);

/// @brief What `auto` estimates on these ranks, for every verb that shows it.
/// @param may_share_memory  whether the executor lets ranks of a node share memory, where a node has several
estimate_options estimate_of(const rank_layout& layout, count_t item_bytes, bool may_share_memory,
                             bool deduplicate);

/// @brief Between which of these ranks messages cost what nobody has measured: "between nodes".
std::vector<std::string> assumed_levels(const rank_layout& layout, const machine& m);

}  // namespace crossdock::tool
