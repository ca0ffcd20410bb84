#include "blocks.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "crossdock/communicator.hpp"

namespace crossdock::drop_in {

namespace {

constexpr int greatest_alignment = 6;
// A side whose blocks lie farther apart than this many times their bytes is packed.
constexpr count_t most_span = 4;
constexpr count_t small_span = 4096;

bool is_named(MPI_Datatype type) {
    int num_integers = 0, num_addresses = 0, num_types = 0, combiner = 0;
    CROSSDOCK_MPI(
        MPI_Type_get_envelope(type, &num_integers, &num_addresses, &num_types, &combiner));
    return combiner == MPI_COMBINER_NAMED;
}

// Whether the values of a datatype are their bytes, one after the other. A derived one may have them in another order.
bool lies_in_a_row(MPI_Datatype type, int size) {
    MPI_Aint lower_bound = 0, extent = 0;
    CROSSDOCK_MPI(MPI_Type_get_extent(type, &lower_bound, &extent));
    return lower_bound == 0 && extent == size && is_named(type);
}

// MPI_BOTTOM is a null pointer, and offsets are then addresses.
std::byte* moved(void* buffer, MPI_Aint offset) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                        static_cast<std::uintptr_t>(offset));
}

int size_of(MPI_Datatype type) {
    int size = 0;
    CROSSDOCK_MPI(MPI_Type_size(type, &size));
    return size;
}

}  // namespace

count_t side_layout::num_bytes() const {
    count_t end = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) end = std::max(end, offsets[i] + lengths[i]);
    return end;
}

int side_layout::alignment() const {
    std::uint64_t bits = std::uint64_t{1} << greatest_alignment;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        if (lengths[i] > 0) bits |= static_cast<std::uint64_t>(offsets[i] | lengths[i]);
    return std::countr_zero(bits);
}

call_side::call_side(void* buffer, std::vector<block> blocks)
    : buffer_(buffer), blocks_(std::move(blocks)) {
    count_t total = 0;
    MPI_Aint first = 0, end = 0;
    bool is_first = true;
    MPI_Datatype known = MPI_DATATYPE_NULL;
    int size = 0;
    bool in_a_row = true;
    for (const auto& one : blocks_) {
        if (one.count == 0) {
            layout_.lengths.push_back(0);
            continue;
        }
        if (one.type != known) {
            known = one.type;
            size = size_of(known);
            in_a_row = in_a_row && (size == 0 || lies_in_a_row(known, size));
        }
        const count_t length = count_t{size} * one.count;
        layout_.lengths.push_back(length);
        if (length == 0) continue;
        total += length;
        first = is_first ? one.offset : std::min(first, one.offset);
        end = is_first ? one.offset + length : std::max<MPI_Aint>(end, one.offset + length);
        is_first = false;
    }
    layout_.is_packed = !in_a_row || end - first > most_span * total + small_span;
    count_t next = 0;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const count_t length = layout_.lengths[i];
        const count_t in_place = length > 0 ? blocks_[i].offset - first : 0;
        layout_.offsets.push_back(layout_.is_packed ? next : in_place);
        next += length;
    }
    layout_.first = layout_.is_packed ? 0 : first;
    if (layout_.is_packed) packed_.resize(static_cast<std::size_t>(total));
}

call_side::~call_side() {
    for (auto& type : own_types_) PMPI_Type_free(&type);
}

call_side::call_side(call_side&& other) noexcept
    : buffer_(other.buffer_),
      blocks_(std::move(other.blocks_)),
      own_types_(std::exchange(other.own_types_, {})),
      layout_(std::move(other.layout_)),
      packed_(std::move(other.packed_)) {}

void call_side::keep_types() {
    MPI_Datatype known = MPI_DATATYPE_NULL, own = MPI_DATATYPE_NULL;
    for (auto& one : blocks_) {
        if (one.type == MPI_DATATYPE_NULL) continue;
        if (one.type != known) {
            known = own = one.type;
            if (!is_named(known)) {
                CROSSDOCK_MPI(MPI_Type_dup(known, &own));
                own_types_.push_back(own);
            }
        }
        one.type = own;
    }
}

std::byte* call_side::bytes() {
    if (layout_.is_packed) return packed_.data();
    return moved(buffer_, layout_.first);
}

void call_side::pack() {
    if (!layout_.is_packed) return;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const auto& one = blocks_[i];
        if (layout_.lengths[i] == 0) continue;
        int position = 0;
        CROSSDOCK_MPI(MPI_Pack(moved(buffer_, one.offset), one.count, one.type,
                               packed_.data() + layout_.offsets[i],
                               checked_cast<int>(layout_.lengths[i]), &position, MPI_COMM_SELF));
    }
}

void call_side::unpack() {
    if (!layout_.is_packed) return;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const auto& one = blocks_[i];
        if (layout_.lengths[i] == 0) continue;
        int position = 0;
        CROSSDOCK_MPI(MPI_Unpack(packed_.data() + layout_.offsets[i],
                                 checked_cast<int>(layout_.lengths[i]), &position,
                                 moved(buffer_, one.offset), one.count, one.type, MPI_COMM_SELF));
    }
}

namespace {

count_t append_blocks(neighbor_list& list, std::span<const rank_t> ranks, const side_layout& side,
                      int alignment) {
    std::vector<count_t> indices;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        indices.resize(static_cast<std::size_t>(side.lengths[i] >> alignment));
        std::iota(indices.begin(), indices.end(), side.offsets[i] >> alignment);
        list.append(ranks[i], indices);
    }
    return side.num_bytes() >> alignment;
}

}  // namespace

pattern pattern_of(rank_t rank, rank_t num_ranks, std::span<const rank_t> destinations,
                   const side_layout& sends, std::span<const rank_t> sources,
                   const side_layout& receives, int alignment) {
    pattern made;
    made.rank = rank;
    made.num_ranks = num_ranks;
    made.num_items = append_blocks(made.sends, destinations, sends, alignment);
    made.num_slots = append_blocks(made.receives, sources, receives, alignment);
    return made;
}

}  // namespace crossdock::drop_in
