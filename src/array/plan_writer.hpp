// A batch that was carried out, as a plan.
#pragma once

#include <span>

#include "crossdock/plan.hpp"
#include "held_requests.hpp"

namespace crossdock {

/// @brief The plan that carries a batch of reads out again: forward it brings what was read, in
/// reverse it updates.
///
/// Its items are this rank's entries, its slots the rank's own requests, in their order. Its first
/// stage is the last that the requests took: replies travel from the owners back.
/// @param hops  all hops of one rank, after the requests have reached their owners
template <class Index>
plan write_plan(const batch_route& routing, const request_traits& kind,
                std::span<const held_requests<Index>> hops);

}  // namespace crossdock
