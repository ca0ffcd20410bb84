#include "replayed_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "crossdock/plan.hpp"
#include "crossdock/schedule.hpp"
#include "crossdock/simulate.hpp"

namespace crossdock {

namespace {

bool is_cheaper(const candidate_price& a, const candidate_price& b) {
    return a.seconds < b.seconds;
}

candidate_price price_of(const std::string& route, const plan_price& found) {
    stage_price sum;
    for (const auto& stage : found.stages) sum += stage.slowest;
    return {route, found.seconds, dominating_term(sum)};
}

}  // namespace

route_choice choose_by_replay(const rank_layout& layout, std::span<const pattern> patterns,
                              const machine& m, const estimate_options& options,
                              int num_candidates) {
    if (num_candidates < 1) {
        throw error(errc::invalid_argument,
                    fmt::format("cannot replay {} candidates; the minimum is 1", num_candidates));
    }
    validate(m);
    // One route's plans at a time: those of several may not fit into memory.
    const auto compiled = [&](const std::string& route) {
        return compile(layout.regions(), patterns, *make_route(route, layout.regions()),
                       {.deduplicate = options.deduplicate});
    };
    route_choice choice;
    auto& candidates = choice.candidates;
    for (const auto& route : candidate_routes(layout.regions(), m))
        candidates.push_back(price_of(route, price(layout, compiled(route), m, options.travel)));
    std::stable_sort(candidates.begin(), candidates.end(), is_cheaper);
    candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(num_candidates)));
    for (auto& one : candidates) {
        const auto replayed =
            simulate(layout, schedule_of(layout, compiled(one.route), options.travel), m);
        one.seconds = to_seconds(replayed.slowest);
    }
    std::stable_sort(candidates.begin(), candidates.end(), is_cheaper);
    return choice;
}

}  // namespace crossdock
