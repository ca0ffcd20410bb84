#include "crossdock/context.hpp"

#include <fmt/format.h>

#include "../base/environment_mpi.hpp"
#include "../base/throw_error.hpp"
#include "../base/watchdog.hpp"
#include "../model/machine_mpi.hpp"
#include "../topology/nodes_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/discover_topology.hpp"
#include "crossdock/route_choice.hpp"
#include "named_context_mpi.hpp"
#include "object_records_mpi.hpp"

namespace crossdock {

namespace {

constexpr const char* topology_variable = "CROSSDOCK_TOPOLOGY";

void check_num_ranks(const communicator& comm, const topology& regions, const char* what) {
    if (regions.num_ranks() == comm.num_ranks()) return;
    throw_error(errc::size_mismatch,
                "the {} \"{}\" has {} ranks, but the communicator {}; give one of all "
                "its ranks",
                what, regions.to_string(), regions.num_ranks(), comm.num_ranks());
}

topology topology_of(const communicator& comm, const context_options& options) {
    const auto& in_environment = comm.resource<environment>().topology();
    const bool is_given = !options.topology.empty();
    const std::string& text = is_given ? options.topology : in_environment;
    if (text.empty() || text == to_string(locality::node)) {
        const auto& nodes = nodes_of(comm);
        return with_reserve([&] { return nodes; });
    }
    if (const auto level = find_locality(text)) return discover_topology(comm, *level);
    return on_all_or_none(comm, [&] {
        try {
            return topology::from_string(text, comm.num_ranks());
        } catch (const error& fault) {
            if (is_given) throw;
            throw_error(fault.code(), "{}: {}", topology_variable, fault.what());
        }
    });
}

void agree_on(const communicator& comm, const context_options& options) {
    const auto list = [&](named_values& values) {
        values.add("topology", options.topology)
            .add("nodes", options.nodes)
            .add("machine", options.machine)
            .add("report", options.report)
            .add("progress_thread", options.progress_thread);
    };
    agree(comm, std::nullopt, with_reserve([&] { return equal_arguments("a context", list); }));
}

}  // namespace

context::context(MPI_Comm user, const context_options& options)
    : comm_(user), regions_(with_reserve([&] { return topology::one_region(comm_.num_ranks()); })) {
    try {
        take(options);
    } catch (...) {
        comm_.close();
        throw;
    }
}

context::context(const communicator& comm, const context_options& options)
    : comm_(comm), regions_(with_reserve([&] { return topology::one_region(comm_.num_ranks()); })) {
    take(options);
}

void context::take(const context_options& options) {
    const watched_wait now("making a context", nullptr, true);
    agree_on(comm_, options);
    if (options.progress_thread) comm_.start_progress_thread();
    comm_.resource<object_records>().set_destination(options.report);
    regions_ = topology_of(comm_, options);
    if (!options.nodes.empty()) {
        nodes_ = on_all_or_none(
            comm_, [&] { return topology::from_string(options.nodes, comm_.num_ranks()); });
    }
    if (options.machine.empty()) {
        machine_of(comm_);
    } else {
        auto found = load_machine_of_first(comm_, options.machine);
        machine_ = with_reserve(
            [&] { return std::make_shared<const crossdock::machine>(std::move(found)); });
    }
}

context::context(const communicator& comm, crossdock::topology regions)
    : comm_(comm), regions_(std::move(regions)) {}

context context::with_topology(crossdock::topology regions) const {
    auto result = *this;
    result.regions_ = std::move(regions);
    return result;
}

context context::with_nodes(crossdock::topology nodes) const {
    auto result = *this;
    result.nodes_ = std::move(nodes);
    return result;
}

context context::with_machine(crossdock::machine given) const {
    auto result = *this;
    result.machine_ = std::make_shared<const crossdock::machine>(std::move(given));
    return result;
}

std::vector<object_report> context::reports() const {
    return comm_.resource<object_records>().reports();
}

const machine& context::machine() const { return machine_ ? *machine_ : machine_of(comm_); }

void add_context(named_values& values, const context& where) {
    add_topology(values, "topology", where.topology());
    if (where.nodes()) {
        add_topology(values, "nodes", *where.nodes());
    } else {
        values.add("nodes", "");
    }
    auto machine = where.has_own_machine() ? to_json(where.machine()) : std::string();
    if (!machine.empty() && values.keeps_text())
        machine = fmt::format("{} ({:x})", where.machine().name, agreement_hash(machine));
    values.add("machine", machine);
}

std::string asked_route(const context& where, const std::string& route) {
    const auto& known = where.comm().resource<environment>();
    if (!known.forced_route().empty()) return known.forced_route();
    return route == "auto" && !known.route().empty() ? known.route() : route;
}

std::string asked_untried_route(const context& where, const std::string& route) {
    auto asked = asked_route(where, route);
    return asked == measured_route ? automatic_route : asked;
}

void check_sizes(const context& where) {
    check_num_ranks(where.comm(), where.topology(), "topology");
    if (where.nodes()) check_num_ranks(where.comm(), *where.nodes(), "topology of nodes");
}

}  // namespace crossdock
