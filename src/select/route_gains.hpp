/// @file
/// @brief Why an object takes its route, and what it gains.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../base/exchange_watch.hpp"
#include "crossdock/route_choice.hpp"

namespace crossdock {

/// @brief The seconds of the fastest candidate along `direct` over those of a route; 0 where either is not there.
/// @param candidates  with members `route` and `seconds`; a name may begin with a method, as "owners direct"
template <class Candidates>
double gain_over_direct(const Candidates& candidates, std::string_view route) {
    double direct = 0, own = 0;
    for (const auto& one : candidates) {
        const std::string_view name = one.route;
        if (name == route) own = one.seconds;
        if (name != "direct" && !name.ends_with(" direct")) continue;
        if (direct == 0 || one.seconds < direct) direct = one.seconds;
    }
    return own > 0 ? direct / own : 0;
}

/// @param choice  null where the route was given
inline void note_route(watched_object& object, const std::string& route, const route_choice* choice,
                       bool is_trying, const std::vector<tried_route>& tried) {
    object.route = route;
    object.why = is_trying        ? "trying"
                 : !tried.empty() ? "measured"
                 : choice         ? "estimated"
                                  : "given";
    object.estimated_gain = choice ? gain_over_direct(choice->candidates, route) : 0;
    object.measured_gain = gain_over_direct(tried, route);
}

}  // namespace crossdock
