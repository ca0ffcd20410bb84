/// @file
/// @brief What the verb `simulate` replays: routes, level by level.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crossdock/plan.hpp"
#include "crossdock/price.hpp"
#include "crossdock/simulate.hpp"
#include "tools/crossdock/exchange_input.hpp"
#include "tools/crossdock/machine_input.hpp"
#include "tools/crossdock/pattern_input.hpp"
#include "tools/crossdock/progress.hpp"
#include "tools/crossdock/statistics_json.hpp"

namespace crossdock::tool {

/// @brief Whose communication is replayed on which machine, and how it is shown.
struct simulate_options {
    pattern_input input;
    machine_input where;
    std::vector<std::string> routes{"all"};
    bool without_dedup_only = false;
    count_t item_bytes = 8;
    std::string executor = "auto";

    std::vector<std::string> late;  ///< RANK:SECONDS
    double noise_seconds = 0;
    std::uint64_t seed = 0;
    bool is_loggp = false;  ///< charge messages as strict LogGP does
    double gap_seconds = 0;
    exchange_choice exchange;
    std::size_t memory_bytes = 0;  ///< 0: what is available
    bool as_json = false;

    /// @brief Whether ranks of a node exchange without messages.
    bool shares_memory() const noexcept { return executor != "persistent" && !is_loggp; }
};

/// @brief What the options say, made.
struct simulated_system {
    rank_layout layout;
    machine hardware;
    simulation_options conditions;
};

/// @throws error  as `topology::from_string` and `load_machine`
/// @throws error(errc::invalid_argument)  --late has no RANK:SECONDS or no such rank
simulated_system make_system(const simulate_options& options);

/// @brief How long an exchange takes, and where the time goes.
struct simulated_time {
    double slowest_seconds = 0;
    double mean_seconds = 0;
    time_shares shares;  ///< of all ranks together

    simulated_time() = default;
    explicit simulated_time(const simulation& outcome);
};

/// @brief One plan of all ranks, replayed.
struct simulated_route {
    std::string route;
    bool is_deduplicated = false;
    simulated_time time;
    double priced_seconds = 0;                ///< of these plans, by `price`
    std::optional<double> estimated_seconds;  ///< by `auto`, if it is a candidate there
    traffic_summary sent;
};

/// @brief One exchange over all routes.
struct simulated_level {
    std::vector<simulated_route> routes;
    double direct_seconds = 0;  ///< `direct`, not deduplicated, by messages
    std::string chosen;         ///< the route that `auto` takes
};

/// @brief Replays FILE over the routes; several results only for a hierarchy.
/// @throws error(errc::out_of_memory)  a route does not fit; nothing was replayed
std::vector<simulated_level> simulate_routes(const simulate_options& options,
                                             const simulated_system& system);

/// @brief Replays the sparse exchange of FILE by every algorithm, and prints how long it takes.
/// @throws error(errc::out_of_memory)  an algorithm does not fit; nothing was replayed
void simulate_exchange(const simulate_options& options, const simulated_system& system);

/// @brief How much faster than another one; 1 where nothing takes time.
double speedup(double other_seconds, double seconds);

/// @brief "1.605", of seconds.
std::string precise_microseconds(double seconds);

/// @brief "schema", "file", … "machine": what every document of `simulate` begins with.
json system_json(const simulate_options& options, const simulated_system& system);

/// @brief How messages are charged, for people, after a comma; empty for the usual way.
std::string charging_text(const simulate_options& options);

/// @brief {"waiting", "copying", "region", "node", "network"}, which add up to 1.
json shares_json(const time_shares& shares);

/// @brief The same in percent, for people.
std::vector<std::string> shares_cells(const time_shares& shares);

}  // namespace crossdock::tool
