#include "compile_mpi.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "../base/environment_mpi.hpp"
#include "../base/throw_error.hpp"
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

// The entries of some ranks, which ascend.
neighbor_list entries_of(const neighbor_list& all, std::span<const rank_t> ranks) {
    neighbor_list found;
    for (std::size_t e = 0; e < all.size(); ++e)
        if (std::ranges::binary_search(ranks, all.ranks[e])) found.append(all.ranks[e], all[e]);
    return found;
}

// A plan of one stage with the messages of changed ranks, which ascend, from `part`, and the others from `old`.
plan merged(const plan& old, const plan& part, std::span<const rank_t> changed) {
    plan::contents all{part.rank(),      part.num_ranks(), part.route(), part.is_deduplicated(),
                       part.num_items(), part.num_slots(), {},           {}};
    auto& [sends, receives] = all.stages.emplace_back();
    const auto takes_from = [&](const plan& from) {
        return [&changed, is_part = &from == &part](rank_t rank) {
            return std::ranges::binary_search(changed, rank) == is_part;
        };
    };
    for (const auto* const from : {&old, &part}) {
        const auto& [sent, received] = from->stages().at(0);
        std::ranges::copy_if(sent, std::back_inserter(sends), takes_from(*from),
                             &outgoing_message::destination);
        std::ranges::copy_if(received, std::back_inserter(receives), takes_from(*from),
                             &incoming_message::source);
    }
    std::ranges::sort(sends, {}, &outgoing_message::destination);
    std::ranges::sort(receives, {}, &incoming_message::source);
    std::map<rank_t, count_t> first_positions{{all.rank, 0}};
    for (count_t next = all.num_items; auto& message : receives) {
        first_positions[message.source] = message.first_position = next;
        next += message.num_items;
    }
    for (const auto& message : sends)
        all.item_destinations.insert(all.item_destinations.end(),
                                     all.is_deduplicated ? 0 : message.positions.size(),
                                     message.destination);
    for (const auto* const from : {&old, &part}) {
        const auto middle = std::ssize(all.deliveries);
        auto next = from->deliveries().begin();
        const auto take = [&](const incoming_message& of) {
            const bool is_wanted = takes_from(*from)(of.source);
            for (; next != from->deliveries().end() &&
                   next->position < of.first_position + of.num_items;
                 ++next)
                if (is_wanted)
                    all.deliveries.push_back(
                        {next->position - of.first_position + first_positions[of.source],
                         next->slot});
        };
        take({all.rank, 0, from->num_items()});
        std::ranges::for_each(from->stages()[0].receives, take);
        std::ranges::inplace_merge(all.deliveries, all.deliveries.begin() + middle, {},
                                   &delivery::position);
    }
    return plan(std::move(all));
}

}  // namespace

compilation begin_update(const context& where, const plan& old, const pattern& p,
                         std::span<const rank_t> changed, const equal_arguments& also_equal) {
    const auto& comm = where.comm();
    const compile_options options{old.is_deduplicated()};
    if (old.route() != "direct")
        return begin_compilation(where, p, old.route(), also_equal, options, &plan_cache::of(comm));
    std::optional<error> fault;
    std::vector<rank_t> ranks;
    pattern part{p.rank, p.num_ranks, p.num_items, p.num_slots, {}, {}};
    attempt(comm.rank(), fault, [&] {
        ranks.assign(changed.begin(), changed.end());
        std::ranges::sort(ranks);
        ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
        if (!ranks.empty() && (ranks.front() < 0 || ranks.back() >= p.num_ranks))
            throw_error_of(comm.rank(), errc::rank_out_of_range,
                           "changed rank {} is outside [0, {})",
                           ranks.front() < 0 ? ranks.front() : ranks.back(), p.num_ranks);
        part.sends = entries_of(p.sends, ranks);
        part.receives = entries_of(p.receives, ranks);
    });
    auto found = begin_compilation(where, {part, fault}, old.route(), also_equal, options, nullptr);
    // Two ranks that name each other add up to 0.
    const auto pair = [](rank_t from, rank_t to) {
        const auto word = static_cast<std::uint64_t>(from) << 32U | static_cast<std::uint32_t>(to);
        return (word ^ word >> 29U) * 0x9E3779B97F4A7C15U;
    };
    std::uint64_t sum = 0;
    for (const rank_t named : ranks) sum += pair(named, comm.rank()) - pair(comm.rank(), named);
    allreduce(comm, &sum, 1, MPI_UINT64_T, MPI_SUM);
    found.rounds->attempt([&] {
        if (sum != 0)
            throw error(errc::count_mismatch,
                        "a rank names another one as changed, which does not name it; let both do");
        if (found.compiled)
            found.take(std::make_shared<const plan>(merged(old, *found.compiled, ranks)));
    });
    return found;
}

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
