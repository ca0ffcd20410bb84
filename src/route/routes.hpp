/// @file
/// @brief What the registry knows of each route: how to make it, and its candidates where these differ.
#pragma once

#include "crossdock/route.hpp"

namespace crossdock {

std::unique_ptr<route> make_direct(std::string_view parameters, const topology& regions);
/// @brief As `make_direct`, with the name of a route by region: for topologies without `has_regions_of_ranks`.
std::unique_ptr<route> make_one_hop(std::string name, const topology& regions);

std::unique_ptr<route> make_two_step(std::string_view parameters, const topology& regions);
std::vector<std::string> two_step_candidates(const topology& regions, bool shares_cores);

/// @param parameters  ":K" for at most K leaders of a region, or none
std::unique_ptr<route> make_three_step(std::string_view parameters, const topology& regions);
/// @param shares_cores  one leader for all is a candidate, too: a rank that waits for messages takes time from others
std::vector<std::string> three_step_candidates(const topology& regions, bool shares_cores);

/// @param parameters  ":n" for n balanced dimensions of regions; none for ceil(log2 R) dimensions of 2
std::unique_ptr<route> make_locality(std::string_view parameters, const topology& regions);
/// @brief 2 and 3 dimensions, where there are regions enough for so many to differ from fewer.
std::vector<std::string> locality_candidates(const topology& regions, bool shares_cores);

/// @param parameters  ":K1xK2x…" with a product of at least P, or ":n" for n balanced dimensions
std::unique_ptr<route> make_grid(std::string_view parameters, const topology& regions);
/// @brief 2, 3 and 4 dimensions, but not as many as the hypercube has.
std::vector<std::string> grid_candidates(const topology& regions, bool shares_cores);

/// @brief ceil(log2 P) dimensions of 2.
/// @param parameters  none
std::unique_ptr<route> make_hypercube(std::string_view parameters, const topology& regions);
/// @brief Where it has several dimensions.
std::vector<std::string> hypercube_candidates(const topology& regions, bool shares_cores);

/// @brief Throws unless `parameters` is empty, for routes that take none.
/// @throws error(errc::invalid_route)  otherwise
void reject_parameters(std::string_view name, std::string_view parameters);

}  // namespace crossdock
