#include "automatic_route.hpp"

#include "../base/environment_mpi.hpp"
#include "../base/throw_error.hpp"
#include "../exchange/setup_rounds_mpi.hpp"
#include "../executor/executor_mpi.hpp"
#include "../model/machine_mpi.hpp"
#include "../select/choose_mpi.hpp"
#include "../topology/nodes_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

constexpr const char* route_variable = "CROSSDOCK_ROUTE";

// Whether a route of this name can be made; errors name the variable.
void check_environment(const std::string& route, const topology& regions) {
    if (route.empty() || is_automatic(route)) return;
    try {
        static_cast<void>(make_route(route, regions));
    } catch (const error& fault) {
        throw_error_of(fault.rank(), fault.code(), "{}: {}", route_variable, fault.what());
    }
}

// What is found out once for all choices of a communicator.
class surroundings final : public communicator_resource {
  public:
    explicit surroundings(const communicator&) {}

    // Collective; `also_equal` is of all arguments. Which ranks come here depends on their own:
    // where they differ, others are in `choose_route`, and fail in the same exchange.
    void find_out(const context& where, const checked_pattern& p,
                  const equal_arguments& also_equal) {
        const bool with_machine = !where.has_own_machine();
        if (is_known_ && (has_machine_ || !with_machine)) return;
        const auto& comm = where.comm();
        const auto& regions = where.topology();
        setup_rounds rounds(comm, regions);
        rounds.attempt([&] { check_sizes(comm, regions, p); });
        const auto list = [&](named_values& values) {
            values.add(also_equal).add("with a machine of its own", !with_machine);
            add_topology(values, "topology", regions);
        };
        rounds.open({}, equal_arguments(also_equal.object(), list));
        if (with_machine) machine_of(comm);
        has_machine_ = has_machine_ || with_machine;
        if (is_known_) return;
        with_reserve([&] { check_environment(comm.resource<environment>().route(), regions); });
        nodes_of(comm);  // blocks here once
        is_known_ = true;
    }

    // Who shares memory in a context; to be asked once all is found out.
    const topology& nodes(const context& where) {
        if (!nodes_ || allowed_ != where.nodes()) {
            nodes_.reset();
            allowed_ = where.nodes();
            nodes_ = nodes_of(where.comm(), allowed_);
        }
        return *nodes_;
    }

  private:
    bool is_known_ = false;
    bool has_machine_ = false;
    std::optional<topology> allowed_;
    std::optional<topology> nodes_;  // of the contexts that allow just that
};

// A topology of another number of ranks is refused later, by all.
rank_layout layout_of(const topology& regions, const topology& nodes) {
    return regions.num_ranks() == nodes.num_ranks() ? rank_layout(regions, nodes)
                                                    : rank_layout(regions);
}

}  // namespace

bool is_automatic(std::string_view route) noexcept {
    return route == automatic_route || route == measured_route;
}

resolved_route resolve_route(const context& where, const checked_pattern& p,
                             const neighbor_options& options, const equal_arguments& also_equal,
                             count_t passes_over_slots, plan_lookup* kept) {
    const auto route = with_reserve([&] { return asked_route(where, options.route); });
    const bool is_forced = !where.comm().resource<environment>().forced_route().empty();
    if (!is_automatic(route) && (is_forced || !is_automatic(options.route))) return {route};
    auto& around = where.comm().resource<surroundings>();
    around.find_out(where, p, also_equal);
    if (!is_automatic(route)) return {route};
    const auto& nodes = with_reserve([&]() -> const topology& { return around.nodes(where); });
    estimate_options how;
    how.travel.item_bytes = static_cast<count_t>(options.item_bytes);
    const auto use = with_reserve([&] { return memory_use_of(where.comm(), options.executor); });
    how.travel.shares_memory = use != memory_use::none && nodes.num_regions() < nodes.num_ranks();
    how.deduplicate = options.deduplicate;
    how.passes_over_slots = passes_over_slots;
    const auto layout = with_reserve([&] { return layout_of(where.topology(), nodes); });
    auto choice = choose_route(where.comm(), layout, p, where.machine(), how, also_equal, kept);
    auto name = with_reserve([&] { return choice.route(); });
    return {std::move(name), std::move(choice), route == measured_route};
}

}  // namespace crossdock
