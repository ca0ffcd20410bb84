#include "stream_delivery.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

count_t stream_delivery::receive_all() {
    const chunk_memory& memory = state_.memory();
    const int worker = state_.id.worker;
    arrived_.clear();
    const bool has_waited = !later_.empty();
    if (has_waited) arrived_.swap(later_);  // some may have to wait on
    memory.take(worker, true, arrived_);
    memory.take(worker, false, arrived_);
    const auto is_urgent = [this](chunk_ref ref) { return state_.engine.is_urgent(ref); };
    if (has_waited) std::stable_partition(arrived_.begin(), arrived_.end(), is_urgent);
    count_t count = 0;
    for (std::size_t i = 0; i < arrived_.size(); ++i) {
        const chunk_ref ref = arrived_[i];
        // Urgent chunks that came meanwhile overtake this one, unless it is urgent itself.
        const std::size_t end = arrived_.size();
        if (!is_urgent(ref)) memory.take(worker, true, arrived_);
        for (std::size_t u = end; u < arrived_.size(); ++u) count += receive(arrived_[u]);
        arrived_.resize(end);
        count += receive(ref);
    }
    return count;
}

count_t stream_delivery::receive(chunk_ref ref) {
    const chunk c = state_.memory().at(ref);
    const chunk_head& head = c.head();
    if (head.phase > state_.phase) {
        append_with_reserve(later_, ref);
        return 0;
    }
    state_.is_quiet.store(false, std::memory_order_relaxed);
    if (head.is_grouped != 0) return handle_share(ref);
    state_.statistics.hops += head.items;
    const stream_layout& layout = state_.layout();
    const bool travels_on = static_cast<int>(head.stage) < layout.num_stages();
    const bool is_for_many = head.worker < 0 && layout.group_size(layout.here()) > 1;
    if (travels_on || is_for_many) return share_out(ref);
    add_latencies(c, 0);
    return handle(ref, 0, head.units);
}

// The number, in this endpoint, of the worker that a tag of a route of several hops means.
inline std::uint32_t stream_delivery::bucket_of(std::uint32_t tag) const {
    const stream_layout& layout = state_.layout();
    const auto workers = static_cast<std::uint32_t>(layout.num_workers());
    const auto rank = static_cast<rank_t>(tag / workers);
    if (layout.endpoint_of(rank) != layout.here()) return bucket_by_worker::elsewhere;
    const auto local =
        layout.is_node() ? static_cast<std::uint32_t>(layout.nodes().local_rank(rank)) : 0;
    return local * workers + tag % workers;
}

// When the item at `position` was pushed, if it is a sample, whose bit is set then; or 0.
inline std::int64_t stream_delivery::take_sample(const chunk& c, std::uint32_t position,
                                                 std::uint32_t& gone) {
    std::int64_t pushed = 0;
    for (std::uint32_t i = 0; i < c.num_samples(); ++i) {
        if (c.head().sample_positions[i] != position) continue;
        gone |= 1U << i;
        pushed = c.head().sample_nanoseconds[i];
    }
    return pushed;
}

count_t stream_delivery::share_out(chunk_ref ref) {
    const stream_layout& layout = state_.layout();
    const chunk c = state_.memory().at(ref);
    chunk_head& head = c.head();
    const int channel = c.channel();
    const int stage = static_cast<int>(head.stage);
    const auto workers = static_cast<std::uint32_t>(layout.num_workers());
    std::uint32_t gone = 0;  // samples that travel on, as bits
    const auto number_of = [this](std::uint32_t tag) { return bucket_of(tag); };
    const auto travels_on = [&](std::uint32_t position, std::span<const std::byte> bytes,
                                std::uint32_t tag, std::uint32_t source) {
        onward_.forward(channel, stage, layout.endpoint_of(static_cast<rank_t>(tag / workers)),
                        {bytes, tag, source, take_sample(c, position, gone)});
    };
    const int only = layout.has_one_hop()
                         ? buckets_.divide_here(c, state_.shape())
                         : buckets_.divide(c, state_.shape(), number_of, travels_on);
    add_latencies(c, gone);
    if (head.items == 0) {
        state_.memory().give_back(ref);
        return 0;
    }
    const int own = state_.number_at_endpoint;
    if (only == own) return handle(ref, 0, head.units);
    head.is_grouped = 2;
    const bool has_own = c.offsets()[own + 1] > c.offsets()[own];
    state_.engine.put_shares(ref, state_.memory().here(), own);
    return has_own ? handle_share(ref) : 0;
}

count_t stream_delivery::handle_share(chunk_ref ref) {
    const chunk c = state_.memory().at(ref);
    const std::uint32_t first = c.offsets()[state_.number_at_endpoint];
    const std::uint32_t last = c.offsets()[state_.number_at_endpoint + 1];
    if (c.head().is_grouped == 1 && first == 0) add_latencies(c, 0);
    return handle(ref, first, last);
}

count_t stream_delivery::handle(chunk_ref ref, std::uint32_t first, std::uint32_t last) {
    const chunk_layout& shape = state_.shape();
    const chunk c = state_.memory().at(ref);
    const int channel = c.channel();
    const std::size_t unit = shape.unit_bytes(channel);
    stream_arrivals arrivals{
        channel,         c.items() + first * unit,
        last - first,    (last - first) * unit,
        c.head().source, shape.source_bytes(channel) > 0 ? c.sources() + first : nullptr};
    if (shape.has_records(channel)) {
        read_record_sources(c, first, last);
        arrivals.num_items = static_cast<count_t>(record_sources_.size());
        arrivals.sources = record_sources_.data();
    }
    if (c.head().is_grouped == 1) state_.statistics.hops += arrivals.num_items;
    if (keeps_) {
        with_reserve([&] { keep(arrivals); });
    } else {
        run_handler(arrivals);
    }
    release(ref);
    return arrivals.num_items;
}

void stream_delivery::read_record_sources(const chunk& c, std::uint32_t first, std::uint32_t last) {
    record_sources_.clear();
    for (std::uint32_t at = first; at < last;) {
        stream_record record;
        std::memcpy(&record, c.items() + at, sizeof record);
        append_with_reserve(record_sources_, record.source);
        at += static_cast<std::uint32_t>(stream_record::room(record.num_bytes));
    }
}

void stream_delivery::run_handler(const stream_arrivals& arrivals) {
    if (!state_.engine.has_failed()) {
        try {
            state_.engine.sink().handle(worker_, arrivals);
        } catch (...) {
            state_.fail();
        }
    }
    state_.statistics.handled += arrivals.num_items;
    state_.handled += arrivals.num_items;
}

void stream_delivery::keep(const stream_arrivals& arrivals) {
    kept_share kept{arrivals, {}, {}};
    kept.items.resize((arrivals.num_bytes + sizeof(chunk_line) - 1) / sizeof(chunk_line));
    std::memcpy(kept.items.data(), arrivals.items, arrivals.num_bytes);
    kept.arrivals.items = kept.items.front().bytes.data();
    if (arrivals.sources != nullptr) {
        kept.sources.assign(arrivals.sources, arrivals.sources + arrivals.num_items);
        kept.arrivals.sources = kept.sources.data();
    }
    kept_.push_back(std::move(kept));
}

count_t stream_delivery::handle_kept() {
    const std::vector<kept_share> kept = std::exchange(kept_, {});
    count_t count = 0;
    for (const kept_share& share : kept) {
        run_handler(share.arrivals);
        count += share.arrivals.num_items;
    }
    return count;
}

void stream_delivery::release(chunk_ref ref) {
    std::atomic<std::uint32_t>& readers = state_.memory().at(ref).state().readers;
    if (readers.load(std::memory_order_acquire) == 1 ||
        readers.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        state_.memory().give_back(ref);
    }
}

// Of the samples of a chunk but those that are `gone`.
void stream_delivery::add_latencies(const chunk& c, std::uint32_t gone) {
    for (std::uint32_t i = 0; i < c.num_samples(); ++i) {
        if ((gone & (1U << i)) != 0) continue;
        state_.statistics.latency.add(state_.engine.now() - c.head().sample_nanoseconds[i]);
    }
}

}  // namespace crossdock
