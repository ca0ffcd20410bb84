#include "message_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace crossdock {

namespace {

// One end of a message. Sorted, the two ends of all messages are in the same order.
struct message_end {
    rank_t source;
    rank_t destination;
    int tag;
    std::uint32_t place;

    auto route() const { return std::tie(source, destination, tag); }
    friend bool operator<(const message_end& a, const message_end& b) {
        return std::tie(a.source, a.destination, a.tag, a.place) <
               std::tie(b.source, b.destination, b.tag, b.place);
    }
};

[[noreturn]] void refuse_lonely(const message_end& end, const char* what) {
    throw error(errc::invalid_argument,
                fmt::format("a {} from rank {} to rank {} with tag {} has no other end", what,
                            end.source, end.destination, end.tag));
}

void check_peer(const schedule& s, rank_t rank, const operation& what) {
    if (what.peer >= 0 && what.peer < s.num_ranks() && what.peer != rank && what.message_bytes >= 0)
        return;
    throw error(errc::invalid_argument,
                fmt::format("rank {} of {} has a message of {} bytes to or from rank {}", rank,
                            s.num_ranks(), what.message_bytes, what.peer),
                rank);
}

}  // namespace

std::vector<std::uint32_t> pair_messages(const schedule& s) {
    std::vector<std::uint32_t> other_end(s.num_operations());
    std::vector<message_end> sends;
    std::vector<message_end> receives;
    std::vector<count_t> bytes(s.num_operations());
    std::uint32_t place = 0;
    for (rank_t rank = 0; rank < s.num_ranks(); ++rank) {
        for (const auto& what : s.operations_of(rank)) {
            other_end[place] = place;
            bytes[place] = what.message_bytes;
            if (what.kind != operation_kind::copy) check_peer(s, rank, what);
            if (what.kind == operation_kind::send)
                sends.push_back({rank, what.peer, what.tag, place});
            if (what.kind == operation_kind::receive)
                receives.push_back({what.peer, rank, what.tag, place});
            ++place;
        }
    }
    std::sort(sends.begin(), sends.end());
    std::sort(receives.begin(), receives.end());
    for (std::size_t k = 0; k < std::min(sends.size(), receives.size()); ++k) {
        const auto& from = sends[k];
        const auto& to = receives[k];
        if (from.route() < to.route()) refuse_lonely(from, "message");
        if (to.route() < from.route()) refuse_lonely(to, "receive");
        if (bytes[from.place] != bytes[to.place]) {
            throw error(
                errc::invalid_argument,
                fmt::format("rank {} sends {} bytes to rank {}, which receives {}", from.source,
                            bytes[from.place], from.destination, bytes[to.place]));
        }
        other_end[from.place] = to.place;
        other_end[to.place] = from.place;
    }
    if (sends.size() > receives.size()) refuse_lonely(sends[receives.size()], "message");
    if (receives.size() > sends.size()) refuse_lonely(receives[sends.size()], "receive");
    return other_end;
}

}  // namespace crossdock
