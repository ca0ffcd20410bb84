#include "schedule_builder.hpp"

#include <utility>

namespace crossdock {

std::uint32_t schedule_builder::add(program& to, const operation& what,
                                    std::span<const std::uint32_t> required) {
    const auto number = checked_cast<std::uint32_t>(to.operations.size());
    to.operations.push_back(what);
    to.required.insert(to.required.end(), required.begin(), required.end());
    to.first_required.push_back(to.required.size());
    return number;
}

std::uint32_t schedule_builder::add_send(rank_t source, rank_t destination, count_t bytes, int tag,
                                         std::span<const std::uint32_t> required,
                                         const message_copies& copied) {
    operation what;
    what.kind = operation_kind::send;
    what.peer = destination;
    what.tag = tag;
    what.message_bytes = bytes;
    what.copied_bytes = copied.bytes_before;
    what.copied_items = copied.items_before;
    return add(at(source), what, required);
}

std::uint32_t schedule_builder::add_receive(rank_t source, rank_t destination, count_t bytes,
                                            int tag, std::span<const std::uint32_t> required,
                                            const message_copies& copied, matching_kind matching) {
    operation what;
    what.kind = operation_kind::receive;
    what.matching = matching;
    what.peer = source;
    what.tag = tag;
    what.message_bytes = bytes;
    what.copied_bytes = copied.bytes_after;
    what.copied_items = copied.bytes_after > 0 ? 1 : 0;
    return add(at(destination), what, required);
}

void schedule_builder::copy(rank_t rank, count_t bytes) {
    operation what;
    what.copied_bytes = bytes;
    what.copied_items = 1;
    auto& here = at(rank);
    here.ready = {add(here, what, here.ready)};
}

void schedule_builder::set_ready(rank_t rank, numbers&& last) {
    auto& here = at(rank);
    if (last.empty()) return;
    // One operation that copies nothing stands for several, so that others need not require each.
    if (last.size() > 1) last = {add(here, operation{}, last)};
    here.ready = std::move(last);
}

schedule schedule_builder::take() && {
    schedule result;
    for (auto& from : programs_) {
        result.begin_rank();
        for (std::size_t k = 0; k < from.operations.size(); ++k) {
            const auto first = from.first_required[k];
            result.add(from.operations[k],
                       std::span(from.required).subspan(first, from.first_required[k + 1] - first));
        }
        from = program();
    }
    return result;
}

}  // namespace crossdock
