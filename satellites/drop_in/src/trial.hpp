/// @file
/// @brief Whether a plan is worth it: compared with what it would replace, when it is made.
#pragma once

#include <functional>
#include <span>

#include "crossdock/context.hpp"
#include "crossdock/plan.hpp"
#include "plan_facts.hpp"

namespace crossdock::drop_in {

/// @brief Runs a few exchanges by a plan and a few by MPI in turns.
/// @return what one took on the slowest rank; the median of the rounds
/// @par Collective
/// Yes; blocks.
trial_seconds compare(const communicator& comm, const std::function<void()>& by_plan,
                      const std::function<void()>& by_mpi);

/// @brief Whether calls should follow the plan: a trial is not exact, and a call takes some time besides.
bool wins(const trial_seconds& trial) noexcept;

/// @brief What a report tells of a plan, but for whether it is used.
/// @param destinations, lengths  whom this rank sends to, and how many bytes
/// @par Collective
/// Yes; blocks.
plan_facts facts_of(const context& where, const plan& along, std::span<const rank_t> destinations,
                    std::span<const count_t> lengths, trial_seconds trial);

}  // namespace crossdock::drop_in
