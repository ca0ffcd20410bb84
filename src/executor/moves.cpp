#include "crossdock/executor/moves.hpp"

namespace crossdock {

namespace {

// The size is a compile-time constant for the usual ones, so that an item is one load and one
// store.
template <class Bytes>
void copy_each(std::byte* to, const std::byte* from, const moves& list, Bytes item_bytes) {
    list.from.with_lookup([&](auto from_index) {
        list.to.with_lookup([&](auto to_index) {
            for (count_t k = 0; k < list.size(); ++k) {
                std::memcpy(to + static_cast<std::size_t>(to_index(k)) * item_bytes,
                            from + static_cast<std::size_t>(from_index(k)) * item_bytes,
                            item_bytes);
            }
        });
    });
}

template <std::size_t Bytes>
using constant = std::integral_constant<std::size_t, Bytes>;

}  // namespace

void copy_items(std::byte* to, const std::byte* from, const moves& list, std::size_t item_bytes) {
    if (list.size() == 0) return;
    if (list.is_one_run()) {
        std::memcpy(to + static_cast<std::size_t>(list.to.first()) * item_bytes,
                    from + static_cast<std::size_t>(list.from.first()) * item_bytes,
                    static_cast<std::size_t>(list.size()) * item_bytes);
        return;
    }
    switch (item_bytes) {
        case 1: return copy_each(to, from, list, constant<1>());
        case 2: return copy_each(to, from, list, constant<2>());
        case 4: return copy_each(to, from, list, constant<4>());
        case 8: return copy_each(to, from, list, constant<8>());
        case 16: return copy_each(to, from, list, constant<16>());
        default: return copy_each(to, from, list, item_bytes);
    }
}

}  // namespace crossdock
