/// @file
/// @brief Lists of values to copy or combine, and the typed loops that do it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Part of a list of indices: in constant steps, or as a list of offsets to the first.
struct index_piece {
    count_t first = 0;
    count_t step = 1;
    const std::int32_t* offsets = nullptr;  ///< null where the steps are constant
    count_t size = 0;

    bool is_run() const noexcept { return !offsets && step == 1; }

    /// @brief Calls `use` with a function from a position in the piece to the index there.
    template <class Use>
    void with_lookup(Use&& use) const {
        if (offsets) {
            use([first = first, offsets = offsets](count_t i) { return first + offsets[i]; });
        } else {
            use([first = first, step = step](count_t i) { return first + i * step; });
        }
    }
};

/// @brief A compressed list of indices, in order.
///
/// It consists of pieces. Indices in constant steps take no memory each, others take 4 bytes. A piece ends where
/// constant steps begin or end, and where the offset to its first index does not fit into 32 bits.
///
///     0 1 2 3 ... 40     2 9 4 4     100 102 104 ... 200
///     41 from 0, step 1  offsets     51 from 100, step 2
class index_list {
  public:
    /// @brief The least indices in constant steps that become a piece, unless they are the whole list. For fewer,
    /// entering a loop of their own takes longer than the loop saves.
    static constexpr count_t min_steady = 32;

    void append(count_t index) {
        const count_t step = index - last_;
        last_ = index;
        if (!open_.is_steady()) {
            num_steady_ = step == open_.step ? num_steady_ + 1 : 2;
            open_.step = step;
            if (num_steady_ == min_steady) return open_steady_end();
            spell_out(index);
        } else if (num_steady_ > 1 && step != open_.step) {
            turn(index, step);
        } else {
            if (num_steady_ == 0) {
                open_.first = index;
            } else {
                open_.step = step;
            }
            ++num_steady_;
            ++open_.end;
        }
    }

    count_t size() const noexcept { return open_.end; }
    bool is_consecutive() const noexcept {
        return closed_.empty() && open_.is_steady() && open_.step == 1;
    }
    /// @brief The first index; meaningless where the list is empty.
    count_t first() const noexcept { return closed_.empty() ? open_.first : closed_[0].first; }

    bool is_one_piece() const noexcept { return closed_.empty(); }
    /// @brief The i-th piece. It refers to the list, until the next `append`.
    index_piece piece(std::size_t i) const {
        return i < closed_.size() ? as_piece(closed_[i], begin_of(i)) : last_piece();
    }
    /// @brief The last piece, which is empty where the list is.
    index_piece last_piece() const { return as_piece(open_, begin_of(closed_.size())); }

    /// @brief Calls `use` with a function from a position in the list to the index there.
    template <class Use>
    void with_lookup(Use&& use) const {
        if (is_one_piece()) {
            last_piece().with_lookup(use);
        } else {
            use(search(*this));
        }
    }

  private:
    friend class index_appender;

    struct stretch {
        count_t first = 0;
        count_t step = 1;           // between the last two indices, where they are offsets
        count_t end = 0;            // position in the list
        count_t first_offset = -1;  // in offsets_; -1 where the steps are constant

        bool is_steady() const noexcept { return first_offset < 0; }
    };

    // Finds the piece that a position is in. Mostly that is the piece of the position before.
    class search {
      public:
        explicit search(const index_list& list) : list_(&list) {}

        count_t operator()(count_t slot) const {
            if (slot < begin_ || slot >= begin_ + piece_.size) find(slot);
            const count_t i = slot - begin_;
            return piece_.first + (piece_.offsets ? piece_.offsets[i] : i * piece_.step);
        }

      private:
        void find(count_t slot) const;

        const index_list* list_;
        mutable index_piece piece_;
        mutable count_t begin_ = 0;
    };

    count_t begin_of(std::size_t i) const { return i == 0 ? 0 : closed_[i - 1].end; }

    index_piece as_piece(const stretch& s, count_t begin) const {
        return {s.first, s.step, s.is_steady() ? nullptr : offsets_.data() + s.first_offset,
                s.end - begin};
    }

    static bool fits(count_t offset) {
        return offset >= std::numeric_limits<std::int32_t>::min() &&
               offset <= std::numeric_limits<std::int32_t>::max();
    }

    void spell_out(count_t index) {
        if (!fits(index - open_.first)) return open_next(index);
        offsets_.push_back(static_cast<std::int32_t>(index - open_.first));
        ++open_.end;
    }

    void turn(count_t index, count_t step);
    void open_next(count_t index);
    void open_steady_end();

    std::vector<stretch> closed_;
    stretch open_;
    count_t last_ = 0;
    count_t num_steady_ = 0;  // how many of the last indices are in constant steps
    std::vector<std::int32_t> offsets_;
};

/// @brief Values that go from indices of one array to indices of another, pair by pair, in order.
struct copy_list {
    index_list from;
    index_list to;

    void append(count_t from_index, count_t to_index) {
        from.append(from_index);
        to.append(to_index);
    }
    count_t size() const noexcept { return from.size(); }
    bool is_one_run() const noexcept { return from.is_consecutive() && to.is_consecutive(); }

    /// @brief Calls `use(from, to)` with pieces of equal size that together are the list, in order.
    template <class Use>
    void for_each_piece(Use&& use) const {
        if (size() == 0) return;
        if (from.is_one_piece() && to.is_one_piece()) {
            return use(from.last_piece(), to.last_piece());
        }
        std::size_t next_from = 0;
        std::size_t next_to = 0;
        index_piece from_rest, to_rest;
        for (count_t left = size(); left > 0;) {
            if (from_rest.size == 0) from_rest = from.piece(next_from++);
            if (to_rest.size == 0) to_rest = to.piece(next_to++);
            const count_t num = std::min(from_rest.size, to_rest.size);
            use(take(from_rest, num), take(to_rest, num));
            left -= num;
        }
    }

  private:
    static index_piece take(index_piece& rest, count_t num) {
        index_piece taken = rest;
        taken.size = num;
        rest.size -= num;
        if (rest.offsets) {
            rest.offsets += num;
        } else {
            rest.first += num * rest.step;
        }
        return taken;
    }
};

/// @brief Copies the items of one piece to the slots of another of equal size.
using piece_copy = void (*)(std::byte* to, const std::byte* from, const index_piece& from_piece,
                            const index_piece& to_piece, std::size_t item_bytes);

/// @brief The loop for items of `item_bytes` bytes.
piece_copy piece_copy_for(std::size_t item_bytes);

/// @brief Copies items of `item_bytes` bytes, as `list` says.
void copy_items(std::byte* to, const std::byte* from, const copy_list& list,
                std::size_t item_bytes);

/// @brief Combines values of one array into another, as a list of copies says.
using combine_function =
    std::function<void(std::byte* to, const std::byte* from, const copy_list& list)>;

/// @brief to[j] = op(to[j], from[i]) for every pair (i, j) of `list`, in order.
template <class T, class Op>
void combine_items(T* to, const T* from, const copy_list& list, Op& op) {
    list.for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
        from_piece.with_lookup([&](auto from_index) {
            to_piece.with_lookup([&](auto to_index) {
                for (count_t k = 0; k < to_piece.size; ++k) {
                    T& value = to[to_index(k)];
                    value = op(value, from[from_index(k)]);
                }
            });
        });
    });
}

/// @brief Where items lie, in values: `width` of them together, and `step` from one item to the next.
struct value_layout {
    count_t step = 1;
    count_t width = 1;
};

/// @brief Combines items of one array into another as a list says, value by value. Items may lie apart by different
/// steps; both are as wide as `from`.
using combine_values = std::function<void(std::byte* to, count_t to_step, const std::byte* from,
                                          value_layout from_layout, const copy_list& list)>;

/// @brief to[j][c] = op(to[j][c], from[i][c]) for every pair (i, j) of `list` and every c, in order.
template <class T, class Op>
void combine_in_steps(T* to, count_t to_step, const T* from, value_layout from_layout,
                      const copy_list& list, Op& op) {
    if (from_layout.width == 1 && from_layout.step == 1 && to_step == 1)
        return combine_items(to, from, list, op);
    list.for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
        from_piece.with_lookup([&](auto from_index) {
            to_piece.with_lookup([&](auto to_index) {
                for (count_t k = 0; k < to_piece.size; ++k) {
                    T* const into = to + to_index(k) * to_step;
                    const T* const read = from + from_index(k) * from_layout.step;
                    for (count_t c = 0; c < from_layout.width; ++c) into[c] = op(into[c], read[c]);
                }
            });
        });
    });
}

}  // namespace crossdock
