#include "crossdock/plan_cache.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>

#include "../base/collective_mpi.hpp"
#include "../base/environment_mpi.hpp"
#include "../exchange/checked_exchange_mpi.hpp"
#include "compile_mpi.hpp"
#include "crossdock/route_choice.hpp"
#include "planning.hpp"

namespace crossdock {

namespace {

// Above the slots of plans: this rank was given a route. Ranks that choose one have no slot to
// offer yet.
constexpr std::uint64_t is_given = std::uint64_t{1} << kept_plans::max_capacity;

// Who was given a route waits for nobody who chooses one; all fail.
[[noreturn]] void refuse_different_routes(const communicator& comm, const topology& regions,
                                          const std::string& route) {
    exchange_checked_words(comm, regions, {},
                           error(errc::invalid_argument,
                                 fmt::format("rank {} has route = {}, but others have {}; give all "
                                             "ranks the same",
                                             comm.rank(), route, automatic_route),
                                 comm.rank()),
                           {});
    throw error(errc::internal, "a fault was not agreed on");
}

// The bits that all ranks have.
std::uint64_t common_bits(const communicator& comm, std::uint64_t bits) {
    run_collective(comm, [&](MPI_Request* reduction) {
        return MPI_Iallreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_BAND, comm.get(),
                              reduction);
    });
    return bits;
}

}  // namespace

plan_cache::plan_cache(const communicator& comm, int capacity)
    : comm_(comm),
      kept_(on_all_or_none(
          comm_, [&] { return kept_plans(capacity); }, capacity, "capacities")) {}

std::shared_ptr<const plan> plan_cache::compile(const context& where, const pattern& p,
                                                std::string_view route_name,
                                                const compile_options& options) {
    const auto& regions = where.topology();
    comm_.resource<environment>();  // ranks may be given different routes
    std::string route(route_name);
    if (route == automatic_route) {
        common_bits(comm_, 0);
        route = resolve_automatic(where, p, route, options);
    }
    const auto bits = common_bits(comm_, is_given | kept_.slots_of(regions, p, route, options));
    if ((bits & is_given) == 0) refuse_different_routes(comm_, regions, route);
    if (bits != is_given) return kept_.use(std::countr_zero(bits));
    auto compiled = std::make_shared<const plan>(crossdock::compile(where, p, route, options));
    kept_.keep(compiled, regions, p, route, options);
    return compiled;
}

}  // namespace crossdock
