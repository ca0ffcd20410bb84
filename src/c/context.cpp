#include <optional>

#include "handles.hpp"

using namespace crossdock::c;
using crossdock::context_options;
using crossdock::on_all_or_none;

namespace {

context_options options_from(const crossdock_context_options* options) {
    const auto given =
        known_options<crossdock_context_options>(options, CROSSDOCK_CONTEXT_OPTIONS_INIT);
    return {text_or(given.topology, ""), text_or(given.nodes, ""), text_or(given.machine, ""),
            text_or(given.report, ""), given.progress_thread != 0};
}

}  // namespace

crossdock_status crossdock_context_create(MPI_Comm user, const crossdock_context_options* options,
                                          crossdock_context** result) {
    try {
        crossdock::communicator comm(user);
        try {
            std::optional<error_site> errors;
            const auto how = on_all_or_none(comm, [&] {
                require(result, "result");
                errors.emplace(user, comm);
                return options_from(options);
            });
            give(result, crossdock::context(comm, how), *errors);
            return CROSSDOCK_SUCCESS;
        } catch (...) {
            comm.close();
            throw;
        }
    } catch (...) {
        return report_error(user);
    }
}

crossdock_status crossdock_context_with_topology(const crossdock_context* context,
                                                 const crossdock_topology* topology,
                                                 crossdock_context** result) {
    return guarded(context, [&] {
        const auto& where = value_of(context, "context");
        const auto& regions = value_of(topology, "topology");
        require(result, "result");
        give(result, where.with_topology(regions), context->errors);
    });
}

crossdock_status crossdock_context_with_nodes(const crossdock_context* context,
                                              const crossdock_topology* nodes,
                                              crossdock_context** result) {
    return guarded(context, [&] {
        const auto& where = value_of(context, "context");
        const auto& regions = value_of(nodes, "nodes");
        require(result, "result");
        give(result, where.with_nodes(regions), context->errors);
    });
}

crossdock_status crossdock_context_topology(const crossdock_context* context,
                                            crossdock_topology** result) {
    return guarded(context, [&] {
        const auto& where = value_of(context, "context");
        require(result, "result");
        give(result, where.topology());
    });
}

crossdock_status crossdock_context_rank(const crossdock_context* context, int* rank) {
    return give_number(context, rank, [&] { return value_of(context, "context").rank(); });
}

crossdock_status crossdock_context_num_ranks(const crossdock_context* context, int* num_ranks) {
    return give_number(context, num_ranks,
                       [&] { return value_of(context, "context").num_ranks(); });
}

crossdock_status crossdock_context_last_peer_error(const crossdock_context* context, int* rank,
                                                   char** text) {
    return guarded(context, [&] {
        const auto told = value_of(context, "context").last_peer_error();
        require(rank, "rank");
        require(text, "text");
        give_text(text, told ? told->what() : "");
        *rank = told ? told->rank() : -1;
    });
}

crossdock_status crossdock_context_reports(const crossdock_context* context, char** text) {
    return guarded(context, [&] {
        std::string lines;
        for (const auto& one : value_of(context, "context").reports()) lines += to_json(one);
        require(text, "text");
        give_text(text, lines);
    });
}

crossdock_status crossdock_context_close(crossdock_context* context) {
    return guarded(context, [&] { value_of(context, "context").close(); });
}

crossdock_context* crossdock::new_handle_of(const context& where) {
    return new crossdock_context{where, error_site(where.comm().get(), where.comm())};
}

crossdock_status crossdock_context_free(crossdock_context* context) { return release(context); }
