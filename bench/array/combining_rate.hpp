/// @file
/// @brief How fast one core combines requests.
#pragma once

#include <string>
#include <vector>

#include "bench/common/stopwatch.hpp"
#include "crossdock/detail/array/combining.hpp"

namespace crossdock::bench::array {

/// @brief Requests for entries drawn uniformly, so many that a share of them is for the same as another.
struct rate_options {
    count_t num_requests = count_t{1} << 17;
    count_t stride = 1;       ///< every so many entries there is one that may be drawn
    double duplicates = 0.3;  ///< in [0.01, 1): with fewer, entries would be countless
    int warm_ups = 3;
    int iterations = 30;
};

/// @brief How a strategy did with reads of 4-byte entries.
struct combining_rate {
    combining strategy = combining::none;
    bool is_verified = false;
    timing combine_seconds;  ///< checking indices, and finding equal ones
    timing read_seconds;     ///< the whole batch, with looking entries up and handing them out
};

struct rate_result {
    count_t num_entries = 0;  ///< the number for which that share is to be expected
    count_t num_distinct = 0;
    timing memcpy_seconds;  ///< of as many 4-byte values as there are requests
    std::vector<combining_rate> rates;
};

/// @brief Reads the same entries with every strategy, in turn.
/// @param comm  of one rank
/// @par Collective
/// Yes, but one rank waits for nobody.
rate_result measure_combining(const communicator& comm, const std::vector<combining>& strategies,
                              const rate_options& options);

}  // namespace crossdock::bench::array
