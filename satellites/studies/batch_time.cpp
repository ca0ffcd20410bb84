#include "satellites/studies/batch_time.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

namespace crossdock::bench::studies {

namespace {

constexpr count_t index_bytes = sizeof(entry_t);
constexpr count_t value_bytes = sizeof(array::value_t);
constexpr count_t head_bytes =
    80;  // check_result and numbers of requests, in every message of a route
constexpr count_t alignment = 16;    // of indices and of values in a message
constexpr count_t radix_passes = 3;  // 7 ns for a read and an update, as measured (docs/bench.md)

bool has_values(const batch& requests) { return requests.kind != array::request_traits::read; }

count_t padded(count_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

count_t request_bytes(const batch& requests, count_t num_requests) {
    return padded(num_requests * index_bytes) +
           (has_values(requests) ? padded(num_requests * value_bytes) : 0);
}

operation message(operation_kind kind, rank_t peer, count_t bytes, count_t num_items, int tag = 0) {
    operation what;
    what.kind = kind;
    what.peer = peer;
    what.tag = tag;
    what.message_bytes = bytes;
    what.copied_bytes = num_items > 0 ? bytes : 0;
    what.copied_items = num_items;
    return what;
}

operation copy(count_t bytes, count_t num_items) {
    operation what;
    what.copied_bytes = bytes;
    what.copied_items = num_items;
    return what;
}

// Stages one after the other; a rank begins each when it is done with the one before.
class stage_clock {
  public:
    stage_clock(const rank_layout& layout, const machine& m)
        : layout_(layout), machine_(m), now_(static_cast<std::size_t>(layout.num_ranks())) {}

    void pass(const schedule& work) {
        simulation_options options;
        options.start = now_;
        auto done = simulate(layout_, work, machine_, options);
        shares_.copying += done.shares.copying;
        for (std::size_t level = 0; level < num_locality_levels; ++level)
            shares_.by_level[level] += done.shares.by_level[level];
        now_ = std::move(done.finish);
    }

    double seconds() const { return to_seconds(*std::max_element(now_.begin(), now_.end())); }

    void add_to(batch_cost& cost) {
        const auto slowest = *std::max_element(now_.begin(), now_.end());
        const auto worked =
            std::accumulate(shares_.by_level.begin(), shares_.by_level.end(), shares_.copying);
        shares_.idle = static_cast<double>(now_.size()) * static_cast<double>(slowest) - worked;
        cost.seconds = to_seconds(slowest);
        cost.shares = shares_;
    }

  private:
    const rank_layout& layout_;
    const machine& machine_;
    std::vector<picoseconds> now_;
    time_shares shares_;
};

void count(const std::vector<rank_stage>& ranks, bool sends_empty_ones, batch_cost& cost,
           std::vector<count_t>& sent_messages, std::vector<count_t>& received_items) {
    cost.arrived_most = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const auto& one = ranks[rank];
        const auto received = std::accumulate(one.received.begin(), one.received.end(), count_t{0});
        cost.items += received;
        const auto num_empty =
            sends_empty_ones ? 0 : std::count(one.sent.begin(), one.sent.end(), count_t{0});
        const auto num_messages = static_cast<count_t>(one.sent.size()) - num_empty;
        cost.messages += num_messages;
        sent_messages[rank] += num_messages;
        received_items[rank] += received;
        cost.arrived_most = std::max(cost.arrived_most, received);
    }
    cost.messages_most = *std::max_element(sent_messages.begin(), sent_messages.end());
    cost.received_most = *std::max_element(received_items.begin(), received_items.end());
}

// What a rank does before its first message: finds equal requests, or sorts by destination.
schedule sorting_schedule(const batch& requests, sorting_way way, bool finds_equal) {
    schedule work;
    for (const auto& of_rank : requests.requests) {
        const auto num_requests = static_cast<count_t>(of_rank.size());
        const count_t num_passes = way == sorting_way::comparisons
                                       ? std::bit_width(static_cast<std::uint64_t>(num_requests))
                                       : (finds_equal ? radix_passes : 1);
        work.begin_rank();
        work.add(
            copy(num_passes * request_bytes(requests, num_requests), num_passes * num_requests));
    }
    return work;
}

schedule request_schedule(const std::vector<rank_stage>& ranks, const batch& requests,
                          stage_way way) {
    const bool has_all = way == stage_way::messages;
    const count_t head = has_all ? head_bytes : 0;
    schedule work;
    for (const auto& one : ranks) {
        const auto bytes = [&](count_t n) { return head + request_bytes(requests, n); };
        work.begin_rank();
        for (std::size_t s = 0; s < one.received.size(); ++s) {
            const auto n = one.received[s];
            if (has_all || n > 0)
                work.add(message(operation_kind::receive, one.partners.sources[s], bytes(n), n));
        }
        for (std::size_t d = 0; d < one.sent.size(); ++d) {
            const auto n = one.sent[d];
            if (has_all || n > 0)
                work.add(message(operation_kind::send, one.partners.destinations[d], bytes(n), n));
        }
        work.add(copy(request_bytes(requests, one.stayed), one.stayed));
    }
    return work;
}

schedule reply_schedule(const std::vector<rank_stage>& ranks) {
    schedule work;
    for (const auto& one : ranks) {
        work.begin_rank();
        for (std::size_t d = 0; d < one.sent.size(); ++d) {
            const auto n = one.sent[d];
            const auto from = one.partners.destinations[d];
            if (n > 0) work.add(message(operation_kind::receive, from, n * value_bytes, n));
        }
        for (std::size_t s = 0; s < one.received.size(); ++s) {
            const auto n = one.received[s];
            const auto to = one.partners.sources[s];
            if (n > 0) work.add(message(operation_kind::send, to, n * value_bytes, n));
        }
    }
    return work;
}

// MPI_Alltoall of one number for each of a group: in step k a half of all goes to the rank 2^k further on.
void add_count_exchange(schedule& work, const std::vector<rank_t>& group, rank_t rank) {
    const auto size = static_cast<rank_t>(group.size());
    const auto here =
        static_cast<rank_t>(std::lower_bound(group.begin(), group.end(), rank) - group.begin());
    const count_t bytes = size / 2 * static_cast<count_t>(sizeof(int));
    const auto at = [&](rank_t place) { return group[static_cast<std::size_t>(place % size)]; };
    std::vector<std::uint32_t> before;
    for (rank_t distance = 1; distance < size; distance *= 2) {
        const auto got = work.add(
            message(operation_kind::receive, at(here - distance + size), bytes, 1, distance),
            before);
        const auto gave = work.add(
            message(operation_kind::send, at(here + distance), bytes, 1, distance), before);
        before = {got, gave};
    }
}

schedule count_schedule(rank_t num_ranks) {
    std::vector<rank_t> all(static_cast<std::size_t>(num_ranks));
    std::iota(all.begin(), all.end(), 0);
    schedule work;
    for (const rank_t rank : all) {
        work.begin_rank();
        add_count_exchange(work, all, rank);
    }
    return work;
}

schedule count_schedule(const std::vector<rank_stage>& ranks) {
    schedule work;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        auto group = ranks[rank].partners.destinations;
        const auto here = static_cast<rank_t>(rank);
        group.insert(std::lower_bound(group.begin(), group.end(), here), here);
        work.begin_rank();
        add_count_exchange(work, group, here);
    }
    return work;
}

// MPI_Alltoallv of what the ranks have for all others: entry p has its partners in order, all but p.
template <class Bytes>
schedule all_to_all(const std::vector<rank_stage>& ranks, bool is_reply, const Bytes& bytes_of) {
    const auto num_ranks = static_cast<rank_t>(ranks.size());
    // Of the rank that sends k places further on.
    const auto items_for = [&](rank_t sender, rank_t k) {
        const rank_t other = (sender + k) % num_ranks;
        const auto& one = ranks[static_cast<std::size_t>(sender)];
        return (is_reply ? one.received
                         : one.sent)[static_cast<std::size_t>(other - (other > sender))];
    };
    schedule work;
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        work.begin_rank();
        for (rank_t k = 1; k < num_ranks; ++k) {
            const rank_t source = (rank - k + num_ranks) % num_ranks;
            if (const auto n = items_for(source, k); n > 0)
                work.add(message(operation_kind::receive, source, bytes_of(n), n));
        }
        for (rank_t k = 1; k < num_ranks; ++k) {
            if (const auto n = items_for(rank, k); n > 0)
                work.add(message(operation_kind::send, (rank + k) % num_ranks, bytes_of(n), n));
        }
    }
    return work;
}

machine without_search(machine m) {
    m.matching_seconds = 0;
    return m;
}

}  // namespace

batch_cost& batch_cost::operator+=(const batch_cost& other) {
    seconds += other.seconds;
    sorting_seconds += other.sorting_seconds;
    shares.copying += other.shares.copying;
    shares.idle += other.shares.idle;
    for (std::size_t level = 0; level < num_locality_levels; ++level)
        shares.by_level[level] += other.shares.by_level[level];
    messages_most += other.messages_most;
    messages += other.messages;
    items += other.items;
    received_most += other.received_most;
    arrived_most += other.arrived_most;
    return *this;
}

batch_timer::batch_timer(const rank_layout& layout, const block_partition& owners, const machine& m,
                         stage_way way, sorting_way sorting)
    : layout_(layout),
      owners_(owners),
      with_search_(m),
      without_search_(without_search(m)),
      way_(way),
      sorting_(sorting) {}

batch_cost batch_timer::routed(const route& r, const batch& requests, bool combines) const {
    const bool is_collective = way_ == stage_way::collectives;
    batch_cost cost;
    stage_clock clock(layout_, is_collective ? with_search_ : without_search_);
    clock.pass(sorting_schedule(requests, sorting_, combines || is_collective));
    cost.sorting_seconds = clock.seconds();
    request_walk walk(r, owners_, requests.requests, combines);
    std::vector<std::vector<rank_stage>> stages;
    std::vector<count_t> sent_messages(requests.requests.size());
    std::vector<count_t> received_items(requests.requests.size());
    while (!walk.is_over()) {
        stages.push_back(walk.next_stage());
        if (is_collective) clock.pass(count_schedule(stages.back()));
        clock.pass(request_schedule(stages.back(), requests, way_));
        count(stages.back(), !is_collective, cost, sent_messages, received_items);
    }
    if (!has_values(requests)) {
        for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage)
            clock.pass(reply_schedule(*stage));
    }
    clock.add_to(cost);
    return cost;
}

batch_cost batch_timer::plain(const batch& requests) const {
    batch_cost cost;
    stage_clock clock(layout_, with_search_);
    const auto direct = make_route("direct", layout_.regions());
    const auto stage = request_walk(*direct, owners_, requests.requests, false).next_stage();
    std::vector<count_t> sent_messages(stage.size());
    std::vector<count_t> received_items(stage.size());
    count(stage, false, cost, sent_messages, received_items);
    clock.pass(sorting_schedule(requests, sorting_, way_ == stage_way::collectives));
    cost.sorting_seconds = clock.seconds();
    clock.pass(count_schedule(layout_.num_ranks()));
    const auto request = [&](count_t n) { return request_bytes(requests, n); };
    clock.pass(all_to_all(stage, false, request));
    if (!has_values(requests))
        clock.pass(all_to_all(stage, true, [](count_t n) { return n * value_bytes; }));
    clock.add_to(cost);
    return cost;
}

}  // namespace crossdock::bench::studies
