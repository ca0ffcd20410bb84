/// @file
/// @brief What holds of a sparse exchange whether it is run, counted or scheduled.
#pragma once

#include <memory>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/exchange_algorithm.hpp"
#include "crossdock/route.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @throws error(errc::rank_out_of_range)  the destination is no rank
/// @throws error(errc::invalid_argument)   `bytes` is negative
void check_sized_message(rank_t source, rank_t destination, count_t bytes, rank_t num_ranks);

/// @brief The route of `locality_personalized` and `locality_nonblocking` among the members of a
/// region; its ranks are their local ranks.
std::unique_ptr<route> make_inside_route(rank_t num_members, const machine& m);

/// @brief The bytes of a bundle of a routed exchange besides its messages' own; `forwarder.cpp` writes them.
count_t bundle_overhead_bytes(count_t num_envelopes) noexcept;

/// @brief The ranks that carry what node `from` has for node `to`, which is another one.
///
/// The members of a node share out the others by eights, the next ones first: the first member sends
/// to those 1 to 8 places further and receives from those as many places before, the second has those
/// 9 to 16 places away, and so on, in turn.
struct node_leaders {
    rank_t sender = 0;
    rank_t receiver = 0;
};

node_leaders leaders_between(const topology& nodes, region_t from, region_t to);

}  // namespace crossdock
