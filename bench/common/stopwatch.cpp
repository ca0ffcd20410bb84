#include "bench/common/stopwatch.hpp"

#include <algorithm>

namespace crossdock::bench {

namespace {

timing summarize(std::vector<double> rounds) {
    auto seconds = rounds;
    std::sort(seconds.begin(), seconds.end());
    const auto n = seconds.size();
    return {seconds.front(),        seconds[n / 4], (seconds[(n - 1) / 2] + seconds[n / 2]) / 2,
            seconds[n - 1 - n / 4], seconds.back(), std::move(rounds)};
}

}  // namespace

std::vector<timing> slowest_of(const communicator& comm, const std::vector<double>& seconds,
                               std::size_t num_rounds) {
    std::vector<double> most(seconds.size());
    CROSSDOCK_MPI(MPI_Reduce(seconds.data(), most.data(), checked_cast<int>(most.size()),
                             MPI_DOUBLE, MPI_MAX, 0, comm.get()));
    std::vector<timing> timings;
    const auto length = static_cast<count_t>(num_rounds);
    for (auto first = most.begin(); first != most.end(); first += length)
        timings.push_back(summarize({first, first + length}));
    return timings;
}

}  // namespace crossdock::bench
