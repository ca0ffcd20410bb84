#include "combining_router.hpp"

#include "plan_writer.hpp"
#include "request_layout.hpp"

namespace crossdock {

template <class Index>
combining_router<Index>::combining_router(const batch_route& routing, const request_traits& kind,
                                          std::pmr::memory_resource* memory)
    : routing_(routing),
      kind_(kind),
      owner_(routing.here, routing.owners.first(routing.here)),
      own_(memory) {
    hops_.reserve(num_stages() + 1);
    for (std::size_t h = 0; h <= num_stages(); ++h) hops_.emplace_back(routing, kind, h, memory);
}

template <class Index>
void combining_router<Index>::start(raw_vector<Index>&& indices, const std::byte* values) {
    own_ = std::move(indices);
    hops_.front().take({{own_, {}, values, false}});
}

template <class Index>
count_t combining_router<Index>::packed_bytes(count_t num_requests) const {
    const request_layout<Index> message(kind_, static_cast<std::size_t>(num_requests));
    return static_cast<count_t>(message.num_bytes());
}

template <class Index>
void combining_router<Index>::take(std::size_t stage,
                                   std::span<const packed_requests> from_sources) {
    const bool are_sorted = kind_.is_sorted_at(stage, num_stages());
    std::vector<request_list<Index>> lists{hops_[stage].stay()};
    for (const auto& [num_requests, data] : from_sources) {
        const request_layout<Index> message(kind_, static_cast<std::size_t>(num_requests));
        lists.push_back(message.decode(data, are_sorted));
    }
    hops_[stage + 1].take(std::move(lists));
}

template <class Index>
void combining_router<Index>::apply(std::byte* entries) const {
    const auto& last = hops_.back();
    if (kind_.operation->combines_at_owner()) {
        owner_.apply(*kind_.operation, last.held().indices(), last.values(), entries);
    } else {
        for (const auto& list : last.lists())
            owner_.apply(*kind_.operation, list.indices, list.values, entries);
    }
}

template <class Index>
std::vector<count_t> combining_router<Index>::offsets() const {
    std::vector<count_t> result;
    for (const auto& list : hops_.back().lists()) owner_.append_offsets(list.indices, result);
    return result;
}

template <class Index>
count_t combining_router<Index>::num_arrived(std::size_t stage, std::size_t i) const {
    return static_cast<count_t>(hops_[stage + 1].lists()[i + 1].indices.size());
}

template <class Index>
count_t combining_router<Index>::reply_bytes(count_t num_requests) const {
    const reply_layout message(kind_, static_cast<std::size_t>(num_requests));
    return static_cast<count_t>(message.num_bytes());
}

template <class Index>
void combining_router<Index>::copy_replies(std::size_t hop, std::size_t list, std::byte* to) const {
    if (hop < num_stages()) {
        hops_[hop].copy_replies(list, to);
    } else {
        owner_.read(entries_, kind_.reply_bytes, hops_[hop].lists()[list].indices, to);
    }
}

template <class Index>
void combining_router<Index>::pack_replies(std::size_t stage, std::size_t i, std::byte* to) const {
    const auto& list = hops_[stage + 1].lists()[i + 1];
    const reply_layout message(kind_, list.indices.size());
    message.encode_return_slots(list.return_slots, to);
    copy_replies(stage + 1, i + 1, to + message.values_begin());
}

template <class Index>
void combining_router<Index>::split(std::size_t stage) {
    hops_[stage].take_stayed_replies([&](std::byte* to) { copy_replies(stage + 1, 0, to); });
}

template <class Index>
void combining_router<Index>::count(array_statistics& result) const {
    const auto num_own = hops_.front().num_taken();
    result.requests += num_own;
    result.combined_locally += num_own - hops_.front().held().size();
    result.stages.resize(num_stages());
    for (std::size_t s = 0; s < num_stages(); ++s) {
        const auto& next = hops_[s + 1];
        const auto num_taken = next.num_taken();
        const auto num_received =
            num_taken - static_cast<count_t>(next.lists().front().indices.size());
        result.stages[s].received += num_received;
        if (s + 1 < num_stages())
            result.stages[s].combined += num_taken - next.held().size();
        else
            result.arrived += num_received;
    }
}

template <class Index>
plan combining_router<Index>::make_plan() const {
    return write_plan<Index>(routing_, kind_, hops_);
}

void count_message(const batch_route& routing, std::size_t stage, std::size_t d,
                   count_t num_requests, array_statistics& result) {
    result.stages.resize(routing.num_stages());
    auto& counted = result.stages[stage];
    if (num_requests == 0) {
        ++counted.empty_messages;
        return;
    }
    const rank_t destination = routing.stages[stage].destinations[d];
    const auto& regions = routing.regions;
    const bool leaves = regions.region_of(destination) != regions.region_of(routing.here);
    counted.sent += {1, num_requests, leaves ? 1 : 0, leaves ? num_requests : 0};
}

template class combining_router<std::uint32_t>;
template class combining_router<std::uint64_t>;

}  // namespace crossdock
