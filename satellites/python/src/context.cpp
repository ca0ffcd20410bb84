#include "crossdock/discover_topology.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <list>
#include <utility>

#include "support.hpp"

namespace crossdock::python {

namespace {

// Barriers in which Ctrl-C has interrupted this rank, before it made a context: the next one of the same communicator
// goes on with it.
struct open_barrier {
    MPI_Comm comm;
    MPI_Request request;
};
std::list<open_barrier> open_barriers;

// MPI duplicates a communicator without looking for signals, so all ranks meet before.
void wait_for_all(MPI_Comm user) {
    int is_inter = 0;
    if (user != MPI_COMM_NULL) CROSSDOCK_MPI(MPI_Comm_test_inter(user, &is_inter));
    if (user == MPI_COMM_NULL || is_inter) return;  // an error of making a context
    auto barrier = std::ranges::find(open_barriers, user, &open_barrier::comm);
    if (barrier == open_barriers.end()) {
        barrier = open_barriers.insert(barrier, {user, MPI_REQUEST_NULL});
        CROSSDOCK_MPI(MPI_Ibarrier(user, &barrier->request));
    }
    wait_until([&] {
        int is_complete = 0;
        CROSSDOCK_MPI(MPI_Test(&barrier->request, &is_complete, MPI_STATUS_IGNORE));
        return is_complete != 0;
    });
    open_barriers.erase(barrier);
}

shared_context make_context(std::uintptr_t comm_address, nb::handle regions, nb::handle nodes,
                            nb::handle machine, nb::handle report) {
    const auto user = *reinterpret_cast<const MPI_Comm*>(comm_address);
    wait_for_all(user);
    auto options = attempt([&] {
        return context_options{argument<std::string>(regions, "topology", "a Topology or a str"),
                               argument<std::string>(nodes, "nodes", "a Topology or a str"),
                               argument<std::string>(machine, "machine", "a str"),
                               argument<std::string>(report, "report", "a str")};
    });
    return without_gil([&] {
        communicator comm(user);
        try {
            return std::make_shared<context_state>(
                context_state{context(comm, options.agreed(comm, "a context"))});
        } catch (...) {
            comm.close();
            throw;
        }
    });
}

void close_context(context_state& state) {
    if (!state.where.is_open()) return;
    const begin_scope scope(state);
    collectively(state, [where = state.where]() mutable { where.close(); });
}

topology discover(context_state& state, nb::handle level) {
    return agree_and_use(
        state, [&] { return parse_locality(argument<std::string>(level, "level", "a str")); },
        [](const context& where, auto wanted) { return discover_topology(where, wanted); },
        "discovering a topology");
}

// What `local()` returns, unless it raises on any rank.
nb::object call_on_all_or_none(const shared_context& state, nb::handle local) {
    const begin_scope scope(*state);
    const auto result = attempt([&] { return nb::object(local()); });
    collectively(*state, [where = state->where, fault = result.fault] { agree(where, fault); });
    return *result.value;
}

// The sum of the numbers of the ranks before this one, and of all.
std::pair<count_t, count_t> sums_of(const shared_context& state, count_t number) {
    const begin_scope scope(*state);
    return collectively(*state, [comm = communicator(state->where), number] {
        std::pair<count_t, count_t> sums{0, 0};
        std::array<MPI_Request, 2> requests{};
        CROSSDOCK_MPI(
            MPI_Iexscan(&number, &sums.first, 1, MPI_INT64_T, MPI_SUM, comm.get(), &requests[0]));
        CROSSDOCK_MPI(MPI_Iallreduce(&number, &sums.second, 1, MPI_INT64_T, MPI_SUM, comm.get(),
                                     &requests[1]));
        for (auto& request : requests) comm.wait(request);
        if (comm.rank() == 0) sums.first = 0;
        return sums;
    });
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
        .def_prop_ro("last_peer_error",
                     [](const context_state& state) -> nb::object {
                         const auto told = state.where.last_peer_error();
                         return told ? exception_of(*told) : nb::none();
                     })
        .def("reports",
             [](context_state& state) {
                 const call_scope scope(state);
                 std::vector<std::string> lines;
                 for (const auto& one : state.where.reports()) lines.push_back(to_json(one));
                 return lines;
             })
        .def("machine_json",
             [](context_state& state) {
                 const call_scope scope(state);
                 return to_json(state.where.machine());
             })
        .def("with_topology",
             [](const context_state& state, const topology& regions) {
                 return std::make_shared<context_state>(
                     context_state{state.where.with_topology(regions), state.calls});
             })
        .def("with_nodes",
             [](const context_state& state, const topology& nodes) {
                 return std::make_shared<context_state>(
                     context_state{state.where.with_nodes(nodes), state.calls});
             })
        .def("close", close_context);
}

}  // namespace crossdock::python
