#include "crossdock/neighbor/automatic_route.hpp"

#include <fmt/format.h>

#include "crossdock/exchange/checked_exchange_mpi.hpp"
#include "crossdock/executor/executor_mpi.hpp"
#include "crossdock/model/machine_mpi.hpp"
#include "crossdock/select/choose_mpi.hpp"
#include "crossdock/topology/discover_mpi.hpp"

namespace crossdock {

namespace {

constexpr const char* route_variable = "CROSSDOCK_ROUTE";

// Whether a route of this name can be made; errors name the variable.
void check_environment(const std::string& route, const topology& regions) {
    if (route.empty() || is_automatic(route)) return;
    try {
        make_route(route, regions);
    } catch (const error& fault) {
        throw error(fault.code(), fmt::format("{}: {}", route_variable, fault.what()),
                    fault.rank());
    }
}

// What is found out once for all choices of a communicator.
class surroundings final : public communicator_resource {
  public:
    explicit surroundings(const communicator&) {}

    // Collective; `also_equal` is of all arguments. Which ranks come here depends on their own: where they
    // differ, others are in `choose_route_mpi`, and fail in the same exchange.
    void find_out(const communicator& comm, const topology& regions, const pattern& p,
                  bool with_machine, std::int64_t also_equal) {
        if (nodes_ && (has_machine_ || !with_machine)) return;
        std::optional<error> fault;
        try {
            check_sizes(comm, regions, p);
        } catch (...) {
            fault = current_error_of(comm.rank());
        }
        exchange_checked_words(
            comm, regions, {}, fault,
            {agreement_hash(fmt::format("{} {} {}", regions.to_string(), with_machine, also_equal)),
             "topologies, routes or options"});
        if (with_machine) machine_of(comm);
        has_machine_ = has_machine_ || with_machine;
        if (nodes_) return;
        executor_ = comm.resource<node_memories>().environment_choice();
        comm.wait_for_all();
        route_ = environment_of_first(comm, route_variable);
        check_environment(route_, regions);
        nodes_ = discover_topology(comm);
    }

    const std::string& route() const noexcept { return route_; }
    const std::string& executor() const noexcept { return executor_; }
    const topology& nodes() const { return *nodes_; }

  private:
    std::string route_;     // what the environment says, if anything
    std::string executor_;  // the same
    std::optional<topology> nodes_;
    bool has_machine_ = false;
};

// A topology of another number of ranks is refused later, by all.
rank_layout layout_of(const topology& regions, const topology& nodes) {
    return regions.num_ranks() == nodes.num_ranks() ? rank_layout(regions, nodes)
                                                    : rank_layout(regions);
}

bool shares_memory(const surroundings& known, const topology& nodes,
                   const neighbor_options& options) {
    std::string name = to_string(options.executor);
    if (options.executor == executor_kind::automatic && !known.executor().empty())
        name = known.executor();
    return find_executor(name).memory != memory_use::none &&
           nodes.num_regions() < nodes.num_ranks();
}

}  // namespace

bool is_automatic(std::string_view route) noexcept {
    return route == automatic_route || route == measured_route;
}

resolved_route resolve_route(const communicator& comm, const topology& regions, const pattern& p,
                             std::string_view route, const neighbor_options& options,
                             std::int64_t also_equal) {
    if (!is_automatic(route)) return {std::string(route)};
    auto& known = comm.resource<surroundings>();
    known.find_out(comm, regions, p, options.machine == nullptr, also_equal);
    if (route == automatic_route && !known.route().empty()) route = known.route();
    if (!is_automatic(route)) return {std::string(route)};
    const auto& nodes = options.nodes ? *options.nodes : known.nodes();
    estimate_options how;
    how.travel.item_bytes = static_cast<count_t>(options.item_bytes);
    how.travel.shares_memory = shares_memory(known, nodes, options);
    how.deduplicate = options.deduplicate;
    auto choice = choose_route_mpi(comm, layout_of(regions, nodes), p,
                                   options.machine ? *options.machine : machine_of(comm), how);
    return {choice.route(), std::move(choice), route == measured_route};
}

}  // namespace crossdock
