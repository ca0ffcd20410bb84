#include "stream_memory_mpi.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cstdint>
#include <limits>
#include <optional>

namespace crossdock {

namespace {

// What Linux lets processes share at most; without limit where that is unknown.
std::uint64_t free_shared_bytes() {
    struct statvfs found {};
    if (statvfs("/dev/shm", &found) != 0) return std::numeric_limits<std::uint64_t>::max();
    return std::uint64_t{found.f_bavail} * found.f_frsize;
}

}  // namespace

chunk_memory stream_memory::make(const communicator& comm, const topology& nodes,
                                 const chunk_shape& shape, chunk_memory::sizes sizes) {
    make_node(comm, nodes);
    if (is_shared()) {
        // Others look for chunks behind as many shared buffers as they have themselves.
        CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, &sizes.num_shared_buffers, 1, MPI_UINT32_T,
                                    MPI_MAX, node_));
    }
    make_block(comm, chunk_memory::block_bytes(shape, sizes));
    chunk_memory result(shape, sizes, find_blocks(),
                        is_shared() ? nodes.local_rank(comm.rank()) : 0);
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
    std::uint64_t node_bytes = block_bytes + alignment;
    if (is_shared())
        CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, &node_bytes, 1, MPI_UINT64_T, MPI_SUM, node_));
    on_all_or_none(comm, [&] {
        if (is_shared()) return check_room(node_bytes);
        void* const block = ::operator new (block_bytes, std::align_val_t{alignment});
        block_.reset(static_cast<std::byte*>(block));
    });
    std::optional<error> fault;
    try {
        if (is_shared()) make_window(block_bytes);
    } catch (const mpi_error& failure) {
        fault.emplace(errc::out_of_memory,
                      fmt::format("no {} bytes of shared memory for the buffers of a node: {}",
                                  node_bytes, failure.what()));
    }
    agree(comm, fault);
}

// Asked beforehand: where it does not suffice, Open MPI 4.1 returns to one process of the node only.
void stream_memory::check_room(std::size_t node_bytes) const {
    const std::uint64_t free_bytes = free_shared_bytes();
    if (node_bytes <= free_bytes) return;
    throw error(errc::out_of_memory,
                fmt::format("the buffers of a node take {} bytes of shared memory, but {} are free",
                            node_bytes, free_bytes));
}

void stream_memory::make_window(std::size_t block_bytes) {
    // MPI aligns as it likes. With multiples of it, all are out of line alike.
    const std::size_t whole = (block_bytes + alignment - 1) / alignment * alignment;
    void* own = nullptr;
    CROSSDOCK_MPI(MPI_Win_allocate_shared(static_cast<MPI_Aint>(whole + alignment), 1,
                                          MPI_INFO_NULL, node_, static_cast<void*>(&own),
                                          &window_));
    CROSSDOCK_MPI(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN));
}

std::vector<std::byte*> stream_memory::find_blocks() const {
    if (!is_shared()) return {block_.get()};
    int num_processes = 0;
    CROSSDOCK_MPI(MPI_Comm_size(node_, &num_processes));
    std::vector<std::byte*> blocks;
    for (int process = 0; process < num_processes; ++process) {
        MPI_Aint bytes = 0;
        int unit = 0;
        void* base = nullptr;
        CROSSDOCK_MPI(
            MPI_Win_shared_query(window_, process, &bytes, &unit, static_cast<void*>(&base)));
        auto room = static_cast<std::size_t>(bytes);
        blocks.push_back(static_cast<std::byte*>(std::align(alignment, 1, base, room)));
    }
    return blocks;
}

void stream_memory::close() {
    if (window_ != MPI_WIN_NULL) CROSSDOCK_MPI(MPI_Win_free(&window_));
    if (node_ != MPI_COMM_NULL) CROSSDOCK_MPI(MPI_Comm_free(&node_));
}

}  // namespace crossdock
