#include "crossdock/simulator/replayed_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "crossdock/plan/compile.hpp"
#include "crossdock/simulator/plan_schedule.hpp"
#include "crossdock/simulator/simulate.hpp"

namespace crossdock {

route_choice choose_by_replay(const rank_layout& layout, std::span<const pattern> patterns,
                              const machine& m, const estimate_options& options,
                              int num_candidates) {
    if (num_candidates < 1) {
        throw error(errc::invalid_argument,
                    fmt::format("{} candidates are to be replayed", num_candidates));
    }
    auto choice = choose_route(layout, patterns, m, options);
    auto& candidates = choice.candidates;
    candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(num_candidates)));
    for (auto& candidate : candidates) {
        const auto plans =
            compile(layout.regions(), patterns, *make_route(candidate.route, layout.regions()),
                    {.deduplicate = options.deduplicate});
        const auto replayed = simulate(layout, schedule_of(layout, plans, options.travel), m);
        candidate.seconds = to_seconds(replayed.slowest);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    return choice;
}

}  // namespace crossdock
