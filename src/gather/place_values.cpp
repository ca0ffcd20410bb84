#include "place_values.hpp"

#include <cstring>

namespace crossdock {

namespace {

// Copies `bytes` of every item, where items lie apart by these steps.
void copy_in_steps(std::byte* to, std::size_t to_step, const std::byte* from, std::size_t from_step,
                   std::size_t bytes, const copy_list& list) {
    if (to_step == bytes && from_step == bytes) return copy_items(to, from, list, bytes);
    list.for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
        from_piece.with_lookup([&](auto from_index) {
            to_piece.with_lookup([&](auto to_index) {
                for (count_t k = 0; k < to_piece.size; ++k)
                    std::memcpy(to + static_cast<std::size_t>(to_index(k)) * to_step,
                                from + static_cast<std::size_t>(from_index(k)) * from_step, bytes);
            });
        });
    });
}

// Calls `use` with every array and the place in an item where its values begin.
template <class Use>
void for_each_array(const value_arrays& values, Use&& use) {
    const std::size_t bytes = static_cast<std::size_t>(values.per_id) * values.value_bytes;
    for (std::size_t a = 0; a < values.arrays.size(); ++a) use(values.arrays[a], a * bytes, bytes);
}

}  // namespace

void gather_places(const value_arrays& values, const place_lists& lists, std::byte* work) {
    for_each_array(values, [&](const std::byte* array, std::size_t begin, std::size_t bytes) {
        copy_in_steps(work + begin, values.item_bytes(), array, bytes, bytes, lists.first);
        values.combine(work + begin, values.width(), array, {values.per_id, values.per_id},
                       lists.more);
    });
}

void scatter_places(const value_arrays& values, const copy_list& results, const std::byte* work) {
    for_each_array(values, [&](std::byte* array, std::size_t begin, std::size_t bytes) {
        copy_in_steps(array, bytes, work + begin, values.item_bytes(), bytes, results);
    });
}

}  // namespace crossdock
