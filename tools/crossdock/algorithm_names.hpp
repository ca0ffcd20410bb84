/// @file
/// @brief The exchange algorithms a user asks for.
#pragma once

#include <string>
#include <vector>

#include "crossdock/topology.hpp"

namespace crossdock::tool {

/// @brief The help text of `--algorithms`.
std::string algorithms_help();

/// @brief The names as given; "all" stands for auto, every registered algorithm, and routed over
/// the example of every registered route and over locality:1.
/// @param has_one_size  whether all messages have one size; "all" leaves out those of one size if not
std::vector<std::string> expand_algorithms(const std::vector<std::string>& names,
                                           bool has_one_size);

/// @brief Throws unless an exchange among these regions takes all the names.
/// @throws error  as `parse_exchange_algorithm`, and as `make_route` for routed ones
/// @throws error(errc::invalid_argument)  one of one size, and messages may differ in size
void check_algorithms(const std::vector<std::string>& names, bool has_one_size,
                      const topology& regions);

}  // namespace crossdock::tool
