#include "crossdock/executor/moves.hpp"

#include "crossdock/base/item_bytes.hpp"

namespace crossdock {

namespace {

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

}  // namespace

void copy_items(std::byte* to, const std::byte* from, const moves& list, std::size_t item_bytes) {
    if (list.size() == 0) return;
    if (list.is_one_run()) {
        std::memcpy(to + static_cast<std::size_t>(list.to.first()) * item_bytes,
                    from + static_cast<std::size_t>(list.from.first()) * item_bytes,
                    static_cast<std::size_t>(list.size()) * item_bytes);
        return;
    }
    with_item_bytes(item_bytes, [&](auto bytes) { copy_each(to, from, list, bytes); });
}

}  // namespace crossdock
