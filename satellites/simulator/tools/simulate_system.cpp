#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "satellites/simulator/tools/simulate.hpp"

namespace crossdock::tool {

namespace {

constexpr double most_seconds = 1e6;  // the simulation counts picoseconds in 64 bits

struct late_rank {
    rank_t rank = 0;
    double seconds = 0;
};

late_rank parse_late(const std::string& text) {
    late_rank result;
    const char* const end = text.data() + text.size();
    const auto [colon, fault] = std::from_chars(text.data(), end, result.rank);
    if (fault == std::errc() && colon != end && *colon == ':') {
        const auto [stop, second_fault] = std::from_chars(colon + 1, end, result.seconds);
        if (second_fault == std::errc() && stop == end && result.seconds >= 0 &&
            result.seconds <= most_seconds)
            return result;
    }
    throw error(
        errc::invalid_argument,
        fmt::format("\"{}\" is no RANK:SECONDS with seconds in [0, {}]", text, most_seconds));
}

std::vector<picoseconds> start_times(const std::vector<std::string>& late, rank_t num_ranks) {
    if (late.empty()) return {};
    std::vector<picoseconds> start(static_cast<std::size_t>(num_ranks), 0);
    for (const auto& text : late) {
        const auto [rank, seconds] = parse_late(text);
        if (rank < 0 || rank >= num_ranks) {
            throw error(errc::rank_out_of_range,
                        fmt::format("the late rank {} is outside [0, {})", rank, num_ranks));
        }
        start[static_cast<std::size_t>(rank)] = to_picoseconds(seconds);
    }
    return start;
}

// What a share of the time is called, and how much it is.
struct named_share {
    const char* name;
    double share;
};

std::vector<named_share> named_shares(const time_shares& shares) {
    const auto of = [&](locality_level level) {
        return shares.by_level[static_cast<std::size_t>(level)];
    };
    // What a rank does by itself is copying, and the noise on it.
    std::vector<named_share> result{{"waiting", shares.idle},
                                    {"copying", shares.copying + of(locality_level::self)},
                                    {"region", of(locality_level::region)},
                                    {"node", of(locality_level::node)},
                                    {"network", of(locality_level::network)}};
    double sum = 0;
    for (const auto& [name, time] : result) sum += time;
    for (auto& [name, share] : result) share = sum > 0 ? share / sum : 0;
    return result;
}

}  // namespace

simulated_system make_system(const simulate_options& options) {
    auto layout = options.where.layout(options.input.regions());
    auto hardware = options.where.load(layout);
    simulated_system system{std::move(layout), std::move(hardware), {}};
    system.conditions.start = start_times(options.late, system.layout.num_ranks());
    system.conditions.mean_noise = to_picoseconds(options.noise_seconds);
    system.conditions.seed = options.seed;
    if (options.is_loggp) system.conditions.charge = charging::loggp;
    system.conditions.gap = to_picoseconds(options.gap_seconds);
    return system;
}

simulated_time::simulated_time(const simulation& outcome)
    : slowest_seconds(to_seconds(outcome.slowest)),
      mean_seconds(outcome.mean / picoseconds_per_second),
      shares(outcome.shares) {}

double speedup(double other_seconds, double seconds) {
    return seconds > 0 ? other_seconds / seconds : 1;
}

std::string precise_microseconds(double seconds) { return fmt::format("{:.3f}", 1e6 * seconds); }

json system_json(const simulate_options& options, const simulated_system& system) {
    const auto& regions = system.layout.regions();
    json document{{"schema", "crossdock.simulate/1"},
                  {"file", options.input.file},
                  {"ranks", regions.num_ranks()},
                  {"regions", regions.num_regions()},
                  {"topology", regions.to_string()},
                  {"nodes", system.layout.nodes().to_string()},
                  {"partition", options.input.partition},
                  {"machine", system.hardware.name},
                  {"charging", options.is_loggp ? "loggp" : "links"}};
    if (options.is_loggp) document["gap_seconds"] = options.gap_seconds;
    return document;
}

std::string charging_text(const simulate_options& options) {
    return options.is_loggp ? fmt::format(", strict LogGP with g = {:g} s", options.gap_seconds)
                            : "";
}

json shares_json(const time_shares& shares) {
    json result = json::object();
    for (const auto& [name, share] : named_shares(shares)) result[name] = share;
    return result;
}

std::vector<std::string> shares_cells(const time_shares& shares) {
    std::vector<std::string> cells;
    for (const auto& [name, share] : named_shares(shares))
        cells.push_back(fmt::format("{:.0f}%", 100 * share));
    return cells;
}

}  // namespace crossdock::tool
