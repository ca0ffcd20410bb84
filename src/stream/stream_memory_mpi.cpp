#include "stream_memory_mpi.hpp"

#include <cstdint>
#include <optional>

#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

chunk_memory stream_memory::make(const communicator& comm, const topology& nodes,
                                 const chunk_layout& shape, chunk_memory::sizes sizes) {
    make_node(comm, nodes);
    if (is_shared()) {
        // Others look for chunks behind as many shared buffers as they have themselves.
        CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, &sizes.num_shared_buffers, 1, MPI_UINT32_T,
                                    MPI_MAX, node_));
    }
    make_block(comm, with_reserve([&] { return chunk_memory::block_bytes(shape, sizes); }));
    auto result = with_reserve([&] {
        return chunk_memory(shape, sizes, find_blocks(),
                            is_shared() ? nodes.local_rank(comm.rank()) : 0);
    });
    result.initialize();
    if (is_shared()) CROSSDOCK_MPI(MPI_Barrier(node_));
    return result;
}

void stream_memory::make_node(const communicator& comm, const topology& nodes) {
    if (nodes.num_regions() == nodes.num_ranks()) return;
    const region_t region = nodes.region_of(comm.rank());
    const bool is_alone = nodes.region_size(region) == 1;
    CROSSDOCK_MPI(
        MPI_Comm_split(comm.get(), is_alone ? MPI_UNDEFINED : region, comm.rank(), &node_));
    if (!is_alone) CROSSDOCK_MPI(MPI_Comm_set_errhandler(node_, MPI_ERRORS_RETURN));
}

void stream_memory::make_block(const communicator& comm, std::size_t block_bytes) {
    std::optional<error> fault;
    try {
        if (is_shared()) {
            window_ = shared_window(node_, block_bytes);
        } else {
            void* const block = ::operator new (block_bytes, std::align_val_t{alignment});
            block_.reset(static_cast<std::byte*>(block));
        }
    } catch (...) {
        fault = current_error();
    }
    agree(comm, fault);
}

std::vector<std::byte*> stream_memory::find_blocks() const {
    if (!is_shared()) return {block_.get()};
    return window_.pieces();
}

void stream_memory::close() {
    window_.free();
    if (node_ != MPI_COMM_NULL) CROSSDOCK_MPI(MPI_Comm_free(&node_));
}

}  // namespace crossdock
