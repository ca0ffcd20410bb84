#include "outbox_memory_mpi.hpp"

namespace crossdock {

shared_outboxes& outbox_memory::of(const communicator& comm, const topology& nodes) {
    if (outboxes_) return *outboxes_;
    comm.wait_for_all();
    if (nodes.num_regions() > 1) node_ = comm.split(nodes.region_of(comm.rank()));
    const communicator& node = node_ ? *node_ : comm;
    const std::size_t bytes =
        shared_outboxes::outbox_bytes(static_cast<std::size_t>(node.num_ranks()));
    std::optional<error> fault;
    try {
        window_ = shared_window(node.get(), bytes);
    } catch (...) {
        fault = current_error();
    }
    try {
        agree(comm, fault);
    } catch (...) {
        close();
        throw;
    }
    outboxes_.emplace(window_.pieces(), static_cast<std::size_t>(node.rank()));
    outboxes_->initialize();
    CROSSDOCK_MPI(MPI_Barrier(node.get()));
    return *outboxes_;
}

void outbox_memory::close() {
    outboxes_.reset();
    window_.free();
    if (node_) node_->close();
    node_.reset();
}

}  // namespace crossdock
