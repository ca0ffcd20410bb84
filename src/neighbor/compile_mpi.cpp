#include "compile_mpi.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>

#include "../base/environment_mpi.hpp"
#include "../plan/place_ranks.hpp"
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

// What rank 0 has to know of this rank's pattern: who has how many items for whom.
std::vector<word_message> traffic_for_first(const pattern& p) {
    std::vector<std::int64_t> words;
    for (const auto& one : traffic_of(p))
        words.insert(words.end(), {std::int64_t{one.destination}, one.num_items});
    return {{0, std::move(words)}};
}

// As the function for the patterns of all ranks, with the same result. Rank 0 searches, and broadcasts the places,
// while the others wait.
// @param traffic  on rank 0, what came of `traffic_for_first` of all ranks
std::unique_ptr<route> place_ranks(const communicator& comm, setup_rounds& rounds,
                                   std::span<const word_message> traffic, const pattern& p,
                                   const route& r, const compile_options& options) {
    const auto num_ranks = static_cast<std::size_t>(comm.num_ranks());
    auto places = with_reserve([&] { return std::vector<rank_t>(num_ranks); });
    rounds.attempt([&] {
        if (comm.rank() != 0) return;
        std::vector<rank_traffic> all;
        for (const auto& [source, words] : traffic) {
            for (std::size_t i = 0; i < words.size(); i += 2)
                all.push_back({source, static_cast<rank_t>(words[i]), words[i + 1]});
        }
        places = r.find_places(all);
    });
    constexpr rank_t no_place = -1;
    if (rounds.fault()) places.front() = no_place;
    rounds.run(
        [&](MPI_Request* request) {
            return MPI_Ibcast(places.data(), comm.num_ranks(), MPI_INT, 0, comm.get(), request);
        },
        [&] { return places.front() == no_place; });
    std::unique_ptr<route> placed;
    // What this rank's items make all ranks send, at their own places and at the others; and whether it has failed.
    std::array<count_t, 3> sums{};
    rounds.attempt([&] {
        placed = r.with_places(std::move(places));
        sums = {count_sent(p, r, options), count_sent(p, *placed, options), 0};
    });
    sums[2] = rounds.fault() ? 1 : 0;
    rounds.run(
        [&](MPI_Request* request) {
            return MPI_Iallreduce(MPI_IN_PLACE, sums.data(), 3, MPI_INT64_T, MPI_SUM, comm.get(),
                                  request);
        },
        [&] { return sums[2] > 0; });
    return sums[1] < sums[0] ? std::move(placed) : nullptr;
}

// The first round on a route that wants places: unless all ranks know the plan, rank 0 hears who has how many items for
// whom. Ranks that know it say nothing at first.
std::vector<word_message> open_with_traffic(setup_rounds& rounds, const pattern& p,
                                            const equal_arguments& same, std::uint32_t& slots) {
    constexpr std::uint32_t has_said = std::uint32_t{1} << plan_cache::capacity;
    const bool knows = slots != 0;
    std::vector<word_message> traffic;
    const auto list_if = [&](bool says) {
        traffic.clear();
        if (says) rounds.attempt([&] { traffic = traffic_for_first(p); });
    };
    list_if(!knows);
    auto bits = knows ? slots : has_said;
    auto inbox = rounds.open(traffic, same, &bits);
    slots = bits & ~has_said;
    if (slots != 0 || bits == has_said) return inbox;
    list_if(knows);
    auto others = rounds.hear_anybody(traffic);
    rounds.attempt([&] {
        std::ranges::move(others, std::back_inserter(inbox));
        std::ranges::sort(inbox, {}, &word_message::peer);
    });
    return inbox;
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
    const auto is_kept = [&] {
        if (!kept.take(slots)) return false;
        rounds.fault().reset();  // nobody needs the headers, nor a fault with them
        result.take(kept.found.compiled);
        return true;
    };
    rounds.attempt([&] {
        check_sizes(comm, regions, p);
        r = make_route(route_name, regions);
        slots = kept.ask(p.hash(), own.hash());
    });
    const bool has_places = !rounds.fault() && r->wants_places();
    if (has_places) {
        const auto traffic = open_with_traffic(rounds, p, same, slots);
        if (is_kept()) return result;
        if (auto placed = place_ranks(comm, rounds, traffic, p, *r, options)) r = std::move(placed);
    }
    rounds.attempt([&] {
        part.emplace(regions, p, *r, options);
        partners = partners_by_round(*r, comm.rank(), part->num_rounds());
        if (!partners.empty()) headers = part->send();
    });
    const auto inbox =
        has_places ? rounds.hear_anybody(headers) : rounds.open(headers, same, &slots);
    if (is_kept()) return result;
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
