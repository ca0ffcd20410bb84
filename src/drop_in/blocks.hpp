/// @file
/// @brief The arguments of a neighborhood collective, in one form for all of them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "crossdock/pattern.hpp"

namespace crossdock::drop_in {

/// @brief What is sent to a neighbor, or received from it: `count` values that begin `offset` bytes after the buffer.
struct block {
    MPI_Aint offset = 0;
    int count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// @brief How the blocks of one side lie, in bytes. Calls with equal layouts can use one plan.
struct side_layout {
    bool is_packed = false;  ///< the blocks are made one after the other by MPI_Pack
    MPI_Aint first = 0;      ///< of the buffer, where the first block begins
    std::vector<count_t>
        offsets;  ///< of each block, seen from `first`; a packed side has none with gaps
    std::vector<count_t> lengths;

    friend bool operator==(const side_layout&, const side_layout&) = default;

    /// @brief From `first` to the end of the last block.
    count_t num_bytes() const;
    /// @brief The greatest power of two, at most 64, that divides all offsets and lengths, as a logarithm.
    int alignment() const;
};

/// @brief One side of a call: a buffer and its blocks, an entry for each neighbor.
class call_side {
  public:
    /// @param buffer  borrowed until the exchange is complete; so are the datatypes, unless `keep_types`
    /// @throws mpi_error
    call_side(void* buffer, std::vector<block> blocks);
    ~call_side();
    call_side(call_side&&) noexcept;
    call_side& operator=(call_side&&) = delete;

    /// @brief Makes the datatypes its own, so that the user may free his.
    void keep_types();

    const side_layout& layout() const noexcept { return layout_; }
    std::span<const block> blocks() const noexcept { return blocks_; }
    void* buffer() const noexcept { return buffer_; }

    /// @brief Where the bytes of the layout lie: in the buffer, or in memory of this object's.
    std::byte* bytes();
    /// @brief Fills `bytes` before an exchange, if the blocks are packed.
    void pack();
    /// @brief Fills the blocks after an exchange, if they are packed.
    void unpack();

  private:
    void* buffer_;
    std::vector<block> blocks_;
    std::vector<MPI_Datatype> own_types_;
    side_layout layout_;
    std::vector<std::byte> packed_;
};

/// @brief The pattern of a call, in items of 2^`alignment` bytes.
/// @param sources, destinations  the rank of each entry
pattern pattern_of(rank_t rank, rank_t num_ranks, std::span<const rank_t> destinations,
                   const side_layout& sends, std::span<const rank_t> sources,
                   const side_layout& receives, int alignment);

}  // namespace crossdock::drop_in
