#include "crossdock/plan_maker.hpp"

#include <algorithm>
#include <utility>

#include "../base/named_values_mpi.hpp"
#include "../exchange/checked_exchange_mpi.hpp"
#include "../exchange/peer_exchange_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "planning.hpp"

namespace crossdock {

struct plan_maker::implementation {
    communicator comm;
    topology regions;
    compile_options options;
    std::unique_ptr<route> r;
    peer_sets peers;
    std::shared_ptr<const plan> latest;
};

plan_maker::plan_maker(const context& where, const pattern& first, std::string_view route_name,
                       const compile_options& options, std::int64_t also_equal) {
    const auto list = [&](named_values& values) { values.add("also_equal", also_equal); };
    auto found = compile_and_keep_peers(where, first, route_name, options,
                                        equal_arguments("a plan_maker", list));
    state_ = with_reserve([&] {
        return std::make_unique<implementation>(
            implementation{where.comm(), where.topology(), options, nullptr, {}, nullptr});
    });
    state_->r = std::move(found.r);
    state_->peers = std::move(found.peers);
    state_->latest = std::move(found.compiled);
}

plan_maker::~plan_maker() = default;
plan_maker::plan_maker(plan_maker&&) noexcept = default;
plan_maker& plan_maker::operator=(plan_maker&&) noexcept = default;

const std::shared_ptr<const plan>& plan_maker::latest() const noexcept { return state_->latest; }

std::shared_ptr<const plan> plan_maker::make(const pattern& p) {
    const auto& [comm, regions, options, r, peers, latest] = *state_;
    std::optional<plan_compiler> compiler;
    std::optional<error> fault;
    attempt(comm.rank(), fault, [&] {
        check_sizes(comm, regions, p);
        compiler.emplace(regions, p, *r, options, peers);
    });
    peer_exchange rounds(comm, regions);
    const auto run_stages = [&, &stages = peers.stages] {
        for (const auto& stage : stages)
            compiler->receive(rounds.next(compiler->send(), stage.sources.size()));
    };
    fault = rounds.run(comm.rank(), run_stages, std::move(fault));
    std::shared_ptr<const plan> made;
    if (!rounds.has_stopped()) {
        attempt(comm.rank(), fault,
                [&] { made = std::make_shared<const plan>(compiler->finish()); });
    }
    rounds.meet([&, &ranks = comm] { agree(ranks, fault); });
    return state_->latest = std::move(made);
}

}  // namespace crossdock
