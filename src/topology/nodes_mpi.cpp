#include "nodes_mpi.hpp"

#include <map>
#include <utility>
#include <vector>

#include "crossdock/discover_topology.hpp"

namespace crossdock {

namespace {

topology find_nodes(const communicator& comm) {
    comm.wait_for_all();  // finding them blocks in MPI
    return discover_topology(comm);
}

struct known_nodes final : communicator_resource {
    explicit known_nodes(const communicator& comm) : value(find_nodes(comm)) {}

    topology value;
};

}  // namespace

const topology& nodes_of(const communicator& comm) { return comm.resource<known_nodes>().value; }

topology nodes_of(const communicator& comm, const std::optional<topology>& allowed) {
    const auto& found = nodes_of(comm);
    if (!allowed || found.num_regions() == found.num_ranks()) return found;
    if (found.num_regions() == 1) return *allowed;
    std::map<std::pair<region_t, region_t>, region_t> numbers;
    std::vector<region_t> regions;
    for (rank_t rank = 0; rank < found.num_ranks(); ++rank) {
        const auto both = std::pair(allowed->region_of(rank), found.region_of(rank));
        regions.push_back(
            numbers.try_emplace(both, static_cast<region_t>(numbers.size())).first->second);
    }
    return topology::from_regions(regions);
}

}  // namespace crossdock
