#include "crossdock/plan_maker.hpp"

#include <algorithm>
#include <utility>

#include "../exchange/checked_exchange_mpi.hpp"
#include "../exchange/peer_exchange_mpi.hpp"
#include "planning.hpp"

namespace crossdock {

namespace {

// In place of a header: somebody before has a fault, and items are missing that are not the
// receiver's matter. It takes every hop that the items would have taken.
constexpr std::int64_t is_spoiled = -1;

bool has_spoiled(const std::vector<word_message>& inbox) {
    return std::ranges::any_of(
        inbox, [](const word_message& message) { return message.words.front() == is_spoiled; });
}

std::vector<word_message> spoiled_headers(std::span<const rank_t> destinations) {
    std::vector<word_message> headers;
    for (const rank_t destination : destinations) headers.push_back({destination, {is_spoiled}});
    return headers;
}

}  // namespace

struct plan_maker::implementation {
    communicator comm;
    topology regions;
    compile_options options;
    std::unique_ptr<route> r;
    peer_sets peers;
    std::shared_ptr<const plan> latest;

    // Runs all stages; whether what came is whole.
    bool run(std::optional<plan_compiler>& compiler) const {
        peer_exchange rounds(comm, regions);
        for (const auto& [destinations, sources] : peers.stages) {
            const auto inbox = rounds.next(
                compiler ? compiler->send() : spoiled_headers(destinations), sources.size());
            if (has_spoiled(inbox)) compiler.reset();
            if (compiler) compiler->receive(inbox);
        }
        return compiler.has_value();
    }
};

plan_maker::plan_maker(const context& where, const pattern& first, std::string_view route_name,
                       const compile_options& options, std::int64_t also_equal) {
    auto found = compile_and_keep_peers(where, first, route_name, options, also_equal);
    state_ = std::make_unique<implementation>(implementation{
        where.comm(), where.topology(), options, std::move(found.r), std::move(found.peers),
        std::make_shared<const plan>(std::move(*found.compiled))});
}

plan_maker::~plan_maker() = default;
plan_maker::plan_maker(plan_maker&&) noexcept = default;
plan_maker& plan_maker::operator=(plan_maker&&) noexcept = default;

const std::shared_ptr<const plan>& plan_maker::latest() const noexcept { return state_->latest; }

std::shared_ptr<const plan> plan_maker::make(const pattern& p) {
    const auto& [comm, regions, options, r, peers, latest] = *state_;
    std::optional<plan_compiler> compiler;
    std::optional<error> fault;
    try {
        check_sizes(comm, regions, p);
        compiler.emplace(regions, p, *r, options, peers);
    } catch (...) {
        fault = current_error_of(comm.rank());
    }
    const bool is_whole = state_->run(compiler);
    state_->latest = on_all_or_none(comm, [&]() -> std::shared_ptr<const plan> {
        if (fault) throw *fault;
        return is_whole ? std::make_shared<const plan>(compiler->finish()) : nullptr;
    });
    return state_->latest;
}

}  // namespace crossdock
