/// @file
/// @brief The shapes of grids, for the routes that travel over one.
#pragma once

#include <string_view>
#include <vector>

namespace crossdock {

/// @brief Reads a number of at least 1.
/// @param route_name  begins the text of an error
/// @throws error(errc::invalid_route)  it is none
int parse_positive(std::string_view text, std::string_view route_name);

/// @brief Reads K1, K2, … from "K1xK2x…".
/// @param route_name  begins the text of an error
/// @throws error(errc::invalid_route)  a dimension is no positive number, or there are more than 31
std::vector<int> parse_shape(std::string_view text, std::string_view route_name);

/// @brief Reads n from "n"; `balanced_shape` of that many dimensions.
/// @param route_name  begins the text of an error
/// @throws error(errc::invalid_route)  n is no positive number, or more than 31
std::vector<int> parse_balanced_shape(std::string_view text, std::string_view route_name,
                                      int num_cells);

/// @brief Whether K1 K2 … is at least `num_cells`.
bool product_reaches(const std::vector<int>& shape, int num_cells);

/// @brief n dimensions whose product is at least P and whose sum is near the least.
///
/// For P = 2^k, the first k mod n dimensions are 2^(floor(k/n)+1), the others 2^floor(k/n).
/// Otherwise all start at ceil(P^(1/n)), and the last ones are lowered by 1 while the product stays
/// at least P.
/// @param num_dimensions  at least 1
/// @par Source
/// \cite selvitopi2019vpt for powers of two.
std::vector<int> balanced_shape(int num_cells, int num_dimensions);

/// @brief ceil(log2 num_cells) dimensions of 2.
std::vector<int> hypercube_shape(int num_cells);

/// @brief Powers of two 2^e1, 2^e2, … with e1 < e2 < … and e1 + e2 + … = ceil(log2 num_cells).
///
/// The exponents are 1, 2, …, m with the largest m that has room; each of the last ones takes one
/// of the bits that are left over.
std::vector<int> increasing_shape(int num_cells);

/// @brief `increasing_shape`, backwards.
std::vector<int> decreasing_shape(int num_cells);

/// @brief The first half of the ceil(log2 num_cells) bits decreasing, the second increasing.
///
/// Of an odd number, the first half has one more.
std::vector<int> hourglass_shape(int num_cells);

/// @brief The first half of the bits, as in `hourglass_shape`, increasing, the second decreasing.
std::vector<int> inverse_hourglass_shape(int num_cells);

}  // namespace crossdock
