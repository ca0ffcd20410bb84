/// @file
/// @brief What a port of requests remembers until the replies come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/stream_options.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A queue, first in, first out, in one array. The array is kept when the queue is empty,
/// and becomes larger when more than half of it is in use.
template <class Context>
class context_queue {
  public:
    void push(const Context& context) {
        if (last_ == end_) [[unlikely]]
            make_room();
        *last_++ = context;
    }

    /// @pre at least as many have been pushed and not popped
    void pop(std::span<Context> into) {
        std::copy_n(first_, into.size(), into.begin());
        first_ += into.size();
        if (first_ == last_) first_ = last_ = memory_.get();
    }

    /// @brief Forgets what was pushed last, if it is still there.
    void take_back() noexcept {
        if (last_ != first_) --last_;
    }

  private:
    static constexpr std::size_t least_size = 16;

    // Moves what is pending to the front of the array, or of a larger one. Not inlined, as `push`
    // is called often and this seldom.
    [[gnu::noinline]] void make_room() {
        const auto num_pending = static_cast<std::size_t>(last_ - first_);
        const auto size = static_cast<std::size_t>(end_ - memory_.get());
        if (2 * num_pending < size) {
            std::copy(first_, last_, memory_.get());
        } else {
            const std::size_t larger = std::max(2 * size, least_size);
            auto memory = std::make_unique_for_overwrite<Context[]>(larger);
            std::copy(first_, last_, memory.get());
            memory_ = std::move(memory);
            end_ = memory_.get() + larger;
        }
        first_ = memory_.get();
        last_ = first_ + num_pending;
    }

    Context* last_ = nullptr;
    Context* end_ = nullptr;
    Context* first_ = nullptr;
    std::unique_ptr<Context[]> memory_;
};

/// @brief Of one port whose replies come in the order of its requests: a ring for each worker that
/// was asked. A rank costs a pointer until then.
template <class Context>
class ordered_contexts {
  public:
    ordered_contexts(rank_t num_ranks, int num_workers)
        : num_workers_(static_cast<std::size_t>(num_workers)),
          queues_(static_cast<std::size_t>(num_ranks) * num_workers_) {}

    context_queue<Context>& of(worker_id to) {
        return queues_[static_cast<std::size_t>(to.rank) * num_workers_ +
                       static_cast<std::size_t>(to.worker)];
    }

  private:
    std::size_t num_workers_;
    std::vector<context_queue<Context>> queues_;  // per rank and worker
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
