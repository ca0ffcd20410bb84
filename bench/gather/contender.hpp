/// @file
/// @brief What competes in the gather-scatter benchmark.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/plan.hpp"

namespace crossdock::bench::gather {

/// @brief A gather-scatter that is set up.
class contender {
  public:
    contender() = default;
    virtual ~contender() = default;
    contender(const contender&) = delete;
    contender& operator=(const contender&) = delete;

    /// @brief Every copy of an id gets the sum of all copies.
    /// @param values  one for each id
    /// @par Collective
    /// Yes; blocks.
    virtual void combine(std::span<double> values) = 0;

    /// @brief What this rank sends in one operation.
    virtual traffic sent() const = 0;

    /// @brief Whether further operations are like the last one; the same on all ranks.
    virtual bool is_settled() const { return true; }

    /// @brief What it has chosen to do, if it has a choice.
    virtual std::string choice() const { return {}; }
};

/// @brief A contender that can be set up, again and again.
struct entrant {
    std::string name;
    bool is_baseline;
    /// Collective, as is the result's destructor.
    std::function<std::unique_ptr<contender>(const context&, std::span<const count_t>)> set_up;
};

/// @brief What the library is compared with: gslib's three methods, and the fastest of them.
///
/// | name | is |
/// |---|---|
/// | `pairwise` | a message to every rank that shares ids, receives first |
/// | `crystal_router` | ceil(log2 P) stages, each to half of the ranks; values of one id that meet are added |
/// | `all_reduce` | MPI_Allreduce of an array that has all shared ids |
/// | `tuned` | the one of these that took the least time when they were tried at set-up |
/// @par Source
/// gslib's methods. Differs: values of the crystal router stay where they are in its work array.
std::vector<entrant> baselines();

/// @brief The library.
/// @param way  a route, "auto" or "auto:measure"; or a method and a route, as "owners/direct"
entrant crossdock_way(const std::string& way, const std::string& executor);

}  // namespace crossdock::bench::gather
