#include "message_matching.hpp"

#include <algorithm>

namespace crossdock {

namespace {

matching_kind matching_of(const operation& what) {
    const bool is_in_a_queue = what.kind == operation_kind::receive && !what.is_hand_over;
    return is_in_a_queue ? what.matching : matching_kind::known;
}

template <class IsCounted>
std::vector<std::uint32_t> count_receives(const schedule& s, IsCounted&& is_counted) {
    std::vector<std::uint32_t> counts;
    for (rank_t rank = 0; rank < s.num_ranks(); ++rank) {
        const auto all = s.operations_of(rank);
        counts.push_back(
            static_cast<std::uint32_t>(std::ranges::count_if(all, is_counted, &matching_of)));
    }
    return counts;
}

}  // namespace

message_matching::message_matching(const schedule& s)
    : messages_(s.num_operations()),
      posted_(count_receives(s, [](matching_kind m) { return m == matching_kind::posted; })),
      unexpected_(count_receives(s, [](matching_kind m) { return m != matching_kind::known; })) {
    auto* message = messages_.data();
    for (const auto& what : s.operations()) message++->matching = matching_of(what);
}

message_matching::outcome message_matching::post(rank_t rank, std::uint32_t receive) {
    auto& message = messages_[receive];
    message.is_posted = true;
    if (!message.is_unexpected()) {
        if (message.matching == matching_kind::posted) message.place = posted_.append(rank);
        return outcome::waits;
    }
    if (message.matching != matching_kind::known)
        message.num_passed = unexpected_.take(rank, message.place);
    message.is_found = true;
    return message.has_come ? outcome::has_come : outcome::may_come;
}

std::optional<picoseconds> message_matching::request(rank_t rank, std::uint32_t receive) {
    auto& message = messages_[receive];
    message.is_requested = true;
    if (!message.is_posted) {
        if (message.matching != matching_kind::known) message.place = unexpected_.append(rank);
        return std::nullopt;
    }
    if (message.matching == matching_kind::probed) find_by_probe(rank, message);
    return message.sent;
}

bool message_matching::arrive(rank_t rank, std::uint32_t receive) {
    auto& message = messages_[receive];
    message.has_come = true;
    if (message.matching == matching_kind::known) return message.is_posted;
    if (!message.is_posted) {
        message.place = unexpected_.append(rank);
    } else if (!message.is_found && message.matching == matching_kind::probed) {
        find_by_probe(rank, message);
    } else if (!message.is_found) {
        message.num_passed = posted_.take(rank, message.place);
    }
    return message.is_posted;
}

void message_matching::find_by_probe(rank_t rank, message_state& message) {
    message.num_passed = unexpected_.take(rank, unexpected_.append(rank));
    message.is_found = true;
}

void message_matching::sort_by_arrival(std::vector<std::uint32_t>& operations) const {
    const auto found = std::stable_partition(
        operations.begin(), operations.end(), [this](std::uint32_t operation) {
            const auto& message = messages_[operation];
            return message.matching != matching_kind::probed || !message.is_unexpected();
        });
    std::ranges::sort(found, operations.end(), {},
                      [this](std::uint32_t receive) { return messages_[receive].place; });
}

}  // namespace crossdock
