#include "bench/neighbor/overlap.hpp"

#include <algorithm>
#include <limits>

namespace crossdock::bench {

namespace {

// Between two of them a contender tests.
constexpr count_t num_pieces = 10;

// Additions and products that wait for each other: no memory, nothing for two cores to fight over.
void compute(count_t num_units) {
    static volatile double result = 1;
    double value = result;
    for (count_t unit = 0; unit < num_units; ++unit) {
        for (int k = 0; k < 16; ++k) value = value * 0.5 + 1;
    }
    result = value;
}

// The fastest of several tries, because others may hold the core; of the slowest rank.
double seconds_per_unit(const communicator& comm) {
    constexpr count_t num_units = 2000;
    double seconds = std::numeric_limits<double>::max();
    for (int round = 0; round < 20; ++round) {
        const double start_seconds = MPI_Wtime();
        compute(num_units);
        seconds = std::min(seconds, MPI_Wtime() - start_seconds);
    }
    CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm.get()));
    return seconds / static_cast<double>(num_units);
}

// How many units of computation fit into every contender's exchange; equal on all ranks.
std::vector<count_t> units_of(const communicator& comm, std::vector<double> exchange_seconds) {
    CROSSDOCK_MPI(MPI_Bcast(exchange_seconds.data(), checked_cast<int>(exchange_seconds.size()),
                            MPI_DOUBLE, 0, comm.get()));
    const double unit_seconds = seconds_per_unit(comm);
    std::vector<count_t> units;
    for (const double seconds : exchange_seconds)
        units.push_back(static_cast<count_t>(seconds / unit_seconds));
    return units;
}

void compute_between(contender& one, count_t num_units, bool has_tests) {
    one.start();
    if (!has_tests) compute(num_units);
    for (count_t piece = 0; has_tests && piece < num_pieces; ++piece) {
        compute(num_units * (piece + 1) / num_pieces - num_units * piece / num_pieces);
        one.test();
    }
    one.wait();
}

}  // namespace

double overlap::hidden_seconds() const noexcept {
    return exchange_seconds.median + compute_seconds.median - together_seconds.median;
}

double overlap::efficiency() const noexcept { return hidden_seconds() / exchange_seconds.median; }

std::vector<overlap> measure_overlap(const communicator& comm,
                                     const std::vector<contender*>& contenders,
                                     std::vector<double> exchange_seconds, int iterations,
                                     bool has_tests) {
    const auto units = units_of(comm, std::move(exchange_seconds));
    const std::size_t num_contenders = contenders.size();
    const auto keep = [](std::size_t) {};
    const auto run = [&](std::size_t c) {
        contender& one = *contenders[c % num_contenders];
        const count_t num_units = units[c % num_contenders];
        switch (c / num_contenders) {
            case 0: return one.exchange();
            case 1: return compute(num_units);
            default: return compute_between(one, num_units, has_tests);
        }
    };
    stopwatch times(comm, 3 * num_contenders, iterations);
    times.time_in_turn(keep, run);
    const auto seconds = times.slowest();
    std::vector<overlap> found;
    for (std::size_t c = 0; c < num_contenders; ++c)
        found.push_back({seconds[c], seconds[num_contenders + c], seconds[2 * num_contenders + c]});
    return found;
}

}  // namespace crossdock::bench
