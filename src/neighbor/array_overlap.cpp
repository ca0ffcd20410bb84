#include "array_overlap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "crossdock/error.hpp"

namespace crossdock {

namespace {

std::vector<count_t> sorted_unique(std::vector<count_t> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

}  // namespace

std::vector<count_t> used_items(const plan& p) {
    std::vector<count_t> items;
    const auto add = [&](count_t position) {
        if (position < p.num_items()) items.push_back(position);
    };
    for (const auto& stage : p.stages()) {
        for (const auto& message : stage.sends)
            std::for_each(message.positions.begin(), message.positions.end(), add);
    }
    for (const auto& d : p.deliveries()) add(d.position);
    return sorted_unique(std::move(items));
}

std::vector<count_t> filled_slots(const plan& p) {
    std::vector<count_t> slots;
    for (const auto& d : p.deliveries()) slots.push_back(d.slot);
    return sorted_unique(std::move(slots));
}

void array_overlap::check_offset(const plan& p, count_t slots_after_items, std::size_t item_bytes) {
    const auto bytes = static_cast<count_t>(item_bytes);
    const count_t rest = slots_after_items % bytes;
    const relation here{slots_after_items / bytes - (rest < 0 ? 1 : 0), rest != 0};
    if (allowed_ == here) return;
    const auto used = used_items(p);
    auto next = used.begin();
    for (const count_t slot : filled_slots(p)) {
        const count_t first = slot + here.shift;
        next = std::lower_bound(next, used.end(), first);
        if (next == used.end()) break;
        if (*next > first + (here.is_between ? 1 : 0)) continue;
        throw error(
            errc::invalid_argument,
            fmt::format("item {} is sent and slot {} is filled in the same memory: the slots "
                        "begin {} bytes {} the items. Fill slots where no items are sent "
                        "from, or in an array of their own.",
                        *next, slot, std::abs(slots_after_items),
                        slots_after_items < 0 ? "before" : "after"),
            p.rank());
    }
    allowed_ = here;
}

}  // namespace crossdock
