#include "handles.hpp"

using crossdock::errc;
using crossdock::error;
using crossdock::executor_kind;
using crossdock::neighbor_exchange;
using crossdock::neighbor_options;
using crossdock::preparation;

namespace crossdock::c {

neighbor_options agree_on_arguments(const communicator& comm, const crossdock_topology* topology,
                                    const crossdock_pattern* pattern, const char* route,
                                    const crossdock_options* options, const void* result) {
    return on_all_or_none(comm, [&] {
        require(topology, "topology");
        require(pattern, "pattern");
        require(route, "route");
        require(result, "result");
        return options_from(options);
    });
}

neighbor_options options_from(const crossdock_options* options) {
    if (options == nullptr) return {};
    neighbor_options result;
    result.deduplicate = options->deduplicate != 0;
    result.max_message_bytes = options->max_message_bytes;
    switch (options->executor) {
        case CROSSDOCK_EXECUTOR_AUTO: break;
        case CROSSDOCK_EXECUTOR_PERSISTENT: result.executor = executor_kind::persistent; break;
        case CROSSDOCK_EXECUTOR_SHARED_MEMORY:
            result.executor = executor_kind::shared_memory;
            break;
        default: throw error(errc::invalid_argument, "the executor is none of crossdock_executor");
    }
    result.item_bytes = options->item_bytes;
    result.stripe_bytes = options->stripe_bytes;
    result.prepare = options->prepare_reverse != 0 ? preparation::both : preparation::lazy;
    return result;
}

}  // namespace crossdock::c

using namespace crossdock::c;

crossdock_status crossdock_options_init(crossdock_options* options) {
    return guarded([&] {
        require(options, "options");
        const neighbor_options defaults;
        *options = {defaults.deduplicate,
                    defaults.max_message_bytes,
                    CROSSDOCK_EXECUTOR_AUTO,
                    nullptr,
                    defaults.item_bytes,
                    defaults.stripe_bytes,
                    1};
    });
}

crossdock_status crossdock_neighbor_create(const crossdock_communicator* comm,
                                           const crossdock_topology* topology,
                                           const crossdock_pattern* pattern, const char* route,
                                           const crossdock_options* options,
                                           crossdock_neighbor** result) {
    return guarded([&] {
        const auto& ranks = value_of(comm, "comm");
        const auto how = agree_on_arguments(ranks, topology, pattern, route, options, result);
        auto with_route = how;
        with_route.route = route;
        crossdock::context where(ranks, topology->value);
        if (options != nullptr && options->nodes != nullptr)
            where = where.with_nodes(options->nodes->value);
        give(result, neighbor_exchange(where, pattern->value, with_route));
    });
}

crossdock_status crossdock_neighbor_duplicate(const crossdock_neighbor* handle,
                                              crossdock_neighbor** result) {
    return guarded([&] {
        auto twin = value_of(handle, "neighbor")
                        .duplicate();  // first, so that tags stay alike on all ranks
        require(result, "result");
        give(result, std::move(twin));
    });
}

crossdock_status crossdock_neighbor_explain(const crossdock_neighbor* handle, char** text) {
    return guarded([&] {
        const auto& explained = value_of(handle, "neighbor");
        require(text, "text");
        const auto* const choice = explained.choice();
        give_text(text, choice ? to_string(*choice)
                               : explained.compiled_plan().route_name() + "  given\n");
    });
}

crossdock_status crossdock_neighbor_plan(const crossdock_neighbor* handle,
                                         crossdock_plan** result) {
    return guarded([&] {
        require(result, "result");
        give(result, value_of(handle, "neighbor").compiled_plan());
    });
}

crossdock_status crossdock_neighbor_start(crossdock_neighbor* handle, const void* items,
                                          MPI_Datatype datatype, void* slots) {
    return guarded([&] { value_of(handle, "neighbor").start(items, slots, datatype); });
}

crossdock_status crossdock_neighbor_start_reverse(crossdock_neighbor* handle, const void* slots,
                                                  MPI_Datatype datatype, MPI_Op operation,
                                                  void* items) {
    return guarded(
        [&] { value_of(handle, "neighbor").start_reverse(slots, items, datatype, operation); });
}

crossdock_status crossdock_neighbor_test(crossdock_neighbor* handle, int* is_complete) {
    return give_number(is_complete, [&] { return value_of(handle, "neighbor").test(); });
}

crossdock_status crossdock_neighbor_wait(crossdock_neighbor* handle) {
    return guarded([&] { value_of(handle, "neighbor").wait(); });
}

crossdock_status crossdock_neighbor_exchange(crossdock_neighbor* handle, const void* items,
                                             MPI_Datatype datatype, void* slots) {
    const auto status = crossdock_neighbor_start(handle, items, datatype, slots);
    return status == CROSSDOCK_SUCCESS ? crossdock_neighbor_wait(handle) : status;
}

crossdock_status crossdock_neighbor_reverse(crossdock_neighbor* handle, const void* slots,
                                            MPI_Datatype datatype, MPI_Op operation, void* items) {
    const auto status = crossdock_neighbor_start_reverse(handle, slots, datatype, operation, items);
    return status == CROSSDOCK_SUCCESS ? crossdock_neighbor_wait(handle) : status;
}

crossdock_status crossdock_neighbor_free(crossdock_neighbor* handle) { return release(handle); }
