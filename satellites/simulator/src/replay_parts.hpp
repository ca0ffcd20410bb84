/// @file
/// @brief What the replays of a schedule have in common.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "crossdock/simulate.hpp"

namespace crossdock {

/// @brief Exponentially distributed delays.
class random_delays {
  public:
    random_delays(picoseconds mean, std::uint64_t seed) : mean_(mean), random_(seed) {}

    picoseconds next();

  private:
    picoseconds mean_;
    std::mt19937_64 random_;
};

/// @brief When a rank starts.
picoseconds start_of(const simulation_options& options, rank_t rank);

/// @brief Calls `options.progress` from time to time.
void tell_progress(const simulation_options& options, std::size_t num_complete);

/// @throws error(errc::invalid_argument)  operations are left over, as they wait for each other
void check_all_complete(std::size_t num_complete, std::size_t num_operations);

/// @param finish  of each rank
/// @param shares  without what ranks wait for the slowest one in the end
simulation result_of(std::vector<picoseconds> finish, time_shares shares);

}  // namespace crossdock
