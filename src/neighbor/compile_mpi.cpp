#include "compile_mpi.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "../base/environment_mpi.hpp"
#include "../plan/plan_compiler.hpp"
#include "../topology/nodes_mpi.hpp"
#include "automatic_route.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

// Up to so many messages of a rank, headers go to all who may expect one rather than being found.
constexpr count_t most_peer_messages = 64;

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

// The ranks that this one hears of in each round, and sends to; none where anybody may speak.
std::vector<std::optional<stage_partners>> partners_by_round(const route& r, rank_t rank,
                                                             int num_rounds) {
    std::vector<std::optional<stage_partners>> partners;
    for (int stage = r.num_stages() - num_rounds; stage < r.num_stages(); ++stage) {
        const bool has_few = stage >= 0 && r.max_messages_per_rank() <= most_peer_messages;
        partners.push_back(has_few ? r.certain_partners(rank, stage) : std::nullopt);
    }
    return partners;
}

// The rounds after the first: all arguments are known to be equal, and nobody had a fault.
void run_later_rounds(setup_rounds& rounds, plan_compiler& part,
                      const std::vector<std::optional<stage_partners>>& partners,
                      const std::vector<word_message>& first_inbox) {
    if (!partners.empty()) rounds.attempt([&] { part.receive(first_inbox); });
    for (std::size_t round = 1; round < partners.size(); ++round) {
        if (const auto& known = partners[round]) {
            rounds.hear_partners([&] {
                part.receive(rounds.next(with_empty_headers(part.send(), known->destinations),
                                         known->sources.size()));
            });
            continue;
        }
        std::vector<word_message> headers;
        rounds.attempt([&] { headers = part.send(); });
        const auto inbox = rounds.hear_anybody(headers);
        rounds.attempt([&] { part.receive(inbox); });
    }
}

// The name of a route, where "auto" may stand for one; for an exchange with default options.
std::string resolve_automatic(const context& where, const checked_pattern& p,
                              std::string_view route_name, const compile_options& options,
                              const equal_arguments& also_equal) {
    // Ranks may be given different routes: what is first found out about a communicator all find
    // out now.
    where.comm().resource<environment>();
    if (route_name != automatic_route) return std::string(route_name);
    neighbor_options how;
    how.route = route_name;
    how.deduplicate = options.deduplicate;
    return resolve_route(where, p, how, also_equal).name;
}

}  // namespace

compilation::compilation(const context& where)
    : rounds(with_reserve(
          [&] { return std::make_unique<setup_rounds>(where.comm(), where.topology()); })) {}

void compilation::finish() {
    rounds->finish();
    kept.keep({compiled});
}

compilation begin_compilation(const context& where, const checked_pattern& p,
                              std::string_view asked_route, const equal_arguments& also_equal,
                              const compile_options& options, plan_cache* cache) {
    const auto& comm = where.comm();
    const auto& regions = where.topology();
    const auto route_name = resolve_automatic(where, p, asked_route, options, also_equal);
    compilation result(where);
    auto& rounds = *result.rounds;
    plan_lookup kept{cache};
    std::unique_ptr<route> r;
    std::optional<plan_compiler> part;
    std::vector<std::optional<stage_partners>> partners;
    std::vector<word_message> headers;
    std::uint32_t slots = 0;
    const auto list_own = [&](named_values& values) {
        values.add("route", route_name).add("deduplicate", options.deduplicate);
        add_topology(values, "topology", regions);
    };
    const equal_arguments own("a plan", list_own);
    const auto list = [&](named_values& values) { values.add(also_equal).add(own); };
    const equal_arguments same(also_equal.object(), list);
    rounds.attempt([&] {
        check_sizes(comm, regions, p);
        r = make_route(route_name, regions);
        slots = kept.ask(p.hash(), own.hash());
        part.emplace(regions, p, *r, options);
        partners = partners_by_round(*r, comm.rank(), part->num_rounds());
        if (!partners.empty()) headers = part->send();
    });
    const auto inbox = rounds.open(headers, same, &slots);
    if (kept.take(slots)) {
        rounds.fault().reset();  // nobody needs the headers, nor a fault with them
        result.take(kept.found.compiled);
        return result;
    }
    result.num_stages = r->num_stages();
    result.kept = kept;
    run_later_rounds(rounds, *part, partners, inbox);
    rounds.attempt([&] { result.compiled = std::make_shared<plan>(part->finish()); });
    return result;
}

plan compile(const context& where, const checked_pattern& p, std::string_view route_name,
             const compile_options& options, const equal_arguments& also_equal) {
    auto result = begin_compilation(where, p, route_name, also_equal, options, nullptr);
    result.finish();
    return std::move(*std::const_pointer_cast<plan>(result.compiled));  // nobody else has it
}

std::shared_ptr<const plan> find_or_compile(const context& where, const checked_pattern& p,
                                            std::string_view route_name,
                                            const compile_options& options) {
    auto result = begin_compilation(where, p, route_name, equal_arguments("a plan"), options,
                                    &plan_cache::of(where.comm()));
    if (result.kept.cache != nullptr) result.finish();
    return result.compiled;
}

}  // namespace crossdock
