#include "chunk_pool.hpp"

#include <new>

#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

constexpr std::align_val_t chunk_alignment{64};

}  // namespace

void chunk_pool::aligned_delete::operator()(std::byte* memory) const noexcept {
    ::operator delete(memory, chunk_alignment);
}

chunk_pool::chunk_pool(const chunk_memory& memory, int worker)
    : memory_(memory), owner_(static_cast<std::uint32_t>(worker)) {}

void chunk_pool::fetch() { memory_.take_free(owner_, free_); }

bool chunk_pool::has_free() {
    fetch();
    return !free_.empty() && waiting_.empty();
}

chunk_ref chunk_pool::take() {
    fetch();
    if (free_.empty()) return no_chunk;
    const chunk_ref ref = free_.back();
    free_.pop_back();
    return ref;
}

std::byte* chunk_pool::take_overflow() {
    if (free_overflow_.empty()) {
        const chunk_layout& shape = memory_.shape();
        auto* const memory = with_reserve([&] {
            // There is room for each that `reuse` gives back.
            if (free_overflow_.capacity() <= overflow_.size())
                free_overflow_.reserve(2 * overflow_.size() + 8);
            decltype(overflow_)::value_type one(
                static_cast<std::byte*>(::operator new(shape.stride(), chunk_alignment)));
            overflow_.push_back(std::move(one));
            return overflow_.back().get();
        });
        const chunk c(memory, shape);
        new (&c.state()) chunk_state{};
        new (&c.head()) chunk_head{};
        free_overflow_.push_back(memory);
    }
    std::byte* const result = free_overflow_.back();
    free_overflow_.pop_back();
    return result;
}

void chunk_pool::wait(const waiting_buffer& buffer) {
    append_with_reserve(waiting_, buffer);
    if (last_waiting_.size() <= buffer.index) resize_with_reserve(last_waiting_, buffer.index + 1);
    last_waiting_[buffer.index] = buffer.memory;
}

std::optional<chunk_pool::ready_buffer> chunk_pool::take_ready() {
    if (waiting_.empty()) return std::nullopt;
    const chunk_ref ref = take();
    if (ref == no_chunk) return std::nullopt;
    const waiting_buffer oldest = waiting_.front();
    waiting_.pop_front();
    std::byte*& last = last_waiting_[oldest.index];
    if (last == oldest.memory) last = nullptr;
    return ready_buffer{oldest, ref};
}

void chunk_pool::free_overflow() noexcept {
    waiting_ = {};
    last_waiting_ = {};
    free_overflow_ = std::vector<std::byte*>();
    overflow_ = decltype(overflow_)();
}

}  // namespace crossdock
