/// @file
/// @brief What an exchange reads and writes of the user's arrays, which may be one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

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

}  // namespace crossdock
