/// @file
/// @brief All schemes, and memory for chunks, as processes of a node share it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "src/stream/scheme.hpp"
#include "src/stream/stream_chunk.hpp"

namespace crossdock::test {

inline constexpr std::array all_schemes{stream_scheme::ww, stream_scheme::wps, stream_scheme::wsp,
                                        stream_scheme::pp, stream_scheme::node};

// Memory that begins at a line of the cache, as shared windows do.
struct line_deleter {
    void operator()(std::byte* block) const { ::operator delete[](block, std::align_val_t{64}); }
};
using block_ptr = std::unique_ptr<std::byte[], line_deleter>;

inline block_ptr make_block(std::size_t num_bytes) {
    return block_ptr(new (std::align_val_t{64}) std::byte[num_bytes]());
}

// The processes of a node, each with its own view of the same blocks.
struct shared_node {
    shared_node(const chunk_layout& shape, const chunk_memory::sizes& sizes, int num_processes) {
        std::vector<std::byte*> pointers;
        for (int p = 0; p < num_processes; ++p) {
            blocks.push_back(make_block(chunk_memory::block_bytes(shape, sizes)));
            pointers.push_back(blocks.back().get());
        }
        for (int p = 0; p < num_processes; ++p) {
            processes.emplace_back(shape, sizes, pointers, p);
            processes.back().initialize();
        }
    }

    std::vector<block_ptr> blocks;
    std::vector<chunk_memory> processes;
};

}  // namespace crossdock::test
