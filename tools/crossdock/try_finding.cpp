#include "tools/crossdock/try_finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace crossdock::tool {

namespace {

const measured_contender& fastest(std::span<const measured_contender> contenders, bool is_route) {
    return *std::ranges::min_element(contenders, {}, [&](const auto& one) {
        return one.is_route == is_route ? one.median : INFINITY;
    });
}

round_ratio compare(const measured_contender& one, const measured_contender& other) {
    return compare_rounds(one.rounds, other.rounds);
}

const measured_contender& route_to_judge(std::span<const measured_contender> contenders,
                                         const measured_contender& mpi) {
    const auto& least = fastest(contenders, true);
    const auto direct = std::ranges::find_if(
        contenders, [](const auto& one) { return one.is_route && one.name == "direct"; });
    const bool is_as_good = direct != contenders.end() &&
                            compare(*direct, mpi).found == compare(least, mpi).found &&
                            compare(least, *direct).found != decision::gain;
    return is_as_good ? *direct : least;
}

outcome outcome_of(decision found) {
    switch (found) {
        case decision::gain: return outcome::gain;
        case decision::no_gain: return outcome::no_gain;
        case decision::undecided: break;
    }
    return outcome::undecided;
}

std::string text_of(const finding& about, const measured_contender& route,
                    const measured_contender& mpi) {
    const auto ratio = fmt::format(
        "The route {} of crossdock takes {} times as long as the fastest that MPI offers, {}: "
        "medians of {:.1f} and {:.1f} microseconds.",
        route.name, about.ratio.text(), label_of(mpi.name), 1e6 * route.median, 1e6 * mpi.median);
    if (about.found == outcome::no_gain) return "Nothing is gained: leave it to MPI. " + ratio;
    if (about.found == outcome::undecided)
        return fmt::format(
            "Undecided after {} rounds: measure longer, by --seconds or --iterations. {}",
            route.rounds.size(), ratio);
    if (*about.exchanges_to_pay == 0) return ratio + " Its set-up takes no longer, either.";
    return fmt::format("{} Its set-up pays off after {:.0f} exchanges.", ratio,
                       *about.exchanges_to_pay);
}

}  // namespace

std::string label_of(const std::string& name) {
    if (name == "mpi_persistent") return "MPI by hand, persistent";
    if (name == "mpi_neighbor_alltoallv") return "MPI_Neighbor_alltoallv";
    if (name == "mpi_neighbor_alltoallv_init") return "MPI_Neighbor_alltoallv_init";
    return "crossdock, " + name;
}

const char* to_string(outcome found) {
    switch (found) {
        case outcome::gain: return "gain";
        case outcome::no_gain: return "no_gain";
        case outcome::undecided: return "undecided";
        case outcome::wrong: return "wrong";
        case outcome::nothing_sent: break;
    }
    return "nothing_sent";
}

finding judge(std::span<const measured_contender> contenders, long long num_messages) {
    const auto bad = std::ranges::find(contenders, false, &measured_contender::is_verified);
    finding found;
    if (bad != contenders.end()) {
        found.found = outcome::wrong;
        found.mpi = bad->name;
        found.text = label_of(bad->name) + " brought wrong values: nothing here can be trusted.";
        return found;
    }
    if (num_messages == 0) {
        found.text = "No rank sends anything to another: there is nothing to gain.";
        return found;
    }
    const auto& mpi = fastest(contenders, false);
    const auto& route = route_to_judge(contenders, mpi);
    found.mpi = mpi.name;
    found.route = route.name;
    found.ratio = compare(route, mpi);
    found.found = outcome_of(found.ratio.found);
    if (found.found == outcome::gain) {
        const double more_seconds = route.setup_seconds - mpi.setup_seconds;
        const double saved_seconds = (1 - found.ratio.median) * mpi.median;
        found.exchanges_to_pay = std::max(0.0, std::ceil(more_seconds / saved_seconds));
    }
    found.text = text_of(found, route, mpi);
    return found;
}

}  // namespace crossdock::tool
