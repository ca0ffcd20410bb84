/// @file
/// @brief The arguments of a neighborhood collective, in one form for all of them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "crossdock/pattern.hpp"
#include "message_beside.hpp"
#include "own_functions.hpp"

namespace crossdock::drop_in {

struct device_copies;

/// @brief What a datatype says of its values.
struct type_facts {
    MPI_Datatype type;
    count_t size;
    MPI_Aint extent;
    bool lies_in_a_row;  ///< the values are their bytes, one after the other
};

/// @throws mpi_error
type_facts facts_of(MPI_Datatype type);

/// @brief What is sent to a neighbor, or received from it: `count` values that begin `offset` bytes after the buffer.
struct block {
    MPI_Aint offset = 0;
    value_count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// @brief Where the blocks of one side lie, in bytes from where the first one begins.
struct side_layout {
    std::vector<count_t> offsets;
    std::vector<count_t> lengths;

    friend bool operator==(const side_layout&, const side_layout&) = default;

    /// @brief To the end of the last block.
    count_t num_bytes() const;
    /// @brief Whether a byte belongs to two blocks.
    bool has_overlaps() const;
    /// @brief The greatest power of two, at most 64, that divides all offsets and lengths, as a logarithm.
    int alignment() const;
};

/// @brief One side of a call: a buffer and its blocks, an entry for each neighbor.
class call_side {
  public:
    /// @param buffer     borrowed until the exchange is complete; so are the datatypes, unless `keep_types`
    /// @param is_shared  all neighbors have the same block
    /// @throws mpi_error
    call_side(void* buffer, std::vector<block> blocks, bool is_shared);
    ~call_side();
    call_side(call_side&&) noexcept;
    call_side& operator=(call_side&&) = delete;

    /// @brief Makes the datatypes its own, so that the user may free his.
    void keep_types();

    /// @brief As in the buffer; or one block after the other, if they have to be packed: they have gaps, overlap, lie
    /// far apart, or are in a device's memory.
    const side_layout& layout() const noexcept { return layout_; }
    std::span<const block> blocks() const noexcept { return blocks_; }
    /// @brief Whether it is in memory that only MPI may read and write.
    bool is_for_mpi() const noexcept { return is_for_mpi_; }
    /// @brief What packs and unpacks it, if it is in a device's memory; null: MPI.
    const device_copies* copies() const noexcept { return copies_; }
    /// @brief Where block `i` begins.
    std::byte* begin_of(std::size_t i) const noexcept;
    /// @brief Block `i`. MPI looks at the datatype of an empty one, too.
    typed_values values_of(std::size_t i) const noexcept {
        const auto& one = blocks_[i];
        return {begin_of(i), one.count, one.count > 0 ? one.type : MPI_BYTE};
    }

    /// @brief Whether the buffer has the blocks where a plan for `planned` looks for them.
    bool lies_as(const side_layout& planned) const { return !is_packed_ && layout_ == planned; }
    /// @brief Where the layout begins in the buffer.
    std::byte* bytes() const noexcept;
    /// @brief Copies the blocks that are as long as planned to where they are planned from `bytes` on.
    /// @param bytes  of a `host_room` for `copies`
    void pack(const side_layout& planned, std::byte* bytes) const;
    /// @brief The reverse.
    void unpack(const side_layout& planned, const std::byte* bytes) const;
    /// @brief The first bytes of block `i`, as MPI packs them, to the end of a value.
    std::vector<std::byte> read(std::size_t i, count_t num_bytes) const;
    /// @brief The reverse; to the end of a value, the others are as they were.
    /// @pre the block is as long
    void write(std::size_t i, const std::byte* bytes, count_t num_bytes) const;

  private:
    // Calls `copy` for the blocks that `pack` takes.
    template <class Copy>
    void for_each_planned(const side_layout& planned, Copy&& copy) const;
    template <class Copy>
    void copy_planned(const side_layout& planned, Copy&& copy) const;

    void* buffer_;
    std::vector<block> blocks_;
    bool is_shared_;
    bool is_packed_ = false;
    bool is_in_a_row_ = false;  // on the host, the values of each block
    bool is_for_mpi_ = false;
    const device_copies* copies_ = nullptr;
    MPI_Aint first_ = 0;  // of the buffer, where the first block begins
    std::vector<MPI_Datatype> own_types_;
    side_layout layout_;
};

/// @brief The pattern of a call, in items of 2^`alignment` bytes.
/// @param sources, destinations  the rank of each entry
pattern pattern_of(rank_t rank, rank_t num_ranks, std::span<const rank_t> destinations,
                   const side_layout& sends, std::span<const rank_t> sources,
                   const side_layout& receives, int alignment);

}  // namespace crossdock::drop_in
