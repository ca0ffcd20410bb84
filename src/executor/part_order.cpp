#include "part_order.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

namespace crossdock {

namespace {

bool precedes(const message_part& a, const message_part& b) {
    const auto key = [](const message_part& one) {
        return std::tuple(one.part.is_in_place, one.part.stage, one.part.peer, one.part.is_stripe,
                          one.source, one.destination, one.first_item);
    };
    return key(a) < key(b);
}

// Whether two parts go to one rank with one tag.
bool match_in_order(const schedule_part& a, const schedule_part& b) {
    return a.peer == b.peer && a.stage == b.stage && a.is_stripe == b.is_stripe;
}

}  // namespace

void order_receives(shared_memory_schedule& work, std::vector<message_part> receives) {
    std::sort(receives.begin(), receives.end(), precedes);
    for (const auto& one : receives) {
        if (!one.part.is_in_place) ++work.num_section_receives;
        work.receives.push_back(one.part);
    }
}

index_vector<outgoing_part_number, send_number> order_sends(
    shared_memory_schedule& work, const index_vector<outgoing_part_number, outgoing_part>& own,
    const std::vector<message_part>& foreign) {
    struct send {
        message_part sent;
        std::optional<outgoing_part_number> own_number;
    };
    std::vector<send> sends;
    for (outgoing_part_number i; i < own.end_index(); ++i) {
        if (own[i].sender == work.here) sends.push_back({own[i].sent, i});
    }
    for (const auto& one : foreign) sends.push_back({one, std::nullopt});
    std::sort(sends.begin(), sends.end(),
              [](const send& a, const send& b) { return precedes(a.sent, b.sent); });

    index_vector<outgoing_part_number, send_number> number_of(own.size());
    for (const auto& [sent, own_number] : sends) {
        if (own_number) number_of[*own_number] = work.sends.end_index();
        const bool is_first = work.sends.empty();
        const bool is_after_previous = !is_first && match_in_order(work.sends.back(), sent.part);
        work.sends.push_back(sent.part);
        work.sends.back().is_after_previous = is_after_previous;
    }
    return number_of;
}

}  // namespace crossdock
