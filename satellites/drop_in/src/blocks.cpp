#include "blocks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <ranges>
#include <utility>

#include "crossdock/communicator.hpp"
#include "device_memory.hpp"

namespace crossdock::drop_in {

namespace {

constexpr int greatest_alignment = 6;
// A side whose blocks lie farther apart than this many times their bytes is packed.
constexpr count_t most_span = 4;
constexpr count_t small_span = 4096;

type_facts sizes_of(MPI_Datatype type) {
    MPI_Count size = 0;
    MPI_Aint lower_bound = 0, extent = 0;
    CROSSDOCK_MPI(MPI_Type_size_x(type, &size));
    CROSSDOCK_MPI(MPI_Type_get_extent(type, &lower_bound, &extent));
    return {type, size, extent, lower_bound == 0 && extent == size};
}

struct envelope {
    explicit envelope(MPI_Datatype type) {
#ifdef CROSSDOCK_HAS_LARGE_COUNTS
        CROSSDOCK_MPI(PMPI_Type_get_envelope_c(type, &num_integers, &num_addresses, &num_large,
                                               &num_types, &combiner));
#else
        CROSSDOCK_MPI(
            MPI_Type_get_envelope(type, &num_integers, &num_addresses, &num_types, &combiner));
#endif
    }

    value_count num_integers = 0, num_addresses = 0, num_large = 0, num_types = 0;
    int combiner = 0;
};

bool is_named(MPI_Datatype type) { return envelope(type).combiner == MPI_COMBINER_NAMED; }

bool find_in_a_row(MPI_Datatype type) {
    if (!sizes_of(type).lies_in_a_row) return false;
    const envelope made_by(type);
    if (made_by.combiner == MPI_COMBINER_NAMED) return true;
    if (made_by.combiner != MPI_COMBINER_DUP && made_by.combiner != MPI_COMBINER_CONTIGUOUS)
        return false;
    // One that was made with a large count is packed.
    if (made_by.num_large > 0) return false;
    std::array<int, 1> count{};
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    CROSSDOCK_MPI(MPI_Type_get_contents(type, static_cast<int>(made_by.num_integers), 0, 1,
                                        count.data(), nullptr, &inner));
    const bool is_in_a_row = find_in_a_row(inner);
    if (!is_named(inner)) CROSSDOCK_MPI(PMPI_Type_free(&inner));
    return is_in_a_row;
}

// Whether the values of a datatype are their bytes, one after the other. A derived one may have them in another order.
// What was found is kept with the datatype.
bool lies_in_a_row(MPI_Datatype type) {
    static const int key = [] {
        int made = MPI_KEYVAL_INVALID;
        CROSSDOCK_MPI(
            MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &made, nullptr));
        return made;
    }();
    static char yes, no;
    void* found = nullptr;
    int is_found = 0;
    CROSSDOCK_MPI(MPI_Type_get_attr(type, key, static_cast<void*>(&found), &is_found));
    if (is_found) return found == &yes;
    const bool is_in_a_row = find_in_a_row(type);
    CROSSDOCK_MPI(MPI_Type_set_attr(type, key, is_in_a_row ? &yes : &no));
    return is_in_a_row;
}

// MPI_BOTTOM is a null pointer, and offsets are then addresses.
std::byte* moved(void* buffer, MPI_Aint offset) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                        static_cast<std::uintptr_t>(offset));
}

}  // namespace

type_facts facts_of(MPI_Datatype type) {
    // Of one that MPI has named, since it stays what it is.
    static thread_local type_facts last
        [[gnu::tls_model("initial-exec")]]{MPI_DATATYPE_NULL, 0, 0, false};
    if (type == last.type && type != MPI_DATATYPE_NULL) return last;
    auto found = sizes_of(type);
    found.lies_in_a_row = found.lies_in_a_row && lies_in_a_row(type);
    if (is_named(type)) last = found;
    return found;
}

count_t side_layout::num_bytes() const {
    count_t end = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) end = std::max(end, offsets[i] + lengths[i]);
    return end;
}

bool side_layout::has_overlaps() const {
    const auto overlap_in = [this](const auto& indices) {
        count_t end = 0;
        for (const std::size_t i : indices) {
            if (lengths[i] == 0) continue;
            if (offsets[i] < end) return true;
            end = offsets[i] + lengths[i];
        }
        return false;
    };
    if (!overlap_in(std::views::iota(std::size_t{0}, lengths.size()))) return false;
    std::vector<std::size_t> order(lengths.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [this](std::size_t i) { return offsets[i]; });
    return overlap_in(order);
}

int side_layout::alignment() const {
    std::uint64_t bits = std::uint64_t{1} << greatest_alignment;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        if (lengths[i] > 0) bits |= static_cast<std::uint64_t>(offsets[i] | lengths[i]);
    return std::countr_zero(bits);
}

call_side::call_side(void* buffer, std::vector<block> blocks, bool is_shared)
    : buffer_(buffer), blocks_(std::move(blocks)), is_shared_(is_shared) {
    count_t total = 0;
    MPI_Aint end = 0;
    type_facts known{MPI_DATATYPE_NULL, 0, 0, true};
    layout_.lengths.reserve(blocks_.size());
    layout_.offsets.reserve(blocks_.size());
    for (const auto& one : blocks_) {
        if (one.count > 0 && one.type != known.type) {
            known = facts_of(one.type);
            is_packed_ = is_packed_ || (known.size > 0 && !known.lies_in_a_row);
        }
        const count_t length = one.count > 0 ? known.size * one.count : 0;
        layout_.lengths.push_back(length);
        if (length == 0) continue;
        first_ = total == 0 ? one.offset : std::min(first_, one.offset);
        end = total == 0 ? one.offset + length : std::max<MPI_Aint>(end, one.offset + length);
        total += length;
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i)
        layout_.offsets.push_back(layout_.lengths[i] > 0 ? blocks_[i].offset - first_ : 0);
    const bool is_on_device = total > 0 && is_device_memory(bytes());
    if (is_on_device) {
        if (!is_packed_) copies_ = device_copies::of(bytes());
        // From MPI_BOTTOM blocks may lie in any memory.
        for (std::size_t i = 0; copies_ && buffer_ == nullptr && i < blocks_.size(); ++i)
            if (layout_.lengths[i] > 0) copies_ = device_copies::of(begin_of(i));
        is_for_mpi_ = copies_ == nullptr;
    }
    is_in_a_row_ = !is_packed_ && !is_on_device;
    is_packed_ = is_packed_ || is_on_device || end - first_ > most_span * total + small_span ||
                 (!is_shared_ && layout_.has_overlaps());
    if (!is_packed_) return;
    count_t next = 0;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        layout_.offsets[i] = is_shared_ ? 0 : next;
        next += layout_.lengths[i];
    }
}

call_side::~call_side() {
    for (auto& type : own_types_) PMPI_Type_free(&type);
}

call_side::call_side(call_side&& other) noexcept
    : buffer_(other.buffer_),
      blocks_(std::move(other.blocks_)),
      is_shared_(other.is_shared_),
      is_packed_(other.is_packed_),
      is_in_a_row_(other.is_in_a_row_),
      is_for_mpi_(other.is_for_mpi_),
      copies_(other.copies_),
      first_(other.first_),
      own_types_(std::exchange(other.own_types_, {})),
      layout_(std::move(other.layout_)) {}

void call_side::keep_types() {
    MPI_Datatype known = MPI_DATATYPE_NULL, own = MPI_DATATYPE_NULL;
    for (auto& one : blocks_) {
        if (one.type == MPI_DATATYPE_NULL) continue;
        if (one.type != known) {
            known = own = one.type;
            if (!is_named(known)) {
                with_reserve([&] { own_types_.reserve(own_types_.size() + 1); });
                CROSSDOCK_MPI(MPI_Type_dup(known, &own));
                own_types_.push_back(own);
            }
        }
        one.type = own;
    }
}

std::byte* call_side::begin_of(std::size_t i) const noexcept {
    return moved(buffer_, blocks_[i].offset);
}

std::byte* call_side::bytes() const noexcept { return moved(buffer_, first_); }

template <class Copy>
void call_side::for_each_planned(const side_layout& planned, Copy&& copy) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        if (layout_.lengths[i] == 0 || layout_.lengths[i] != planned.lengths[i]) continue;
        copy(blocks_[i], begin_of(i), planned.offsets[i],
             checked_cast<value_count>(planned.lengths[i]));
        if (is_shared_) return;
    }
}

// Copies blocks that lie one after the other on both sides at once.
template <class Copy>
void call_side::copy_planned(const side_layout& planned, Copy&& copy) const {
    std::byte* here = nullptr;
    count_t offset = 0, length = 0;
    const auto copy_joined = [&] {
        if (length > 0) copy(here, offset, static_cast<std::size_t>(length));
    };
    for_each_planned(planned, [&](const block&, std::byte* at, count_t to, value_count bytes) {
        if (length == 0 || at != here + length || to != offset + length) {
            copy_joined();
            here = at;
            offset = to;
            length = 0;
        }
        length += bytes;
    });
    copy_joined();
    if (copies_ != nullptr) copies_->on.wait_for(copies_->by);
}

void call_side::pack(const side_layout& planned, std::byte* bytes) const {
    if (copies_ != nullptr || is_in_a_row_) {
        return copy_planned(planned, [&](const std::byte* from, count_t to, std::size_t length) {
            if (copies_ == nullptr)
                std::memcpy(bytes + to, from, length);
            else
                copies_->on.copy_down(bytes + to, from, length, copies_->by);
        });
    }
    for_each_planned(
        planned, [&](const block& one, std::byte* from, count_t offset, value_count length) {
            value_count position = 0;
            CROSSDOCK_MPI(CROSSDOCK_WIDEST(Pack)(from, one.count, one.type, bytes + offset, length,
                                                 &position, MPI_COMM_SELF));
        });
}

void call_side::unpack(const side_layout& planned, const std::byte* bytes) const {
    if (copies_ != nullptr || is_in_a_row_) {
        return copy_planned(planned, [&](std::byte* to, count_t from, std::size_t length) {
            if (copies_ == nullptr)
                std::memcpy(to, bytes + from, length);
            else
                copies_->on.copy_up(to, bytes + from, length, copies_->by);
        });
    }
    for_each_planned(
        planned, [&](const block& one, std::byte* to, count_t offset, value_count length) {
            value_count position = 0;
            CROSSDOCK_MPI(CROSSDOCK_WIDEST(Unpack)(bytes + offset, length, &position, to, one.count,
                                                   one.type, MPI_COMM_SELF));
        });
}

std::vector<std::byte> call_side::read(std::size_t i, count_t num_bytes) const {
    const auto& one = blocks_[i];
    const auto size = num_bytes > 0 ? facts_of(one.type).size : 1;
    const auto num_values = checked_cast<value_count>((num_bytes + size - 1) / size);
    const auto num_read = checked_cast<value_count>(num_values * size);
    std::vector<std::byte> packed(static_cast<std::size_t>(num_read));
    if (packed.empty()) return packed;
    if (copies_ != nullptr) {
        host_room room;
        auto* const bytes = room.make(packed.size(), copies_);
        copies_->on.copy_down(bytes, begin_of(i), packed.size(), copies_->by);
        copies_->on.wait_for(copies_->by);
        std::copy_n(bytes, packed.size(), packed.begin());
        return packed;
    }
    value_count position = 0;
    CROSSDOCK_MPI(CROSSDOCK_WIDEST(Pack)(begin_of(i), num_values, one.type, packed.data(), num_read,
                                         &position, MPI_COMM_SELF));
    return packed;
}

void call_side::write(std::size_t i, const std::byte* bytes, count_t num_bytes) const {
    if (num_bytes == 0) return;
    const auto length = static_cast<std::size_t>(num_bytes);
    if (copies_ != nullptr) {
        host_room room;
        auto* const from = room.make(length, copies_);
        std::memcpy(from, bytes, length);
        copies_->on.copy_up(begin_of(i), from, length, copies_->by);
        return copies_->on.wait_for(copies_->by);
    }
    if (is_in_a_row_) {
        std::memcpy(begin_of(i), bytes, length);
        return;
    }
    auto values = with_reserve([&] { return read(i, num_bytes); });
    std::copy_n(bytes, length, values.begin());
    const auto& one = blocks_[i];
    const auto num_values = static_cast<value_count>(std::ssize(values) / facts_of(one.type).size);
    value_count position = 0;
    CROSSDOCK_MPI(CROSSDOCK_WIDEST(Unpack)(values.data(),
                                           static_cast<value_count>(std::ssize(values)), &position,
                                           begin_of(i), num_values, one.type, MPI_COMM_SELF));
}

namespace {

count_t append_blocks(neighbor_list& list, std::span<const rank_t> ranks, const side_layout& side,
                      int alignment) {
    std::vector<count_t> indices;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (side.lengths[i] == 0) continue;
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
