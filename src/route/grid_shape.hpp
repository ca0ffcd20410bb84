/// @file
/// @brief The shapes of grids, for the routes that travel over one.
#pragma once

#include <string_view>
#include <vector>

namespace crossdock {

/// @brief Reads K1, K2, … from "K1xK2x…".
/// @param route_name  begins the text of an error
/// @throws error(errc::invalid_route)  a dimension is no positive number, or there are more than 31
std::vector<int> parse_shape(std::string_view text, std::string_view route_name);

/// @brief Reads n from "n"; `balanced_shape` of that many dimensions.
/// @param route_name  begins the text of an error
/// @throws error(errc::invalid_route)  n is no positive number, or more than 31
std::vector<int> parse_balanced_shape(std::string_view text, std::string_view route_name,
                                      int num_cells);

/// @brief ceil(log2 num_cells) dimensions of 2.
std::vector<int> hypercube_shape(int num_cells);

}  // namespace crossdock
