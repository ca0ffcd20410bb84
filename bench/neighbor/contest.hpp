/// @file
/// @brief Contenders checked, and then timed against each other.
#pragma once

#include <optional>

#include "bench/common/share.hpp"
#include "bench/common/stopwatch.hpp"
#include "bench/neighbor/contender.hpp"
#include "bench/neighbor/overlap.hpp"

namespace crossdock::bench {

/// @brief How long a contest lasts; equal on all ranks.
struct contest_options {
    direction way = direction::forward;
    std::size_t item_bytes = 8;
    int warm_ups = 10;
    int iterations = 100;
    int in_a_row = 1;  ///< exchanges of an iteration, which is their mean
    int setups = 5;
    bool has_overlap = false;          ///< whether overlap is measured too; only of one workload
    bool has_progress_thread = false;  ///< nobody tests while it computes
    /// Whether products are timed too, in turn with exchanges; only forward, with items of 8 bytes.
    bool has_product = false;
};

/// @brief What a contender's check found.
struct check_result {
    bool is_verified = false;
    traffic sent;  ///< by all ranks together
};

/// @brief How one contender did.
struct standing {
    std::string name;
    std::string executor;  ///< as `entrant::executor`
    bool is_deduplicated = false;
    check_result found;
    timing setup_seconds;  ///< until the first exchange is complete, which pays for what is lazy
    timing exchange_seconds;
    std::optional<timing> choose_seconds;  ///< of the set-up, if the route was chosen
    /// Of the last exchange, if it is the library; of several workloads all routes that differ.
    std::vector<std::string> routes;
    std::optional<timing> product_seconds;  ///< exchange and local product, if `has_product`
    std::optional<overlap> hidden;          ///< if `contest_options::has_overlap`
};

/// @brief Whether the contender does what it must. Forward: every rank gets every byte of every slot,
/// and y = A x is bitwise the serial one. In reverse: sums of every rank's rows become the serial
/// column sums.
/// @par Collective
/// Yes; blocks.
check_result check(const context& where, const share& part, const entrant& candidate,
                   const contest_options& options);

/// @brief Checks every contender, then times them in turn as a `stopwatch` does; those that try several
/// ways are done with that before exchanges are timed.
/// @param parts  one of every workload, at least one; an exchange is that of all, one after the other
/// @pre without `has_overlap`, or one part
/// @return on rank 0; the times mean nothing on others
/// @par Collective
/// Yes; blocks.
/// @throws error  as the contenders' set-up, on all ranks
std::vector<standing> contest(const context& where, std::span<const share> parts,
                              const std::vector<entrant>& entrants, const contest_options& options);

}  // namespace crossdock::bench
