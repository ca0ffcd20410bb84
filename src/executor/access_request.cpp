#include "access_request.hpp"

#include <algorithm>
#include <utility>

namespace crossdock {

const located_run& reference_resolver::find(arrived_item item) {
    if (last_.holds(item)) return last_;
    const auto& runs = runs_[incoming_number(finder_.message_of(item.value()))];
    const auto after =
        std::upper_bound(runs.begin(), runs.end(), item,
                         [](arrived_item one, const located_run& run) { return one < run.first; });
    return last_ = *(after - 1);
}

void access_requests::copy(buffer_number of, slot_number first, count_t length) {
    auto& copies = find(of).request.copies;
    if (!copies.empty() && first == copies.back().first + copies.back().length) {
        copies.back().length += length;
    } else {
        copies.push_back({first, length});
    }
}

void access_requests::write(buffer_number owner, outgoing_part_number part, const slot_copy& run) {
    const auto [entry, is_new] = find(owner).writes.try_emplace(part);
    auto& write = entry->second;
    if (is_new) {
        layout_.add_contributor(part);
        write.counter = layout_.counter_of(part);
        const buffer_number sender = layout_.outgoing()[part].sender;
        if (sender != layout_.here()) write.sender = sender;
    }
    if (!write.runs.empty()) {
        auto& last = write.runs.back();
        if (run.from == last.from + last.length && run.to == last.to + last.length) {
            last.length += run.length;
            return;
        }
    }
    write.runs.push_back(run);
}

std::map<buffer_number, access_request> access_requests::take() {
    std::map<buffer_number, access_request> result;
    for (auto& [buffer, one] : of_) {
        for (auto& [part, write] : one.writes) one.request.writes.push_back(std::move(write));
        result.emplace(buffer, std::move(one.request));
    }
    of_.clear();
    last_ = nullptr;
    return result;
}

}  // namespace crossdock
