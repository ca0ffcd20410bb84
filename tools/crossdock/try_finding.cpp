#include "tools/crossdock/try_finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace crossdock::tool {

namespace {

constexpr double as_fast = 1.05;

const measured_contender& fastest(std::span<const measured_contender> contenders, bool is_route) {
    return *std::ranges::min_element(contenders, {}, [&](const auto& one) {
        return one.is_route == is_route ? one.median : INFINITY;
    });
}

const measured_contender& simplest_fast_route(std::span<const measured_contender> contenders) {
    const auto& least = fastest(contenders, true);
    const auto direct = std::ranges::find_if(contenders, [&](const auto& one) {
        return one.is_route && one.name == "direct" && one.median <= as_fast * least.median;
    });
    return direct != contenders.end() ? *direct : least;
}

std::string microseconds_of(const measured_contender& one) {
    return fmt::format("{:.1f} microseconds", 1e6 * one.median);
}

std::string text_of_gain(const finding& about, const measured_contender& route,
                         const measured_contender& mpi) {
    const auto head = fmt::format(
        "The route {} of crossdock takes {:.2f} times as long as the fastest that MPI offers, {}: "
        "{} instead of {}.",
        route.name, about.ratio, label_of(mpi.name), microseconds_of(route), microseconds_of(mpi));
    if (*about.exchanges_to_pay == 0) return head + " Its set-up takes no longer, either.";
    return head +
           fmt::format(" Its set-up pays off after {:.0f} exchanges.", *about.exchanges_to_pay);
}

std::string text_of_none(const finding& about, const measured_contender& route,
                         const measured_contender& mpi) {
    return fmt::format(
        "Nothing is gained: leave it to MPI. MPI's fastest, {}, takes {}, and the "
        "route {} of crossdock takes {}, {:.2f} "
        "times as long{}.",
        label_of(mpi.name), microseconds_of(mpi), route.name, microseconds_of(route), about.ratio,
        about.ratio < 1 ? ", which is within the variation between rounds" : "");
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
        case outcome::wrong: return "wrong";
        case outcome::nothing_sent: break;
    }
    return "nothing_sent";
}

finding judge(std::span<const measured_contender> contenders, long long num_messages) {
    const auto bad = std::ranges::find(contenders, false, &measured_contender::is_verified);
    if (bad != contenders.end())
        return {outcome::wrong,
                bad->name,
                "",
                1,
                {},
                label_of(bad->name) + " brought wrong values: nothing here can be trusted."};
    if (num_messages == 0)
        return {outcome::nothing_sent,
                "",
                "",
                1,
                {},
                "No rank sends anything to another: there is nothing to gain."};
    const auto& mpi = fastest(contenders, false);
    const auto& route = simplest_fast_route(contenders);
    finding found{outcome::no_gain, mpi.name, route.name, route.median / mpi.median, {}, ""};
    if (as_fast * route.median <= mpi.median && route.median < mpi.lower_quartile) {
        found.found = outcome::gain;
        const double more = route.setup_seconds - mpi.setup_seconds;
        found.exchanges_to_pay = std::max(0.0, std::ceil(more / (mpi.median - route.median)));
        found.text = text_of_gain(found, route, mpi);
    } else {
        found.text = text_of_none(found, route, mpi);
    }
    return found;
}

}  // namespace crossdock::tool
