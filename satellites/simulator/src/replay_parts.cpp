#include "replay_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace crossdock {

picoseconds random_delays::next() {
    if (mean_ == 0) return 0;
    const double uniform = (static_cast<double>(random_() >> 11U) + 0.5) * 0x1p-53;
    return static_cast<picoseconds>(std::llround(-std::log(uniform) * static_cast<double>(mean_)));
}

picoseconds start_of(const simulation_options& options, rank_t rank) {
    return options.start.empty() ? 0 : options.start[static_cast<std::size_t>(rank)];
}

void tell_progress(const simulation_options& options, std::size_t num_complete) {
    constexpr std::size_t interval = 1U << 16U;
    if (options.progress && num_complete % interval == 0) options.progress(num_complete);
}

void check_all_complete(std::size_t num_complete, std::size_t num_operations) {
    if (num_complete == num_operations) return;
    throw error(errc::invalid_argument, fmt::format("{} of {} operations wait for each other",
                                                    num_operations - num_complete, num_operations));
}

simulation result_of(std::vector<picoseconds> finish, time_shares shares) {
    simulation outcome;
    outcome.finish = std::move(finish);
    if (outcome.finish.empty()) return outcome;
    outcome.slowest = *std::max_element(outcome.finish.begin(), outcome.finish.end());
    double sum = 0;
    for (const auto end : outcome.finish) {
        sum += static_cast<double>(end);
        shares.idle += static_cast<double>(outcome.slowest - end);
    }
    outcome.mean = sum / static_cast<double>(outcome.finish.size());
    outcome.shares = shares;
    return outcome;
}

}  // namespace crossdock
