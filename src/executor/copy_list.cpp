#include "crossdock/detail/executor/copy_list.hpp"

#include <cstring>

namespace crossdock {

namespace {

// Kinds of items: how to copy one, and whether a loop prefetches the items that it reads next.
// Prefetching pays for items of a cache line or more. For small items in the cache it costs more
// than it saves.
template <std::size_t ItemBytes>
struct fixed_item {
    static constexpr bool prefetches = ItemBytes >= 64;

    static constexpr count_t bytes() { return ItemBytes; }
    static void copy(std::byte* to, const std::byte* from) { std::memcpy(to, from, ItemBytes); }
};

// A few words of 8 bytes. This loop is shorter than a call of memcpy.
struct item_of_words {
    static constexpr bool prefetches = false;
    std::size_t item_bytes;

    count_t bytes() const { return static_cast<count_t>(item_bytes); }
    void copy(std::byte* to, const std::byte* from) const {
        std::size_t done = 0;
        for (; done + 16 <= item_bytes; done += 16) std::memcpy(to + done, from + done, 16);
        if (done < item_bytes) std::memcpy(to + done, from + done, 8);
    }
};

struct any_item {
    static constexpr bool prefetches = false;
    std::size_t item_bytes;

    count_t bytes() const { return static_cast<count_t>(item_bytes); }
    void copy(std::byte* to, const std::byte* from) const { std::memcpy(to, from, item_bytes); }
};

// Calls `use` with a function from a position in the piece to the item there.
template <class Byte, class Use>
void with_places(Byte* base, const index_piece& piece, count_t item_bytes, Use&& use) {
    Byte* first = base + piece.first * item_bytes;
    if (piece.offsets) {
        use([=, offsets = piece.offsets](count_t i) { return first + offsets[i] * item_bytes; });
    } else if (piece.step == 1) {
        use([=](count_t i) { return first + i * item_bytes; });
    } else {
        use([=, step = piece.step * item_bytes](count_t i) { return first + i * step; });
    }
}

template <class Item>
void copy_piece(std::byte* to, const std::byte* from, const index_piece& from_piece,
                const index_piece& to_piece, Item item) {
    const count_t size = to_piece.size;
    if (from_piece.is_run() && to_piece.is_run()) {
        std::memcpy(to + to_piece.first * item.bytes(), from + from_piece.first * item.bytes(),
                    static_cast<std::size_t>(size * item.bytes()));
        return;
    }
    with_places(from, from_piece, item.bytes(), [&](auto from_place) {
        with_places(to, to_piece, item.bytes(), [&](auto to_place) {
            count_t k = 0;
            if constexpr (Item::prefetches) {
                constexpr count_t num_ahead = 16;
                for (; k < size - num_ahead; ++k) {
                    __builtin_prefetch(from_place(k + num_ahead));
                    item.copy(to_place(k), from_place(k));
                }
            }
#pragma GCC unroll 4
            for (; k < size; ++k) item.copy(to_place(k), from_place(k));
        });
    });
}

template <std::size_t ItemBytes>
void copy_fixed(std::byte* to, const std::byte* from, const index_piece& from_piece,
                const index_piece& to_piece, std::size_t) {
    copy_piece(to, from, from_piece, to_piece, fixed_item<ItemBytes>());
}

template <class Item>
void copy_variable(std::byte* to, const std::byte* from, const index_piece& from_piece,
                   const index_piece& to_piece, std::size_t item_bytes) {
    copy_piece(to, from, from_piece, to_piece, Item{item_bytes});
}

}  // namespace

void index_list::search::find(count_t slot) const {
    const auto& closed = list_->closed_;
    const auto holds = std::upper_bound(closed.begin(), closed.end(), slot,
                                        [](count_t p, const stretch& s) { return p < s.end; });
    const auto i = static_cast<std::size_t>(holds - closed.begin());
    piece_ = list_->piece(i);
    begin_ = list_->begin_of(i);
}

// The new index ends the constant steps of the open piece.
void index_list::turn(count_t index, count_t step) {
    if (num_steady_ < min_steady && fits((num_steady_ - 1) * open_.step)) {
        open_.first_offset = static_cast<count_t>(offsets_.size());
        if (offsets_.empty()) offsets_.reserve(16);
        for (count_t i = 0; i < num_steady_; ++i) {
            offsets_.push_back(static_cast<std::int32_t>(i * open_.step));
        }
        open_.step = step;
        num_steady_ = 2;
        spell_out(index);
    } else {
        open_next(index);
    }
}

void index_list::open_next(count_t index) {
    closed_.push_back(open_);
    open_ = {index, 1, open_.end + 1, -1};
    num_steady_ = 1;
}

// Turns the last indices of the open piece, and the new one, into a piece of constant steps.
void index_list::open_steady_end() {
    constexpr count_t num_spelled_out = min_steady - 1;
    offsets_.resize(offsets_.size() - static_cast<std::size_t>(num_spelled_out));
    const count_t end = open_.end + 1;
    const count_t step = open_.step;
    open_.end -= num_spelled_out;
    closed_.push_back(open_);
    open_ = {last_ - num_spelled_out * step, step, end, -1};
}

piece_copy piece_copy_for(std::size_t item_bytes) {
    switch (item_bytes) {
        case 1: return &copy_fixed<1>;
        case 2: return &copy_fixed<2>;
        case 4: return &copy_fixed<4>;
        case 8: return &copy_fixed<8>;
        case 16: return &copy_fixed<16>;
        case 32: return &copy_fixed<32>;
        case 64: return &copy_fixed<64>;
        case 128: return &copy_fixed<128>;
        default: break;
    }
    if (item_bytes % 8 == 0 && item_bytes < 64) return &copy_variable<item_of_words>;
    return &copy_variable<any_item>;
}

void copy_items(std::byte* to, const std::byte* from, const copy_list& list,
                std::size_t item_bytes) {
    const piece_copy copy = piece_copy_for(item_bytes);
    list.for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
        copy(to, from, from_piece, to_piece, item_bytes);
    });
}

}  // namespace crossdock
