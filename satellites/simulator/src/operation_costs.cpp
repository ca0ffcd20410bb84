#include "operation_costs.hpp"

#include <algorithm>

namespace crossdock {

namespace {

picoseconds for_bytes(double seconds_per_byte, count_t num_bytes) {
    return to_picoseconds(seconds_per_byte * static_cast<double>(num_bytes));
}

}  // namespace

operation_costs::operation_costs(const rank_layout& layout, const schedule& s, const machine& m)
    : layout_(layout), operations_(s.operations()), machine_(m) {
    rank_of_.reserve(s.num_operations());
    for (rank_t rank = 0; rank < s.num_ranks(); ++rank)
        rank_of_.insert(rank_of_.end(), s.operations_of(rank).size(), rank);
}

locality_level operation_costs::level_of(std::uint32_t number) const {
    const auto& what = at(number);
    return what.kind == operation_kind::copy ? locality_level::self
                                             : layout_.level_of(rank_of_[number], what.peer);
}

picoseconds operation_costs::copying(std::uint32_t number) const {
    const auto& what = at(number);
    return for_bytes(machine_.copy_seconds_per_byte, what.copied_bytes) +
           for_bytes(machine_.copy_seconds_per_item, what.copied_items);
}

picoseconds operation_costs::overhead(std::uint32_t number, locality_level level,
                                      std::uint32_t num_passed) const {
    const auto& what = at(number);
    if (what.is_hand_over || what.kind == operation_kind::copy) return 0;
    const auto byte_work =
        machine_.num_cores == 0
            ? 0
            : for_bytes(protocol_of(number).seconds_per_byte / 2, what.message_bytes);
    if (what.kind == operation_kind::send)
        return to_picoseconds(machine_.at(level).send_overhead_seconds) + byte_work;
    return to_picoseconds(machine_.at(level).receive_overhead_seconds) + byte_work +
           for_bytes(machine_.matching_seconds, num_passed);
}

bool operation_costs::is_rendezvous(std::uint32_t number) const {
    return at(number).message_bytes > machine_.at(level_of(number)).rendezvous_bytes;
}

picoseconds operation_costs::eager_latency(std::uint32_t number) const {
    return to_picoseconds(machine_.at(level_of(number)).eager.latency_seconds);
}

picoseconds operation_costs::rendezvous_latency(std::uint32_t number) const {
    return to_picoseconds(machine_.at(level_of(number)).rendezvous.latency_seconds);
}

picoseconds operation_costs::rank_link_time(std::uint32_t number) const {
    if (machine_.num_cores > 0) return 0;
    return for_bytes(protocol_of(number).seconds_per_byte,
                     std::max<count_t>(at(number).message_bytes - 1, 0));
}

picoseconds operation_costs::node_link_time(std::uint32_t number) const {
    if (machine_.num_cores > 0) return 0;
    return for_bytes(machine_.injection_seconds_per_byte, at(number).message_bytes);
}

}  // namespace crossdock
