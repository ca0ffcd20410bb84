#include "nodes_mpi.hpp"

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

}  // namespace crossdock
