// What routes would cost for a pattern, before any plan is compiled.
#pragma once

#include <memory>
#include <vector>

#include "../base/word_message.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/route.hpp"
#include "crossdock/route_choice.hpp"
#include "region_trace.hpp"

namespace crossdock {

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
/// Complexity: Time O(H (n + k log k) + S (k + R + H)) for n items to and from k neighbors, H
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
    const std::vector<estimated_route>& prices() const { return prices_; }

  private:
    struct route_trace;

    route_trace follow(const route& r) const;
    estimated_route price(std::size_t candidate, std::size_t first_stage) const;
    template <class PartOf>
    std::vector<stage_price> price(std::size_t candidate, std::size_t first_stage,
                                   node_items stage_items::*of_node, PartOf&& part_of) const;

    const estimate_frame frame_;
    const std::vector<std::unique_ptr<route>>& candidates_;
    member_summary own_;
    region_summary region_;
    std::vector<route_trace> trace_;  // by candidate, as are prices
    std::vector<estimated_route> prices_;
};

}  // namespace crossdock
