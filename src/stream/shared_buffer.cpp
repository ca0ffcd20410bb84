#include "shared_buffer.hpp"

#include <algorithm>

namespace crossdock {

namespace {

constexpr std::uint64_t word_of(chunk_ref ref, std::uint32_t units) {
    return (std::uint64_t{ref} << 32) | units;
}
constexpr chunk_ref ref_of(std::uint64_t word) { return static_cast<chunk_ref>(word >> 32); }
constexpr std::uint32_t units_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

}  // namespace

chunk_ref shared_buffer::current() const noexcept {
    return ref_of(word_.load(std::memory_order_relaxed));
}

bool shared_buffer::open(chunk_ref ref) const noexcept {
    chunk_state& state = memory_.at(ref).state();
    state.missing.store(0, std::memory_order_relaxed);
    state.record_items.store(0, std::memory_order_relaxed);
    state.serial.fetch_add(1, std::memory_order_relaxed);
    std::uint64_t closed = 0;
    if (!word_.compare_exchange_strong(closed, word_of(ref, 0), std::memory_order_acq_rel)) {
        return false;
    }
    memory_.count_shared(holder_, 1);
    return true;
}

shared_buffer::room shared_buffer::take(std::uint32_t units, bool together) const noexcept {
    std::uint64_t known = word_.load(std::memory_order_acquire);
    for (;;) {
        const chunk_ref ref = ref_of(known);
        if (ref == no_chunk) return {};
        const std::uint32_t first = units_of(known);
        const std::uint32_t left = capacity_ - first;
        if (together && left < units) return {ref, first, 0, false};
        const std::uint32_t taken = std::min(units, left);
        const bool is_last = taken == left;
        const std::uint64_t next = is_last ? 0 : word_of(ref, first + taken);
        if (!word_.compare_exchange_weak(known, next, std::memory_order_acq_rel)) continue;
        if (is_last) memory_.count_shared(holder_, -1);
        return {ref, first, taken, is_last};
    }
}

chunk_ref shared_buffer::fill_in(const room& taken, std::uint32_t records) const noexcept {
    const chunk c = memory_.at(taken.ref);
    if (records > 0) c.state().record_items.fetch_add(records, std::memory_order_relaxed);
    if (taken.is_last) set_total(c, capacity_, flush_cause::full);
    return change_missing(taken.ref, taken.units - (taken.is_last ? capacity_ : 0));
}

chunk_ref shared_buffer::close(chunk_ref expected, flush_cause cause) const noexcept {
    std::uint64_t known = word_.load(std::memory_order_acquire);
    do {
        if (ref_of(known) == no_chunk) return no_chunk;
        if (expected != no_chunk && ref_of(known) != expected) return no_chunk;
    } while (!word_.compare_exchange_weak(known, 0, std::memory_order_acq_rel));
    memory_.count_shared(holder_, -1);
    const chunk_ref ref = ref_of(known);
    const std::uint32_t total = units_of(known);
    if (total == 0) {
        memory_.give_back(ref);
        return no_chunk;
    }
    set_total(memory_.at(ref), total, cause);
    return change_missing(ref, 0 - total);
}

// By the worker that has closed the chunk; the last one reads it.
void shared_buffer::set_total(const chunk& c, std::uint32_t units,
                              flush_cause cause) const noexcept {
    c.head().units = units;
    c.state().cause = static_cast<std::uint32_t>(cause);
}

chunk_ref shared_buffer::change_missing(chunk_ref ref, std::uint32_t change) const noexcept {
    const chunk c = memory_.at(ref);
    const std::uint32_t before = c.state().missing.fetch_add(change, std::memory_order_acq_rel);
    if (before + change != 0) return no_chunk;
    c.close(c.head().units);
    c.head().items = memory_.shape().has_records(c.channel())
                         ? c.state().record_items.load(std::memory_order_relaxed)
                         : c.head().units;
    return ref;
}

}  // namespace crossdock
