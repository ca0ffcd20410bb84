/// @file
/// @brief What routes would cost for a pattern, before any plan is compiled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/base/word_message.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/price.hpp"
#include "crossdock/route.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What an estimate is made for; equal on all ranks.
struct estimate_options {
    travel_options travel;
    /// An item whose destinations share the next hop is sent there once.
    bool deduplicate = true;
    /// How often a rank goes through its slots: once to fill them, and again if it combines them.
    count_t passes_over_slots = 1;
};

/// @brief The routes that may be cheapest on these ranks, by what `registered_routes` say of
/// themselves; `direct` first.
///
/// Of those of the library: those by region where there are several regions of several ranks; grids
/// of 2, 3 and 4 dimensions and the hypercube where there are ranks enough for each to differ.
/// `three_step:1` where ranks share cores: a rank that waits for messages takes time from others.
std::vector<std::string> candidate_routes(const topology& regions, const machine& m);

/// @brief What a candidate costs a rank, stage by stage.
///
/// Of a stage in the middle a rank knows its own items, which several ranks have then, and not
/// those of others that it has itself. If all ranks were like it, it would have as many.
struct estimated_route {
    std::vector<stage_price> alone;     ///< one of those ranks with nothing of others
    std::vector<stage_price> together;  ///< if all ranks were like this one
};

/// @brief One rank's part in estimating what every candidate costs; one round inside the regions.
///
///     route_estimator part(layout, p, candidates, m, options);
///     part.receive(exchange(part.send()));         // with all members of the region
///     prices of rank p = part.prices();
///
/// The first hop of a rank's own items and the last of what it receives are known, and so is all of
/// `direct`. What a rank forwards for others is taken to be what others forward for it: along each
/// route it follows its own items, and those that it receives, and counts the different steps of
/// every stage. Members of a region tell each other how many items they have for which region, so
/// that the messages of `three_step` are known as well. Of items that several of them get from
/// elsewhere as many are taken to be equal as if each were asked for alike; a sender there is taken to
/// have as many as the members that send most.
/// @par Complexity
/// Time O(H (n + k log k) + S (k + R + H)) for n items to and from k neighbors, H
/// the stages of all candidates, S members of the region and R regions that they talk with. S - 1
/// messages, which take 2 R + H words each and what their receivers forward for the rank; none if
/// there is one region only.
class route_estimator {
  public:
    /// @param layout      borrowed, as are `p`, `candidates` and `m`
    /// @param candidates  made for the layout's regions
    /// @pre `validate(p)` holds, and `p` is of the layout's number of ranks
    route_estimator(const rank_layout& layout, const pattern& p,
                    const std::vector<std::unique_ptr<route>>& candidates, const machine& m,
                    const estimate_options& options);
    ~route_estimator();

    /// @brief A message to every other member of the region, if there are several regions.
    std::vector<word_message> send() const;

    /// @brief What the other members of the region sent.
    void receive(const std::vector<word_message>& inbox);

    /// @brief This rank's prices of each candidate.
    const std::vector<estimated_route>& prices() const;

  private:
    class CROSSDOCK_HIDDEN implementation;
    std::unique_ptr<implementation> state_;
};

}  // namespace crossdock
