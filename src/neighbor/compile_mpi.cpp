#include "crossdock/neighbor/compile_mpi.hpp"

#include <fmt/format.h>

#include <optional>

#include "crossdock/exchange/byte_exchange_mpi.hpp"
#include "crossdock/plan/plan_compiler.hpp"

namespace crossdock {

namespace {

void check_sizes(const communicator& comm, const topology& regions, const pattern& p) {
    if (regions.num_ranks() != comm.num_ranks()) {
        throw error(errc::size_mismatch,
                    fmt::format("the topology \"{}\" has {} ranks, but the communicator {}",
                                regions.to_string(), regions.num_ranks(), comm.num_ranks()));
    }
    if (p.rank != comm.rank() || p.num_ranks != comm.num_ranks()) {
        throw error(errc::size_mismatch,
                    fmt::format("the pattern is of rank {} of {}, but this is rank {} of {}",
                                p.rank, p.num_ranks, comm.rank(), comm.num_ranks()));
    }
    validate(p);
}

// What must be equal on all ranks, in words that do not grow with the ranks of an ordinary
// placement.
std::int64_t hash_of_arguments(const topology& regions, std::string_view route_name,
                               const compile_options& options, std::int64_t more) {
    auto text = fmt::format("{} {} {}", route_name, options.deduplicate, more);
    for (const auto& p : regions.placements()) {
        text += fmt::format(" {} {} {} {} {}", p.first_rank, p.num_ranks, p.first_region,
                            p.num_regions, p.run_length);
    }
    return agreement_hash(text);
}

}  // namespace

plan compile_mpi(const communicator& comm, const topology& regions, const pattern& p,
                 std::string_view route_name, const compile_options& options,
                 std::int64_t also_equal) {
    std::unique_ptr<route> r;
    std::optional<plan_compiler> compiler;
    on_all_or_none(
        comm,
        [&] {
            check_sizes(comm, regions, p);
            r = make_route(route_name, regions);
            compiler.emplace(regions, p, *r, options);
        },
        hash_of_arguments(regions, route_name, options, also_equal),
        "topologies, routes or options");
    for (int round = 0; round < compiler->num_rounds(); ++round) {
        compiler->receive(exchange_words(comm, regions, compiler->send()));
    }
    return on_all_or_none(comm, [&] { return compiler->finish(); });
}

}  // namespace crossdock
