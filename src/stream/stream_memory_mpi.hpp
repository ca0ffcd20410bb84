// The blocks of memory that a stream's buffers lie in.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "../base/shared_window_mpi.hpp"
#include "crossdock/communicator.hpp"
#include "crossdock/topology.hpp"
#include "stream_chunk.hpp"

namespace crossdock {

// One block for each process that shares memory with this one, or a block for itself alone.
class stream_memory {
  public:
    stream_memory() = default;
    ~stream_memory() = default;
    stream_memory(const stream_memory&) = delete;
    stream_memory& operator=(const stream_memory&) = delete;

    // Makes the memory, all chunks of it free.
    //
    // nodes: whose regions share memory; each process for itself if all have one rank. Collective
    // over `comm`; throws error(errc::out_of_memory) on all ranks, which must then call `close()`.
    chunk_memory make(const communicator& comm, const topology& nodes, const chunk_layout& shape,
                      chunk_memory::sizes sizes);

    // Collective. The memory is gone if it is shared, and otherwise lives as long as this object.
    void close();

    // For a stream that ends without `close()`, if MPI may still use its memory.
    void keep_for_ever() noexcept { static_cast<void>(block_.release()); }

  private:
    static constexpr std::size_t alignment = shared_window::alignment;

    struct block_deleter {
        void operator()(std::byte* block) const noexcept {
            ::operator delete (block, std::align_val_t{alignment});
        }
    };

    bool is_shared() const noexcept { return node_ != MPI_COMM_NULL; }
    void make_node(const communicator& comm, const topology& nodes);
    void make_block(const communicator& comm, std::size_t block_bytes);
    std::vector<std::byte*> find_blocks() const;

    std::unique_ptr<std::byte, block_deleter> block_;
    MPI_Comm node_ = MPI_COMM_NULL;  // of those that share a window
    shared_window window_;
};

}  // namespace crossdock
