#include "exchange_state_mpi.hpp"

#include <algorithm>

#include "../base/environment_mpi.hpp"
#include "../base/rank_fault_mpi.hpp"
#include "../topology/nodes_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/exchange/exchange_rules.hpp"

namespace crossdock {

namespace {

constexpr std::size_t most_kept_routes = 8;

// To make windows takes as long as some tens of exchanges gain by them.
constexpr int most_without_memory = 16;

std::optional<machine> own_machine(const context& where) {
    return where.has_own_machine() ? std::optional(where.machine()) : std::nullopt;
}

bool is_own_machine(const std::optional<machine>& m, const context& where) {
    return where.has_own_machine() ? m == where.machine() : !m;
}

// The partners of `one.here` in every stage; `rank_of` takes the route's ranks to the
// communicator's.
template <class RankOf>
void find_partners(kept_route& one, RankOf&& rank_of) {
    for (int s = 0; s < one.r->num_stages(); ++s) {
        auto partners = one.r->partners(one.here, s);
        kept_route::stage stage{std::move(partners.destinations), {}, partners.sources.size()};
        for (const rank_t place : stage.destinations)
            stage.destination_ranks.push_back(rank_of(place));
        one.stages.push_back(std::move(stage));
    }
}

// Between nodes `shared_memory` sends what `three_step` does, with however many leaders. Where nobody shares memory
// there is none to make.
bool suits_memory(const exchange_algorithm& ruled, const topology& nodes, const topology& regions) {
    if (nodes.num_regions() == nodes.num_ranks()) return false;
    return nodes.num_regions() == 1 || (ruled.route.starts_with("three_step") && regions == nodes);
}

}  // namespace

exchange_memory::exchange_memory(const communicator& comm, const std::optional<topology>& given)
    : allowed(given),
      nodes(nodes_of(comm, given)),
      window(nodes.num_regions() == 1),
      between_fences(nodes.num_regions() == 1) {}

shared_send_buffers& exchange_memory::make_send_buffers(const communicator& comm) {
    if (send_buffers) return *send_buffers;
    const auto& shared =
        with_reserve([&]() -> auto& { return comm.resource<node_memories>(); }).of(comm, allowed);
    const auto num_ranks = static_cast<std::size_t>(shared->domain().size());
    std::optional<error> fault;
    attempt(comm.rank(), fault, [&] {
        send_buffer = memory_piece(shared, shared_send_buffers::send_buffer_bytes(num_ranks));
        send_buffers.emplace(send_buffer.all(),
                             static_cast<std::size_t>(shared->domain().here().value()));
        send_buffers->initialize();
    });
    try {
        agree(comm, fault);
    } catch (...) {
        send_buffers.reset();
        send_buffer.give_back([] { return true; });
        throw;
    }
    return *send_buffers;
}

exchange_state::exchange_state(const communicator& comm)
    : checks_(comm.resource<environment>().checks()), records_(comm.resource<object_records>()) {
    nodes_of(comm);  // blocks here once
    with_reserve([&] { environment_choice_ = comm.resource<environment>().algorithm(); });
    tags_ = comm.reserve_tags(2 * exchange_tags::count);
}

void exchange_state::close() {
    for (const auto& kept : memories_) {
        kept->window.close();
        kept->between_fences.close();
    }
}

exchange_tags exchange_state::next_tags() noexcept {
    return {tags_.first() + static_cast<int>(num_exchanges_++ % 2) * exchange_tags::count};
}

exchange_memory& exchange_state::memory(const context& where) {
    for (const auto& kept : memories_) {
        if (kept->allowed == where.nodes()) return *kept;
    }
    return with_reserve([&]() -> exchange_memory& {
        return *memories_.emplace_back(
            std::make_unique<exchange_memory>(where.comm(), where.nodes()));
    });
}

exchange_algorithm exchange_state::resolve(const std::string& name, const context& where,
                                           bool is_one_size, memory_wish wish) {
    if (name != "auto") return with_reserve([&] { return parse_exchange_algorithm(name); });
    auto& kept = memory(where);
    if (!environment_choice_.empty() && environment_choice_ != "auto") {
        auto asked = with_reserve([&] { return parse_exchange_algorithm(environment_choice_); });
        const bool is_never_made = asked.method == exchange_method::shared_memory &&
                                   wish == memory_wish::never && !kept.send_buffers;
        if (!is_never_made && (is_one_size || !takes_one_size_only(asked.method))) return asked;
    }
    const auto ruled = with_reserve([&] { return rule(where, kept); });
    if (suits_memory(ruled, kept.nodes, where.topology()) && has_memory(where.comm(), kept, wish))
        return {exchange_method::shared_memory, {}};
    return with_reserve([&] { return ruled; });
}

bool exchange_state::has_memory(const communicator& comm, exchange_memory& kept, memory_wish wish) {
    if (kept.send_buffers || kept.is_lacking || wish == memory_wish::never)
        return kept.send_buffers.has_value();
    if (wish == memory_wish::when_it_pays && ++kept.num_without <= most_without_memory)
        return false;
    try {
        kept.make_send_buffers(comm);
    } catch (const error& failure) {
        if (failure.code() != errc::out_of_memory) throw;
        kept.is_lacking = true;
    }
    return kept.send_buffers.has_value();
}

const exchange_algorithm& exchange_state::rule(const context& where, exchange_memory& kept) {
    const auto& regions = where.topology();
    if (kept.ruled_regions != regions || !is_own_machine(kept.ruled_machine, where)) {
        const bool all_share_memory = kept.nodes.num_regions() == 1;
        kept.ruled_regions.reset();  // until all is there
        kept.ruled = choose_exchange_algorithm(
            all_share_memory ? topology::one_region(regions.num_ranks()) : regions,
            where.machine());
        kept.ruled_machine = own_machine(where);
        kept.ruled_regions = regions;
    }
    return kept.ruled;
}

const kept_route& exchange_state::over_all(const std::string& name, const context& where) {
    const auto& regions = where.topology();
    for (const auto& kept : routes_) {
        if (!kept->is_inside_region && kept->name == name && kept->regions == regions) return *kept;
    }
    kept_route one{name, regions, std::nullopt, false, make_route(name, regions), where.rank(), {}};
    find_partners(one, [](rank_t place) { return place; });
    return keep(std::move(one));
}

const kept_route& exchange_state::inside_region(const context& where) {
    const auto& regions = where.topology();
    for (const auto& kept : routes_) {
        if (kept->is_inside_region && kept->regions == regions &&
            is_own_machine(kept->own_machine, where))
            return *kept;
    }
    const region_t region = regions.region_of(where.rank());
    auto inside = make_inside_route(regions.region_size(region), where.machine());
    kept_route one{inside->name(),
                   regions,
                   own_machine(where),
                   true,
                   std::move(inside),
                   regions.local_rank(where.rank()),
                   {}};
    find_partners(one, [&](rank_t place) { return regions.rank_at(region, place); });
    return keep(std::move(one));
}

const kept_route& exchange_state::keep(kept_route&& one) {
    if (routes_.size() == most_kept_routes) routes_.erase(routes_.begin());
    return *routes_.emplace_back(std::make_unique<kept_route>(std::move(one)));
}

}  // namespace crossdock
