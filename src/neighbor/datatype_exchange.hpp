// What an exchange does with the user's arrays: they may be one array, and of values of an MPI datatype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "../base/datatype_mpi.hpp"
#include "crossdock/detail/executor/copy_list.hpp"
#include "crossdock/detail/executor/operations_mpi.hpp"
#include "crossdock/plan.hpp"

namespace crossdock {

/// @brief The items that leave their place, ascending.
std::vector<count_t> used_items(const plan& p);

/// @brief The slots that are filled, ascending.
std::vector<count_t> filled_slots(const plan& p);

/// @brief Whether items and slots lie in one array in a way that an exchange can do with.
///
/// Arrays that are apart cost two comparisons. Where they overlap, the answer for the last offset
/// is kept.
class array_overlap {
  public:
    /// @param p  of the same pattern each time
    /// @throws error(errc::invalid_argument)  an item that is sent and a slot that is filled lie in
    /// the same memory
    void check(const plan& p, const void* items, const void* slots, std::size_t item_bytes) {
        const auto first_item = reinterpret_cast<std::uintptr_t>(items);
        const auto first_slot = reinterpret_cast<std::uintptr_t>(slots);
        const bool overlap =
            first_slot < first_item + static_cast<std::size_t>(p.num_items()) * item_bytes &&
            first_item < first_slot + static_cast<std::size_t>(p.num_slots()) * item_bytes;
        if (overlap) check_offset(p, static_cast<count_t>(first_slot - first_item), item_bytes);
    }

  private:
    // Slot j lies where item j + shift lies, and where the next one does if the offset is no
    // multiple of an item's bytes.
    struct relation {
        count_t shift;
        bool is_between;

        friend bool operator==(const relation&, const relation&) = default;
    };

    void check_offset(const plan& p, count_t slots_after_items, std::size_t item_bytes);

    std::optional<relation> allowed_;
};

/// @brief Copies what lies at some indices of the user's arrays to or from packed items; item i is at
/// `packed + i * item_bytes`.
using item_copy = std::function<void(std::span<const count_t> indices, std::byte* packed)>;

/// @brief Copies between several arrays and items that have a value of each.
item_copy pack_fields(std::span<const std::span<const std::byte>> fields, std::size_t value_bytes);
item_copy unpack_fields(std::span<const std::span<std::byte>> fields, std::size_t value_bytes);

/// @brief Packed items and slots, for exchanges of values that do not lie together.
///
/// They are kept from one exchange to the next of equally long values.
class packed_arrays {
  public:
    /// @brief For an exchange of the items that the plan sends anywhere.
    void pack(const plan& p, std::size_t item_bytes, const item_copy& pack_items,
              item_copy unpack_slots);
    /// @brief For a reverse exchange.
    void pack_reverse(const plan& p, std::size_t item_bytes, const item_copy& pack_slots,
                      const item_copy& pack_items, item_copy unpack_items);

    std::byte* items() const noexcept { return items_.get(); }
    std::byte* slots() const noexcept { return slots_.get(); }

    /// @brief Unpacks what came, if something was packed since the last time.
    void unpack();

    /// @brief Takes back what was packed: there is nothing to unpack.
    void forget() noexcept { unpack_ = nullptr; }

    /// @brief Loses the arrays, because messages under way still use them.
    void abandon() noexcept;

  private:
    void make(const plan& p, std::size_t item_bytes);

    std::size_t item_bytes_ = 0;
    std::vector<count_t> used_items_;
    std::vector<count_t> filled_slots_;
    std::unique_ptr<std::byte[]> items_;
    std::unique_ptr<std::byte[]> slots_;
    item_copy unpack_;  // null if nothing is to be unpacked
    bool is_reverse_ = false;
};

/// @brief The type that a datatype of C or Fortran stands for; none unless it is an integer, float or double.
number_type number_type_of(MPI_Datatype datatype);

/// @brief How values of a datatype combine: by the library's own operation on numbers, where it has one, or else by
/// MPI's. Values of a datatype with gaps are an extent apart.
struct datatype_combination {
    std::size_t extent;
    combine_values values;

    /// @brief The same for items that are `values_per_item` values, one after the other.
    combine_function items(count_t values_per_item = 1) &&;
};

/// @param width  an item has so many values at most
/// @throws error(errc::invalid_argument)  a null handle; the lower bound is not 0, or a value lies outside its extent;
/// or the operation is not commutative
/// @throws error(errc::count_overflow)  MPI's operation would have to combine too many values at once
datatype_combination combination_of(MPI_Datatype datatype, MPI_Op operation, count_t width = 1);

/// @throws error(errc::invalid_argument)  an array is a null pointer that the plan has values for
void check_arrays(const plan& p, const void* items, const void* slots);

}  // namespace crossdock
