#include "crossdock/simulator/replayed_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "crossdock/plan/compile.hpp"
#include "crossdock/simulator/plan_schedule.hpp"
#include "crossdock/simulator/simulate.hpp"

namespace crossdock {

namespace {

struct planned_candidate {
    candidate_price price;
    std::vector<plan> plans;
};

bool is_cheaper(const planned_candidate& a, const planned_candidate& b) {
    return a.price.seconds < b.price.seconds;
}

candidate_price price_of(const std::string& route, const plan_price& found) {
    stage_price sum;
    for (const auto& stage : found.stages) sum += stage.slowest;
    return {route, found.seconds, dominating_term(sum)};
}

// The candidates whose plans cost least, at most so many.
std::vector<planned_candidate> plan_cheapest(const rank_layout& layout,
                                             std::span<const pattern> patterns, const machine& m,
                                             const estimate_options& options,
                                             std::size_t max_candidates) {
    std::vector<planned_candidate> cheapest;
    for (const auto& name : candidate_routes(layout.regions())) {
        auto plans = compile(layout.regions(), patterns, *make_route(name, layout.regions()),
                             {.deduplicate = options.deduplicate});
        const auto found = price_of(name, price(layout, plans, m, options.travel));
        cheapest.push_back({found, std::move(plans)});
        std::stable_sort(cheapest.begin(), cheapest.end(), is_cheaper);
        if (cheapest.size() > max_candidates) cheapest.pop_back();
    }
    return cheapest;
}

}  // namespace

route_choice choose_by_replay(const rank_layout& layout, std::span<const pattern> patterns,
                              const machine& m, const estimate_options& options,
                              int num_candidates) {
    if (num_candidates < 1) {
        throw error(errc::invalid_argument,
                    fmt::format("{} candidates are to be replayed", num_candidates));
    }
    validate(m);
    auto candidates =
        plan_cheapest(layout, patterns, m, options, static_cast<std::size_t>(num_candidates));
    for (auto& [price, plans] : candidates) {
        const auto replayed = simulate(layout, schedule_of(layout, plans, options.travel), m);
        price.seconds = to_seconds(replayed.slowest);
    }
    std::stable_sort(candidates.begin(), candidates.end(), is_cheaper);
    route_choice choice;
    for (auto& one : candidates) choice.candidates.push_back(std::move(one.price));
    return choice;
}

}  // namespace crossdock
