#include "compile_mpi.hpp"

#include <optional>

#include "../base/environment_mpi.hpp"
#include "../exchange/checked_exchange_mpi.hpp"
#include "../exchange/peer_exchange_mpi.hpp"
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
    std::vector<word_message> begin(const pattern& p, const compile_options& options,
                                    bool keeps_peers) {
        const route& r = *result_.r;
        compiler_.emplace(regions_, p, r, options);
        if (keeps_peers) compiler_->keep_peers();
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
    void finish(bool keeps_peers) {
        if (result_.rounds && result_.rounds->has_stopped()) return;
        attempt(comm_.rank(), result_.fault, [&] {
            result_.compiled = std::make_shared<plan>(compiler_->finish());
            if (keeps_peers) result_.peers = compiler_->peers();
        });
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

// Leaves the agreement to the caller.
compilation compile_over_mpi(const context& where, const pattern& p, std::string_view asked_route,
                             const compile_options& options, const equal_arguments& also_equal,
                             bool keeps_peers) {
    const auto& comm = where.comm();
    const auto& regions = where.topology();
    const auto route_name = resolve_automatic(where, p, asked_route, options, also_equal);
    compilation result;
    conversation part(comm, regions, result);
    std::vector<word_message> headers;
    std::optional<error> fault;
    const auto list = [&](named_values& values) {
        values.add(also_equal).add("route", route_name).add("deduplicate", options.deduplicate);
        add_topology(values, "topology", regions);
    };
    const equal_arguments same(also_equal.object(), list);
    attempt(comm.rank(), fault, [&] {
        check_sizes(comm, regions, p);
        result.r = make_route(route_name, regions);
    });
    if (!fault && result.r->wants_places()) {
        exchange_checked_words(comm, regions, {}, fault, same);
        if (auto placed = place_ranks(comm, p, *result.r, options)) result.r = std::move(placed);
    }
    attempt(comm.rank(), fault, [&] { headers = part.begin(p, options, keeps_peers); });
    const auto inbox = exchange_checked_words(comm, regions, headers, fault, same, &result.fault);
    part.go_on(inbox);
    part.finish(keeps_peers);
    return result;
}

}  // namespace

void compilation::agree_with(const communicator& comm) {
    const auto meeting = [&] { agree(comm, fault); };
    rounds ? rounds->meet(meeting) : meeting();
}

std::string resolve_automatic(const context& where, const pattern& p, std::string_view route_name,
                              const compile_options& options, const equal_arguments& also_equal) {
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
                                   const equal_arguments& also_equal) {
    auto result = compile_over_mpi(where, p, route_name, options, also_equal, true);
    result.agree_with(where.comm());
    return result;
}

compilation begin_compilation(const context& where, const pattern& p, std::string_view route_name,
                              const equal_arguments& also_equal, const compile_options& options) {
    return compile_over_mpi(where, p, route_name, options, also_equal, false);
}

plan compile(const context& where, const pattern& p, std::string_view route_name,
             const compile_options& options, const equal_arguments& also_equal) {
    auto result = compile_over_mpi(where, p, route_name, options, also_equal, false);
    result.agree_with(where.comm());
    return std::move(*std::const_pointer_cast<plan>(result.compiled));  // nobody else has it
}

}  // namespace crossdock
