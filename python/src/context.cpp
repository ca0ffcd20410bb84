#include "crossdock/discover_topology.hpp"

#include <nanobind/stl/pair.h>

#include <array>
#include <utility>

#include "support.hpp"

namespace crossdock::python {

namespace {

shared_context make_context(std::uintptr_t comm_address, nb::handle regions, nb::handle nodes,
                            nb::handle machine) {
    const auto user = *reinterpret_cast<const MPI_Comm*>(comm_address);
    communicator comm = without_gil([&] { return communicator(user); });
    try {
        const auto options = agreed(comm, [&] {
            return context_options{
                argument<std::string>(regions, "topology", "a Topology or a str"),
                argument<std::string>(nodes, "nodes", "a Topology or a str"),
                argument<std::string>(machine, "machine", "a str")};
        });
        return without_gil(
            [&] { return std::make_shared<context_state>(context_state{context(comm, options)}); });
    } catch (...) {
        without_gil([&] { comm.close(); });
        throw;
    }
}

void close_context(context_state& state) {
    if (!state.where.is_open()) return;
    const call_scope scope(state);
    agreed(state.where, [&] {
        if (state.num_active > 0)
            throw error(errc::invalid_state,
                        std::to_string(state.num_active) +
                            " exchanges are active: wait for them before closing the context",
                        state.where.rank());
        return true;
    });
    without_gil([&] { state.where.close(); });
}

topology discover(context_state& state, nb::handle level) {
    const call_scope scope(state);
    const auto wanted = agreed(state.where, [&] {
        return parse_locality(argument<std::string>(level, "level", "a str"));
    });
    return without_gil([&] { return discover_topology(state.where, wanted); });
}

// What `local()` returns, unless it raises on any rank.
nb::object call_on_all_or_none(const shared_context& state, nb::handle local) {
    const call_scope scope(*state);
    return agreed(state->where, [&] { return nb::object(local()); });
}

// The sum of the numbers of the ranks before this one, and of all.
std::pair<count_t, count_t> sums_of(const shared_context& state, count_t number) {
    const call_scope scope(*state);
    const communicator& comm = state->where;
    std::array<count_t, 2> sums{0, 0};
    without_gil([&] {
        std::array<MPI_Request, 2> requests{};
        CROSSDOCK_MPI(
            MPI_Iexscan(&number, &sums[0], 1, MPI_INT64_T, MPI_SUM, comm.get(), &requests[0]));
        CROSSDOCK_MPI(
            MPI_Iallreduce(&number, &sums[1], 1, MPI_INT64_T, MPI_SUM, comm.get(), &requests[1]));
        for (auto& request : requests) comm.wait(request);
    });
    return {comm.rank() == 0 ? 0 : sums[0], sums[1]};
}

}  // namespace

void bind_context(nb::module_& module) {
    nb::class_<topology> bound_topology(module, "Topology");
    define_static(bound_topology, "discover", &discover);
    bound_topology
        .def_static("from_string",
                    [](const std::string& text) { return topology::from_string(text); })
        .def_static("from_regions",
                    [](nb::handle regions) {
                        return topology::from_regions(integers<region_t>(regions, "regions"));
                    })
        .def_prop_ro("num_ranks", &topology::num_ranks)
        .def_prop_ro("num_regions", &topology::num_regions)
        .def("region_of", &topology::region_of)
        .def("local_rank", &topology::local_rank)
        .def("region_size", &topology::region_size)
        .def("rank_at", &topology::rank_at)
        .def("to_string", &topology::to_string)
        .def("is_equal", [](const topology& a, const topology& b) { return a == b; });

    define(module, "call_on_all_or_none", &call_on_all_or_none);
    module.def("sums_of", &sums_of);

    nb::class_<context_state> bound(module, "Context");
    define_static(bound, "make", &make_context);
    bound.def_prop_ro("rank", [](const context_state& state) { return state.where.rank(); })
        .def_prop_ro("num_ranks",
                     [](const context_state& state) { return state.where.num_ranks(); })
        .def_prop_ro("topology", [](const context_state& state) { return state.where.topology(); })
        .def_prop_ro("is_open", [](const context_state& state) { return state.where.is_open(); })
        .def("machine_json",
             [](context_state& state) {
                 const call_scope scope(state);
                 return to_json(state.where.machine());
             })
        .def("close", close_context);
}

}  // namespace crossdock::python
