#include "crossdock/neighbor/plan_cache.hpp"

#include <bit>

#include "crossdock/neighbor/compile_mpi.hpp"

namespace crossdock {

namespace {

// The bits that all ranks have.
std::uint64_t common_bits(const communicator& comm, std::uint64_t bits) {
    MPI_Request reduction = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(
        MPI_Iallreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_BAND, comm.get(), &reduction));
    comm.wait(reduction);
    return bits;
}

}  // namespace

plan_cache::plan_cache(const communicator& comm, int capacity)
    : comm_(comm),
      kept_(on_all_or_none(
          comm, [&] { return kept_plans(capacity); }, capacity, "capacities")) {}

std::shared_ptr<const plan> plan_cache::compile(const topology& regions, const pattern& p,
                                                std::string_view route_name,
                                                const compile_options& options) {
    const auto places = common_bits(comm_, kept_.places_of(regions, p, route_name, options));
    if (places != 0) return kept_.use(std::countr_zero(places));
    auto compiled =
        std::make_shared<const plan>(compile_mpi(comm_, regions, p, route_name, options));
    kept_.keep(compiled, regions, p, route_name, options);
    return compiled;
}

}  // namespace crossdock
