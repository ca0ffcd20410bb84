/// @file
/// @brief What a port of requests remembers until the replies come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "crossdock/stream/stream_options.hpp"

namespace crossdock {

/// @brief First in, first out. Keeps its memory, which doubles when it is full.
template <class Context>
class context_ring {
  public:
    void push(const Context& context) {
        if (last_ - first_ == contexts_.size()) grow();
        contexts_[last_++ & (contexts_.size() - 1)] = context;
    }

    /// @pre at least as many have been pushed and not popped
    void pop(std::span<Context> into) {
        const std::size_t at = first_ & (contexts_.size() - 1);
        const std::size_t until_end = std::min(into.size(), contexts_.size() - at);
        const auto rest = std::copy_n(contexts_.data() + at, until_end, into.begin());
        std::copy_n(contexts_.data(), into.size() - until_end, rest);
        first_ += into.size();
    }

    /// @brief Forgets what was pushed last, if it is still there.
    void take_back() noexcept {
        if (last_ != first_) --last_;
    }

  private:
    static constexpr std::size_t least_size = 16;

    void grow() {
        std::vector<Context> larger(std::max(2 * contexts_.size(), least_size));
        const std::size_t num_pending = last_ - first_;
        if (num_pending > 0) pop({larger.data(), num_pending});
        contexts_ = std::move(larger);
        first_ = 0;
        last_ = num_pending;
    }

    std::vector<Context> contexts_;  // 0 or a power of two
    std::size_t first_ = 0;          // modulo the size
    std::size_t last_ = 0;
};

/// @brief Of one port whose replies come in the order of its requests: a ring for each worker that
/// was asked. A rank costs a pointer until then.
template <class Context>
class ordered_contexts {
  public:
    ordered_contexts(rank_t num_ranks, int num_workers)
        : num_workers_(static_cast<std::size_t>(num_workers)),
          rings_(static_cast<std::size_t>(num_ranks)) {}

    /// @pre there is such a worker
    context_ring<Context>& of(worker_id to) {
        auto& rings = rings_[static_cast<std::size_t>(to.rank)];
        if (rings == nullptr) [[unlikely]]
            rings = std::make_unique<context_ring<Context>[]>(num_workers_);
        return rings[static_cast<std::size_t>(to.worker)];
    }

  private:
    std::size_t num_workers_;
    std::vector<std::unique_ptr<context_ring<Context>[]>> rings_;  // per rank and worker
};

/// @brief Of one port whose replies come in any order: a table, whose free slots are used again.
template <class Context>
class numbered_contexts {
  public:
    /// @return its slot
    std::uint32_t add(const Context& context) {
        if (free_.empty()) {
            contexts_.push_back(context);
            return static_cast<std::uint32_t>(contexts_.size() - 1);
        }
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        contexts_[slot] = context;
        return slot;
    }

    /// @pre the slot is in use
    Context take(std::uint32_t slot) {
        free_.push_back(slot);
        return contexts_[slot];
    }

  private:
    std::vector<Context> contexts_;
    std::vector<std::uint32_t> free_;
};

}  // namespace crossdock
