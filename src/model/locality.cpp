#include "crossdock/machine.hpp"

#include "../base/throw_error.hpp"

namespace crossdock {

rank_layout::rank_layout(topology regions, topology nodes)
    : regions_(std::move(regions)), nodes_(std::move(nodes)) {
    if (regions_.num_ranks() == nodes_.num_ranks()) return;
    throw_error(errc::size_mismatch,
                "the regions \"{}\" have {} ranks, but the nodes \"{}\" have {}",
                regions_.to_string(), regions_.num_ranks(), nodes_.to_string(), nodes_.num_ranks());
}

locality_level rank_layout::level_of(rank_t a, rank_t b) const {
    if (a == b) return locality_level::self;
    if (nodes_.region_of(a) != nodes_.region_of(b)) return locality_level::network;
    return regions_.region_of(a) == regions_.region_of(b) ? locality_level::region
                                                          : locality_level::node;
}

}  // namespace crossdock
