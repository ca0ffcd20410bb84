#include "crossdock/plan.hpp"
#include "../neighbor/compile_mpi.hpp"
#include "handles.hpp"

using namespace crossdock::c;
using crossdock::errc;
using crossdock::error;
using crossdock::registered_routes;

crossdock_status crossdock_num_routes(int* num_routes) {
    return give_number(num_routes, [] { return registered_routes().size(); });
}

crossdock_status crossdock_route_name(int index, const char** name) {
    return guarded([&] {
        require(name, "name");
        *name = element(registered_routes(), index, "route").name.c_str();
    });
}

crossdock_status crossdock_route_example(int index, const char** route) {
    return guarded([&] {
        require(route, "route");
        *route = element(registered_routes(), index, "route").example.c_str();
    });
}

crossdock_status crossdock_plan_compile(const crossdock_context* context,
                                        const crossdock_pattern* pattern,
                                        const crossdock_neighbor_options* options,
                                        crossdock_plan** result) {
    return guarded(context, [&] {
        const auto& where = value_of(context, "context");
        const auto how = crossdock::on_all_or_none(where.comm(), [&] {
            require(pattern, "pattern");
            require(result, "result");
            return options_from(options);
        });
        give(result, crossdock::compile(where, pattern->value, how.route, {how.deduplicate}));
    });
}

crossdock_status crossdock_plan_compile_all(const crossdock_topology* topology,
                                            crossdock_pattern* const* patterns, const char* route,
                                            const crossdock_neighbor_options* options,
                                            crossdock_plan** plans) {
    return guarded([&] {
        const auto& regions = value_of(topology, "topology");
        const auto all = values_of(patterns, regions.num_ranks(), "patterns");
        require(route, "route");
        require(plans, "plans");
        std::vector<std::unique_ptr<crossdock_plan>> compiled;
        for (auto& plan : crossdock::compile(regions, all, *make_route(route, regions),
                                             {options_from(options).deduplicate}))
            compiled.emplace_back(new crossdock_plan{std::move(plan)});
        for (auto& plan : compiled) *plans++ = plan.release();
    });
}

crossdock_status crossdock_plan_verify(int num_ranks, crossdock_plan* const* plans,
                                       crossdock_pattern* const* patterns) {
    return guarded([&] {
        const auto all_plans = values_of(plans, num_ranks, "plans");
        crossdock::verify(all_plans, values_of(patterns, num_ranks, "patterns"));
    });
}

crossdock_status crossdock_plan_route(const crossdock_plan* plan, char** route) {
    return give_text(no_handle, route, "route", [&] { return value_of(plan, "plan").route(); });
}

crossdock_status crossdock_plan_num_stages(const crossdock_plan* plan, int* num_stages) {
    return give_number(num_stages, [&] { return value_of(plan, "plan").stages().size(); });
}

namespace {

// What `count(regions, sender)` says of a plan.
template <class Count>
crossdock_status give_traffic(const crossdock_topology* topology, const crossdock_plan* plan,
                              crossdock_traffic* traffic, Count&& count) {
    return guarded([&] {
        const auto& regions = value_of(topology, "topology");
        const auto& sender = value_of(plan, "plan");
        require(traffic, "traffic");
        if (regions.num_ranks() != sender.num_ranks())
            throw error(errc::size_mismatch,
                        "the topology has " + std::to_string(regions.num_ranks()) +
                            " ranks, but the plan " + std::to_string(sender.num_ranks()) +
                            "; give the topology of the plan");
        *traffic = to_c(count(regions, sender));
    });
}

}  // namespace

crossdock_status crossdock_plan_stage_traffic(const crossdock_topology* topology,
                                              const crossdock_plan* plan, int stage,
                                              crossdock_traffic* traffic) {
    return give_traffic(topology, plan, traffic, [&](const auto& regions, const auto& sender) {
        element(sender.stages(), stage, "stage");
        return crossdock::stage_traffic(regions, sender, static_cast<std::size_t>(stage));
    });
}

crossdock_status crossdock_plan_total_traffic(const crossdock_topology* topology,
                                              const crossdock_plan* plan,
                                              crossdock_traffic* traffic) {
    return give_traffic(topology, plan, traffic, crossdock::total_traffic);
}

crossdock_status crossdock_plan_buffer_items(const crossdock_plan* plan, int64_t* num_items) {
    return give_number(num_items, [&] { return crossdock::buffer_items(value_of(plan, "plan")); });
}

crossdock_status crossdock_plan_to_string(const crossdock_plan* plan, char** text) {
    return give_text(no_handle, text, "text", [&] { return to_string(value_of(plan, "plan")); });
}

crossdock_status crossdock_plan_to_json(const crossdock_plan* plan, char** json) {
    return give_text(no_handle, json, "json", [&] { return to_json(value_of(plan, "plan")); });
}

crossdock_status crossdock_plan_from_json(const char* json, crossdock_plan** result) {
    return guarded([&] {
        require(json, "json");
        require(result, "result");
        give(result, crossdock::plan_from_json(json));
    });
}

crossdock_status crossdock_plan_is_equal(const crossdock_plan* a, const crossdock_plan* b,
                                         int* is_equal) {
    return give_number(is_equal, [&] { return value_of(a, "a") == value_of(b, "b"); });
}

crossdock_status crossdock_plan_free(crossdock_plan* plan) { return release(plan); }
