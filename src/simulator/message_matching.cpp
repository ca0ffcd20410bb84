#include "message_matching.hpp"

#include <algorithm>

namespace crossdock {

namespace {

std::vector<std::uint32_t> count_receives(const schedule& s) {
    std::vector<std::uint32_t> counts;
    for (rank_t rank = 0; rank < s.num_ranks(); ++rank) {
        const auto all = s.operations_of(rank);
        counts.push_back(
            static_cast<std::uint32_t>(std::count_if(all.begin(), all.end(), [](const auto& o) {
                return o.kind == operation_kind::receive && !o.is_hand_over;
            })));
    }
    return counts;
}

}  // namespace

message_matching::message_matching(const schedule& s)
    : messages_(s.num_operations()), posted_(count_receives(s)), unexpected_(posted_) {}

message_matching::outcome message_matching::post(rank_t rank, std::uint32_t receive,
                                                 bool is_hand_over) {
    auto& message = messages_[receive];
    message.is_posted = true;
    if (is_hand_over) return message.has_come ? outcome::has_come : outcome::waits;
    if (!message.has_come && !message.is_requested) {
        message.place = posted_.append(rank);
        return outcome::waits;
    }
    message.num_passed = unexpected_.take(rank, message.place);
    message.is_found = true;
    return message.has_come ? outcome::has_come : outcome::may_come;
}

std::optional<picoseconds> message_matching::request(rank_t rank, std::uint32_t receive) {
    auto& message = messages_[receive];
    message.is_requested = true;
    if (message.is_posted) return message.sent;
    message.place = unexpected_.append(rank);
    return std::nullopt;
}

bool message_matching::arrive(rank_t rank, std::uint32_t receive, bool is_hand_over) {
    auto& message = messages_[receive];
    message.has_come = true;
    if (is_hand_over) return message.is_posted;
    if (!message.is_posted) {
        message.place = unexpected_.append(rank);
    } else if (!message.is_found) {
        message.num_passed = posted_.take(rank, message.place);
    }
    return message.is_posted;
}

}  // namespace crossdock
