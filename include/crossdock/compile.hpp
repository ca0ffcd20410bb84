/// @file
/// @brief Compiles a pattern and a route into one plan for each rank, by hop-by-hop set-up.
#pragma once

#include <span>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/route.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Options for compiling plans; equal on all ranks.
struct compile_options {
    /// Whether an item is sent once to a next hop that several of its destinations share. If not,
    /// it is sent once for each.
    bool deduplicate = true;
};

/// @brief Compiles the patterns of all ranks offline.
///
/// Rank p's result is identical to what the overload with a context gives on rank p.
/// @param regions   P ranks
/// @param patterns  P patterns, entry p for rank p
/// @param r         a route made for `regions`
/// @return P plans, entry p for rank p; no reference to the arguments remains
/// @throws error(errc::size_mismatch)   there are not P patterns, or their `num_ranks` is not P
/// @throws error(errc::count_mismatch)  a sender and its receiver disagree; the text names both
/// ranks
/// @throws as `validate(pattern)`
/// @par Complexity
/// Time and memory O(H n) for H = r.num_stages() and n pairs of an item and a destination. Headers
/// hold runs of items, and for each run its source and destinations once.
/// @par Source
/// One scheme for the three steps of \cite collom2023neighbor and the stages of \cite
/// selvitopi2019vpt.
std::vector<plan> compile(const topology& regions, std::span<const pattern> patterns,
                          const route& r, const compile_options& options = {});

}  // namespace crossdock
