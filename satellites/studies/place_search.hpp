/// @file
/// @brief Which places of a grid to give to which ranks, such that less is forwarded.
#pragma once

#include <span>
#include <vector>

#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief The items that one rank has for another.
struct rank_traffic {
    rank_t source;
    rank_t destination;
    count_t num_items;

    friend bool operator==(const rank_traffic&, const rank_traffic&) = default;
};

/// @brief Looks for places at which ranks with many items for each other differ in few coordinates.
///
/// An item takes a hop for each coordinate in which its source and its destination differ. Ranks
/// that differ in one coordinate forward nothing for each other.
///
///     2x2, 4 ranks, 9 items from 0 to 3     own numbers       0 -> 2 -> 3   18 items sent
///                                           3 at place 1      0 -> 3         9 items sent
///
/// Two regions of equal size may exchange all their places, and ranks of one region theirs. So the
/// places of a region stay together as they were, and what it sends to others travels in as few
/// messages as before. Where there is one region, or each has one rank, all ranks may exchange places.
///
/// First regions exchange places while that saves hops. Then pairs of ranks are drawn, and exchange
/// places if that costs less than a threshold, which sinks to nothing: once from a high one and once
/// from a low one, the better counts. The draws are the same on every machine; no floating-point
/// number is computed with.
/// @param shape    K1, K2, … with a product of at least P
/// @param traffic  of all ranks; pairs may come again, and add up
/// @return the place of every rank, a permutation; that of their numbers where nothing better is found
/// @par Complexity
/// Up to 4096 exchanges are tried for each rank, and 2^23 together. Memory of P (K1 + K2 + …) numbers,
/// and of the pairs.
/// @par Source
/// Threshold accepting: Dueck, Scheuer 1990.
std::vector<rank_t> search_places(const topology& regions, std::span<const rank_t> shape,
                                  std::span<const rank_traffic> traffic);

}  // namespace crossdock
