#include "bench/stream/workload.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace crossdock::bench::streaming {

namespace {

count_t updates_of_all(const workload_options& options, count_t num_workers) {
    return options.updates * num_workers;
}

count_t edges_of_all(const workload_options&, count_t) { return 0; }

count_t events_of_all(const workload_options& options, count_t num_workers) {
    return options.lps * options.lp_events * (options.lp_hops + 1) * num_workers;
}

count_t pings_of_all(const workload_options& options, count_t num_workers) {
    return options.updates * (num_workers / 2);
}

}  // namespace

const std::vector<workload_entry>& registered_workloads() {
    static const std::vector<workload_entry> all{
        {"histogram", "every worker adds 1 to random entries of a table", "updates",
         &histogram_entrants, &updates_of_all},
        {"index_gather", "every worker reads random entries of a table", "reads",
         &index_gather_entrants, &updates_of_all},
        {"sssp", "shortest paths from one vertex, by label correcting in buckets", "relaxations",
         &sssp_entrants, &edges_of_all},
        {"phold", "a simulation whose events cause others at random times and places", "events",
         &phold_entrants, &events_of_all},
        {"ping_ack", "half of the workers send messages that the other half acknowledges", "pings",
         &ping_ack_entrants, &pings_of_all},
    };
    return all;
}

const workload_entry& find_workload(const std::string& name) {
    const auto& all = registered_workloads();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
    if (found == all.end())
        throw error(errc::invalid_argument, fmt::format("no workload is called \"{}\"", name));
    return *found;
}

}  // namespace crossdock::bench::streaming
