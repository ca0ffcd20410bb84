#include "checked_exchange_mpi.hpp"

#include <fmt/format.h>

#include "../base/named_values_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

// The topology that the last call agreed on.
struct agreed_topology final : communicator_resource {
    explicit agreed_topology(const communicator&) {}

    std::optional<topology> regions;
};

}  // namespace

std::vector<word_message> exchange_checked_words(const communicator& comm, const topology& regions,
                                                 const std::vector<word_message>& to_send,
                                                 const std::optional<error>& fault,
                                                 const equal_arguments& same,
                                                 std::optional<error>* late, std::uint32_t* bits) {
    auto& agreed = comm.resource<agreed_topology>().regions;
    const auto keep_regions = [&] { with_reserve([&] { agreed = regions; }); };
    if (!agreed) {
        agree(comm, fault, same);
        keep_regions();
    }
    auto inbox = exchange_words(comm, *agreed, to_send, fault, same, late, bits);
    if (*agreed != regions) keep_regions();
    return inbox;
}

void check_sizes(const communicator& comm, const topology& regions, const checked_pattern& given) {
    const pattern& p = given;
    if (regions.num_ranks() != comm.num_ranks()) {
        throw error(errc::size_mismatch,
                    fmt::format("the topology \"{}\" has {} ranks, but the communicator {}; give "
                                "one of all its ranks",
                                regions.to_string(), regions.num_ranks(), comm.num_ranks()));
    }
    if (p.rank != comm.rank() || p.num_ranks != comm.num_ranks()) {
        throw error(errc::size_mismatch,
                    fmt::format("the pattern is of rank {} of {}, but this is rank {} of {}; give "
                                "each rank its own pattern",
                                p.rank, p.num_ranks, comm.rank(), comm.num_ranks()));
    }
    given.check();
}

}  // namespace crossdock
