#include "bench/common/stopwatch.hpp"

#include <algorithm>

namespace crossdock::bench {

namespace {

timing summarize(std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    const auto n = seconds.size();
    return {seconds.front(), seconds[n / 4], (seconds[(n - 1) / 2] + seconds[n / 2]) / 2,
            seconds.back()};
}

}  // namespace

std::vector<timing> stopwatch::slowest() const {
    std::vector<double> most(seconds_.size());
    CROSSDOCK_MPI(MPI_Reduce(seconds_.data(), most.data(), checked_cast<int>(most.size()),
                             MPI_DOUBLE, MPI_MAX, 0, comm_.get()));
    std::vector<timing> timings;
    for (auto first = most.begin(); first != most.end();
         first += static_cast<count_t>(num_rounds_)) {
        timings.push_back(summarize({first, first + static_cast<count_t>(num_rounds_)}));
    }
    return timings;
}

}  // namespace crossdock::bench
