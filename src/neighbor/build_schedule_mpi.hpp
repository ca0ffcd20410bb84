/// @file
/// @brief A plan's shared-memory schedule, found together with the ranks that share memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "../context/node_memory_mpi.hpp"
#include "../executor/shared_memory_schedule.hpp"
#include "crossdock/plan.hpp"

namespace crossdock {

/// @brief The direction in which a plan is run.
enum class direction { forward, reverse };

/// @brief Compiles directions of a plan into what this rank does, all in the same rounds.
/// @param rank            of the plan
/// @param p               the plan; null only with a fault
/// @param ways            at least one; equal on all ranks of the domain
/// @param memory          of this rank's domain, whose other ranks make the same call with their
///                        plans; null for a rank that shares nothing
/// @param max_part_items  longer messages between domains are cut
/// @param stripes         which of them are split, or null; equal on all ranks
/// @param fault           what this rank has failed with before; receives what it fails with when it
///                        has heard from all others
/// @return one schedule for each direction; none with a fault
/// @throws error  the fault of the domain's lowest rank that has one, on all ranks of the domain
/// @par Collective
/// Over the domain: waits for its ranks, and makes progress on all work meanwhile. It sends one
/// message for each two ranks of the domain that exchange in a stage, and makes one sparse
/// exchange. Without `memory` it does not communicate.
/// @par Complexity
/// Linear in the plan's runs of items. For each run, a search among the sections that its message
/// or output reads.
std::vector<std::shared_ptr<const shared_memory_schedule>> build_schedules_mpi(
    rank_t rank, const plan* p, std::span<const direction> ways, const node_memory* memory,
    count_t max_part_items, const stripe_rule* stripes, std::optional<error>& fault);

}  // namespace crossdock
