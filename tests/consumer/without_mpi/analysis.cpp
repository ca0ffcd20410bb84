// What a program outside the project writes to simulate plans: fails unless the message takes time.
#include "crossdock/analysis.hpp"
#include "two_ranks.hpp"

int main() {
    const auto regions = crossdock::topology::from_string("2x1");
    const crossdock::rank_layout layout(regions);
    const auto plans = plans_of(regions, two_patterns());
    const auto simulated = simulate(layout, crossdock::schedule_of(layout, plans),
                                    crossdock::machine_presets().front());
    return simulated.finish.size() == 2 && simulated.finish[1] > simulated.finish[0] &&
                   simulated.slowest == simulated.finish[1]
               ? 0
               : 1;
}
