#include "compile_mpi.hpp"

#include <fmt/format.h>

#include <optional>

#include "../base/environment_mpi.hpp"
#include "../exchange/checked_exchange_mpi.hpp"
#include "../exchange/peer_exchange_mpi.hpp"
#include "../topology/agreement_text.hpp"
#include "automatic_route.hpp"
#include "place_ranks_mpi.hpp"
#include "planning.hpp"

namespace crossdock {

namespace {

// Up to so many messages of a rank, headers go to all who may expect one rather than being found.
constexpr count_t most_peer_messages = 64;

// What must be equal on all ranks, in words that do not grow with the ranks of an ordinary
// placement.
std::int64_t hash_of_arguments(const topology& regions, std::string_view route_name,
                               const compile_options& options, std::int64_t more) {
    return agreement_hash(
        fmt::format("{} {} {}{}", route_name, options.deduplicate, more, agreement_text(regions)));
}

// A header to each of `destinations`, which both lists have in ascending order.
std::vector<word_message> with_empty_headers(std::vector<word_message>&& headers,
                                             std::span<const rank_t> destinations) {
    std::vector<word_message> all;
    all.reserve(destinations.size());
    auto next = headers.begin();
    for (const rank_t destination : destinations) {
        if (next != headers.end() && next->peer == destination) {
            all.push_back(std::move(*next++));
        } else {
            all.push_back({destination, {0}});
        }
    }
    if (next != headers.end())
        throw error(errc::internal, "the next hop is none of the stage's partners");
    return all;
}

// The rounds after the first: all arguments are known to be equal, and nobody has a fault.
void run_other_rounds(const communicator& comm, const topology& regions, const route& r,
                      plan_compiler& compiler) {
    const int num_agreement_rounds = compiler.num_rounds() - r.num_stages();
    std::optional<peer_exchange> peers;
    for (int round = 1; round < compiler.num_rounds(); ++round) {
        const int stage = round - num_agreement_rounds;
        std::optional<stage_partners> partners;
        if (stage >= 0 && r.max_messages_per_rank() <= most_peer_messages) {
            partners = r.certain_partners(comm.rank(), stage);
        }
        auto headers = compiler.send();
        if (!partners) {
            compiler.receive(exchange_words(comm, regions, headers));
            continue;
        }
        if (!peers) peers.emplace(comm, regions);
        compiler.receive(peers->next(with_empty_headers(std::move(headers), partners->destinations),
                                     partners->sources.size()));
    }
}

compilation compile_over_mpi(const context& where, const pattern& p, std::string_view asked_route,
                             const compile_options& options, std::int64_t also_equal,
                             bool keeps_peers) {
    const auto& comm = where.comm();
    const auto& regions = where.topology();
    const auto route_name = resolve_automatic(where, p, asked_route, options, also_equal);
    compilation result;
    std::optional<plan_compiler> compiler;
    std::vector<word_message> headers;
    std::optional<error> fault;
    const equal_arguments same{hash_of_arguments(regions, route_name, options, also_equal),
                               "topologies, routes or options"};
    try {
        check_sizes(comm, regions, p);
        result.r = make_route(route_name, regions);
    } catch (...) {
        fault = current_error_of(comm.rank());
    }
    if (!fault && result.r->wants_places()) {
        exchange_checked_words(comm, regions, {}, fault, same);
        if (auto placed = place_ranks(comm, p, *result.r, options)) result.r = std::move(placed);
    }
    try {
        if (fault) throw *fault;
        compiler.emplace(regions, p, *result.r, options);
        if (keeps_peers) compiler->keep_peers();
        if (compiler->num_rounds() > 0) headers = compiler->send();
    } catch (...) {
        fault = current_error_of(comm.rank());
    }
    const auto inbox = exchange_checked_words(comm, regions, headers, fault, same);
    if (compiler->num_rounds() > 0) compiler->receive(inbox);
    run_other_rounds(comm, regions, *result.r, *compiler);
    result.compiled = on_all_or_none(comm, [&] { return compiler->finish(); });
    if (keeps_peers) result.peers = compiler->peers();
    return result;
}

}  // namespace

std::string resolve_automatic(const context& where, const pattern& p, std::string_view route_name,
                              const compile_options& options, std::int64_t also_equal) {
    // Ranks may be given different routes: what is first found out about a communicator all find
    // out now.
    where.comm().resource<environment>();
    if (route_name != automatic_route) return std::string(route_name);
    neighbor_options how;
    how.route = route_name;
    how.deduplicate = options.deduplicate;
    return resolve_route(where, p, how, also_equal).name;
}

compilation compile_and_keep_peers(const context& where, const pattern& p,
                                   std::string_view route_name, const compile_options& options,
                                   std::int64_t also_equal) {
    return compile_over_mpi(where, p, route_name, options, also_equal, true);
}

plan compile(const context& where, const pattern& p, std::string_view route_name,
             const compile_options& options, std::int64_t also_equal) {
    auto result = compile_over_mpi(where, p, route_name, options, also_equal, false);
    return std::move(*result.compiled);
}

}  // namespace crossdock
