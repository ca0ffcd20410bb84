#include "compile_mpi.hpp"

#include <optional>

#include "../base/environment_mpi.hpp"
#include "../exchange/checked_exchange_mpi.hpp"
#include "../exchange/peer_exchange_mpi.hpp"
#include "../plan/plan_compiler.hpp"
#include "../topology/agreement_text_mpi.hpp"
#include "automatic_route.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "place_ranks_mpi.hpp"
#include "planning.hpp"

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

// One rank's part in the rounds.
class conversation {
  public:
    conversation(const communicator& comm, const topology& regions, compilation& result)
        : comm_(comm), regions_(regions), result_(result) {}

    // What is to be sent first.
    std::vector<word_message> begin(const pattern& p, const route& r,
                                    const compile_options& options) {
        compiler_.emplace(regions_, p, r, options);
        const int num_agreement_rounds = compiler_->num_rounds() - r.num_stages();
        for (int round = 0; round < compiler_->num_rounds(); ++round) {
            const int stage = round - num_agreement_rounds;
            const bool has_few = stage >= 0 && r.max_messages_per_rank() <= most_peer_messages;
            partners_.push_back(has_few ? r.certain_partners(comm_.rank(), stage) : std::nullopt);
        }
        return partners_.empty() ? std::vector<word_message>() : compiler_->send();
    }

    // The rounds after the first: all arguments are known to be equal, and nobody had a fault.
    void go_on(const std::vector<word_message>& first_inbox) {
        attempt(comm_.rank(), result_.fault, [&] {
            if (!partners_.empty()) compiler_->receive(first_inbox);
        });
        for (std::size_t round = 1; round < partners_.size(); ++round) {
            if (partners_[round]) {
                hear_partners(*partners_[round]);
            } else {
                hear_anybody();
            }
        }
    }

    // The plan, unless a rank has stopped.
    void finish() {
        if (result_.rounds && result_.rounds->has_stopped()) return;
        attempt(comm_.rank(), result_.fault,
                [&] { result_.compiled = std::make_shared<plan>(compiler_->finish()); });
    }

  private:
    void hear_partners(const stage_partners& partners) {
        auto& rounds = result_.rounds;
        if (!rounds)
            rounds = with_reserve([&] { return std::make_unique<peer_exchange>(comm_, regions_); });
        result_.fault = rounds->run(
            comm_.rank(),
            [&] {
                compiler_->receive(
                    rounds->next(with_empty_headers(compiler_->send(), partners.destinations),
                                 partners.sources.size()));
            },
            std::move(result_.fault));
    }

    // Throws on all ranks where one has failed.
    void hear_anybody() {
        auto& fault = result_.fault;
        auto& rounds = result_.rounds;
        std::vector<word_message> headers;
        if (!rounds || !rounds->has_stopped())
            attempt(comm_.rank(), fault, [&] { headers = compiler_->send(); });
        std::optional<error> late;
        const auto exchange = [&] {
            return exchange_words(comm_, regions_, headers, fault, {}, &late);
        };
        const auto inbox = rounds ? rounds->meet(exchange) : exchange();
        fault = std::move(late);
        attempt(comm_.rank(), fault, [&] { compiler_->receive(inbox); });
    }

    const communicator& comm_;
    const topology& regions_;
    compilation& result_;
    std::optional<plan_compiler> compiler_;
    std::vector<std::optional<stage_partners>>
        partners_;  // of each round; none if anybody may speak
};

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

void compilation::agree_with(const communicator& comm) {
    const auto meeting = [&] { agree(comm, fault); };
    rounds ? rounds->meet(meeting) : meeting();
    kept.keep({compiled});
}

compilation begin_compilation(const context& where, const checked_pattern& p,
                              std::string_view asked_route, const equal_arguments& also_equal,
                              const compile_options& options, plan_cache* cache) {
    const auto& comm = where.comm();
    const auto& regions = where.topology();
    const auto route_name = resolve_automatic(where, p, asked_route, options, also_equal);
    compilation result;
    plan_lookup kept{cache};
    std::unique_ptr<route> r;
    conversation part(comm, regions, result);
    std::vector<word_message> headers;
    std::optional<error> fault;
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
        result =
            compilation(kept.found.compiled);  // nobody needs the headers, nor a fault with them
        return true;
    };
    attempt(comm.rank(), fault, [&] {
        check_sizes(comm, regions, p);
        r = make_route(route_name, regions);
        slots = kept.ask(p.hash(), own.hash());
    });
    if (!fault && r->wants_places()) {
        exchange_checked_words(comm, regions, {}, fault, same, nullptr, &slots);
        if (is_kept()) return result;
        if (auto placed = place_ranks(comm, p, *r, options)) r = std::move(placed);
    }
    attempt(comm.rank(), fault, [&] { headers = part.begin(p, *r, options); });
    const auto inbox =
        exchange_checked_words(comm, regions, headers, fault, same, &result.fault, &slots);
    if (is_kept()) return result;
    result.num_stages = r->num_stages();
    result.kept = kept;
    part.go_on(inbox);
    part.finish();
    return result;
}

plan compile(const context& where, const checked_pattern& p, std::string_view route_name,
             const compile_options& options, const equal_arguments& also_equal) {
    auto result = begin_compilation(where, p, route_name, also_equal, options, nullptr);
    result.agree_with(where.comm());
    return std::move(*std::const_pointer_cast<plan>(result.compiled));  // nobody else has it
}

std::shared_ptr<const plan> find_or_compile(const context& where, const checked_pattern& p,
                                            std::string_view route_name,
                                            const compile_options& options) {
    auto result = begin_compilation(where, p, route_name, equal_arguments("a plan"), options,
                                    &plan_cache::of(where.comm()));
    if (result.kept.cache != nullptr) result.agree_with(where.comm());
    return result.compiled;
}

}  // namespace crossdock
