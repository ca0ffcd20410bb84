/// @file
/// @brief The sparse data exchange that `analyze` counts and `simulate` replays.
#pragma once

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <vector>

#include "crossdock/schedule.hpp"
#include "tools/crossdock/pattern_input.hpp"

namespace crossdock::tool {

/// @brief Which exchanges are looked at, if any.
struct exchange_choice {
    bool is_chosen = false;
    std::vector<std::string> algorithms{"all"};
    std::string values = "indices";
};

/// @brief Adds --exchange and the options that need it.
/// @return --exchange
CLI::Option* add_exchange(CLI::App& verb, exchange_choice& options, const std::string& help);

using messages_of_all = std::vector<std::vector<sized_message>>;

/// @brief What all ranks send in the exchange of `bench exchange`.
messages_of_all messages_of(const workload& work, const exchange_choice& options);

/// @brief The names of all algorithms that are asked for.
/// @throws as `check_algorithms`
std::vector<std::string> algorithms_of(const exchange_choice& options, const topology& regions);

/// @brief What a name stands for.
struct found_algorithm {
    exchange_algorithm algorithm;
    count_t max_forwarded_bytes = std::numeric_limits<count_t>::max();
};

/// @brief The algorithm of a name, "auto" as it chooses where no two regions share memory.
found_algorithm find_algorithm(const std::string& name, const topology& regions,
                               const machine& m = default_machine());

}  // namespace crossdock::tool
