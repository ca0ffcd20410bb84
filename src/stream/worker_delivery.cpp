// How chunks that came are divided, forwarded and handled.
#include <algorithm>
#include <cstring>
#include <utility>

#include "worker_buffers.hpp"

namespace crossdock {

// What is pushed from here on comes from handlers or is on its way: never waits, never refused.
void worker_buffers::begin_inside() noexcept {
    is_inside_ = true;
    set_refusing(false);
}

void worker_buffers::end_inside() noexcept {
    is_inside_ = false;
    set_refusing(is_draining_ || has_ended_ || is_closed_);
}

count_t worker_buffers::receive_all() {
    begin_inside();
    arrived_.clear();
    const bool has_waited = !later_.empty();
    if (has_waited) {
        arrived_.swap(later_);  // in part they may have to wait on
    }
    count_t count = 0;
    memory().take(id_.worker, true, arrived_);
    memory().take(id_.worker, false, arrived_);
    const auto is_urgent = [this](chunk_ref ref) { return engine_.is_urgent(ref); };
    if (has_waited) std::stable_partition(arrived_.begin(), arrived_.end(), is_urgent);
    for (std::size_t i = 0; i < arrived_.size(); ++i) {
        const chunk_ref ref = arrived_[i];
        // What is urgent and came meanwhile overtakes, but for what is urgent itself.
        const std::size_t end = arrived_.size();
        if (!is_urgent(ref)) memory().take(id_.worker, true, arrived_);
        for (std::size_t u = end; u < arrived_.size(); ++u) count += receive(arrived_[u]);
        arrived_.resize(end);
        count += receive(ref);
    }
    end_inside();
    return count;
}

count_t worker_buffers::receive(chunk_ref ref) {
    const chunk c = memory().at(ref);
    const chunk_head& head = c.head();
    if (head.phase > phase_) {
        later_.push_back(ref);
        return 0;
    }
    is_quiet_.store(false, std::memory_order_relaxed);
    if (head.is_grouped != 0) return handle_share(ref);
    statistics_.hops += head.items;
    const bool travels_on = static_cast<int>(head.stage) < layout().num_stages();
    const bool is_for_many = head.worker < 0 && layout().group_size(layout().here()) > 1;
    if (travels_on || is_for_many) return divide(ref);
    add_latencies(c, 0);
    return handle(ref, 0, head.units);
}

count_t worker_buffers::divide(chunk_ref ref) {
    const chunk c = memory().at(ref);
    const chunk_head& head = c.head();
    const auto workers = static_cast<std::uint32_t>(layout().num_workers());
    const int stage = static_cast<int>(head.stage);
    const int channel = c.channel();
    std::uint32_t gone = 0;  // samples that travel on, as bits

    const auto number_of = [&](std::uint32_t tag) -> std::uint32_t {
        const auto rank = static_cast<rank_t>(tag / workers);
        if (layout().endpoint_of(rank) != layout().here()) return bucket_by_worker::elsewhere;
        const auto first =
            layout().is_node() ? static_cast<std::uint32_t>(layout().nodes().local_rank(rank)) : 0;
        return first * workers + tag % workers;
    };
    const auto travels_on = [&](std::uint32_t position, std::span<const std::byte> bytes,
                                std::uint32_t tag, std::uint32_t source) {
        std::int64_t pushed = 0;
        for (std::uint32_t i = 0; i < c.num_samples(); ++i) {
            if (head.sample_positions[i] != position) continue;
            gone |= 1U << i;
            pushed = head.sample_nanoseconds[i];
        }
        forward(channel, stage, layout().endpoint_of(static_cast<rank_t>(tag / workers)),
                {bytes, tag, source, pushed});
    };
    const int only = layout().has_one_hop() ? divider_.divide_here(c, shape())
                                            : divider_.divide(c, shape(), number_of, travels_on);
    add_latencies(c, gone);
    if (head.items == 0) {
        memory().give_back(ref);
        return 0;
    }
    if (only == number_at_endpoint_) return handle(ref, 0, head.units);
    c.head().is_grouped = 2;
    const bool has_own = c.offsets()[number_at_endpoint_ + 1] > c.offsets()[number_at_endpoint_];
    engine_.put_shares(ref, memory().here(), number_at_endpoint_);
    return has_own ? handle_share(ref) : 0;
}

count_t worker_buffers::handle_share(chunk_ref ref) {
    const chunk c = memory().at(ref);
    const std::uint32_t first = c.offsets()[number_at_endpoint_];
    const std::uint32_t last = c.offsets()[number_at_endpoint_ + 1];
    if (c.head().is_grouped == 1 && first == 0) add_latencies(c, 0);
    return handle(ref, first, last);
}

count_t worker_buffers::handle(chunk_ref ref, std::uint32_t first, std::uint32_t last) {
    const chunk c = memory().at(ref);
    const int channel = c.channel();
    const std::size_t unit = shape().unit_bytes(channel);
    stream_arrivals arrivals{
        channel,         c.items() + first * unit,
        last - first,    (last - first) * unit,
        c.head().source, shape().source_bytes(channel) > 0 ? c.sources() + first : nullptr};
    if (shape().has_records(channel)) {
        record_sources_.clear();
        for (std::uint32_t at = first; at < last;) {
            stream_record record;
            std::memcpy(&record, c.items() + at, sizeof record);
            record_sources_.push_back(record.source);
            at += static_cast<std::uint32_t>(stream_record::room(record.num_bytes));
        }
        arrivals.num_items = static_cast<count_t>(record_sources_.size());
        arrivals.sources = record_sources_.data();
    }
    if (c.head().is_grouped == 1) statistics_.hops += arrivals.num_items;
    if (keeps_) {
        keep(arrivals);
    } else {
        run_handler(arrivals);
    }
    release(ref);
    return arrivals.num_items;
}

void worker_buffers::run_handler(const stream_arrivals& arrivals) {
    if (!engine_.has_failed()) {
        try {
            engine_.sink().handle(worker_, arrivals);
        } catch (...) {
            fail();
        }
    }
    statistics_.handled += arrivals.num_items;
    handled_ += arrivals.num_items;
}

void worker_buffers::keep(const stream_arrivals& arrivals) {
    kept_share kept{arrivals.channel,
                    arrivals.num_items,
                    arrivals.source,
                    arrivals.sources != nullptr,
                    arrivals.num_bytes,
                    {},
                    {}};
    kept.items.resize((arrivals.num_bytes + sizeof(chunk_line) - 1) / sizeof(chunk_line));
    std::memcpy(kept.items.data(), arrivals.items, arrivals.num_bytes);
    if (kept.has_sources) {
        kept.sources.assign(arrivals.sources, arrivals.sources + arrivals.num_items);
    }
    kept_.push_back(std::move(kept));
}

count_t worker_buffers::handle_kept() {
    if (kept_.empty()) return 0;
    const std::vector<kept_share> kept = std::move(kept_);
    kept_.clear();
    count_t count = 0;
    begin_inside();
    for (const kept_share& share : kept) {
        run_handler({share.channel, share.items.front().bytes.data(), share.num_items,
                     share.num_bytes, share.source,
                     share.has_sources ? share.sources.data() : nullptr});
        count += share.num_items;
    }
    end_inside();
    return count;
}

void worker_buffers::release(chunk_ref ref) {
    std::atomic<std::uint32_t>& readers = memory().at(ref).state().readers;
    if (readers.load(std::memory_order_acquire) == 1 ||
        readers.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        memory().give_back(ref);
    }
}

// Of the samples of a chunk, but for those that travel on, as bits.
void worker_buffers::add_latencies(const chunk& c, std::uint32_t gone) {
    for (std::uint32_t i = 0; i < c.num_samples(); ++i) {
        if ((gone & (1U << i)) == 0) {
            statistics_.latency.add(engine_.now() - c.head().sample_nanoseconds[i]);
        }
    }
}

}  // namespace crossdock
