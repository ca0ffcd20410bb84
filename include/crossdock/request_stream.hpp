/// @file
/// @brief Questions to many workers and their answers, collected on the way.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/stream/stream_core_mpi.hpp"
#include "crossdock/stream.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A queue, first in, first out, in one array. The array is kept when the queue is empty, and becomes larger
/// when more than half of it is in use.
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

/// @brief Of one port whose replies come in the order of its requests: a ring for each worker that was asked. A rank
/// costs a pointer until then.
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

/// @brief What may be requested, replied, or remembered in between.
template <class T>
concept request_item = std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>;

template <request_item Q, request_item R, request_item Context>
class request_stream;

/// @brief One worker's end of a stream of requests: asks, answers, and takes replies.
///
/// States and threads are those of `stream_port`. Both handlers may ask more.
template <request_item Q, request_item R, request_item Context = std::uint64_t>
class alignas(64) request_port {  // a line of memory for itself: ports belong to different threads
  public:
    /// @brief Asks a worker. Its reply comes to `on_reply` of this port, with `context`. Waits and throws as
    /// `stream_port::push`.
    /// @param to       a worker, or a rank for its worker 0
    /// @param context  stays here and does not travel
    /// @par Complexity
    /// A few instructions without lock or atomic. No allocation once as many requests have been pending before.
    [[gnu::always_inline]] void request(worker_id to, const Q& item, const Context& context) {
        // The context comes first: a push that waits has stored its item, and may handle the reply.
        if (is_ordered_) {
            worker_->push_noted(
                requests_channel, to, item, [=, this] { ordered_.of(to).push(context); },
                [=, this] { ordered_.of(to).take_back(); });
        } else {
            request_numbered(to, item, context);
        }
    }
    [[gnu::always_inline]] void request(rank_t to, const Q& item, const Context& context) {
        request(worker_id{to, 0}, item, context);
    }

    // As of `stream_port`, of requests and replies together.
    count_t progress() { return worker_->progress(); }
    void flush() { worker_->flush(); }
    void flush(worker_id to) { worker_->flush(to); }

    /// @brief As `stream_port::drain`: at rest, every request has its reply, and `on_reply` has it.
    [[nodiscard]] stream_drain drain() {
        worker_->start_drain();
        return stream_drain(*worker_);
    }

    worker_id id() const noexcept { return worker_->id(); }
    stream_statistics statistics() const { return worker_->statistics(); }

  private:
    friend class request_stream<Q, R, Context>;

    static constexpr int requests_channel = 0;
    static constexpr int replies_channel = 1;

    // An item and the asker's slot, without a gap between them.
    template <class T>
    struct numbered {
        std::array<std::byte, sizeof(T)> item;
        std::array<std::byte, sizeof(std::uint32_t)> slot;
    };

    template <class T>
    static numbered<T> with_slot(const T& item, std::uint32_t slot) {
        numbered<T> both;
        std::memcpy(both.item.data(), &item, sizeof item);
        std::memcpy(both.slot.data(), &slot, sizeof slot);
        return both;
    }

    request_port(stream_worker& worker, const stream_layout& layout, bool is_ordered)
        : worker_(&worker),
          is_ordered_(is_ordered),
          num_ranks_(static_cast<std::uint32_t>(layout.num_ranks())),
          num_workers_(static_cast<std::uint32_t>(layout.num_workers())),
          ordered_(is_ordered ? layout.num_ranks() : 0, layout.num_workers()) {}

    void request_numbered(worker_id to, const Q& item, const Context& context) {
        const std::uint32_t slot = numbered_.add(context);
        try {
            worker_->push_item(requests_channel, to, with_slot(item, slot));
        } catch (...) {
            numbered_.take(slot);
            throw;
        }
    }

    template <class Answer>
    void answer(const stream_arrivals& arrivals, const Answer& handle) {
        const std::span<const Q> requests = separate(arrivals, requests_);
        const std::span<R> replies = room(replies_, arrivals.num_items);
        handle(*this, requests, replies);

        for_each_source(arrivals, [&](worker_id asker, std::size_t first, std::size_t count) {
            if (is_ordered_) {
                worker_->push_items(replies_channel, asker,
                                    std::span<const R>(replies).subspan(first, count));
                return;
            }
            for (std::size_t i = first; i < first + count; ++i) {
                worker_->push_item(replies_channel, asker, with_slot(replies[i], slots_[i]));
            }
        });
    }
    template <class OnReply>
    void take_replies(const stream_arrivals& arrivals, const OnReply& handle) {
        const std::span<const R> replies = separate(arrivals, replies_);
        // Copies: the handler may ask more, which changes where contexts are kept.
        const std::span<Context> contexts = room(contexts_, arrivals.num_items);
        if (is_ordered_) {
            for_each_source(arrivals, [&](worker_id asked, std::size_t first, std::size_t count) {
                ordered_.of(asked).pop(contexts.subspan(first, count));
            });
        } else {
            for (std::size_t i = 0; i < contexts.size(); ++i)
                contexts[i] = numbered_.take(slots_[i]);
        }
        handle(*this, std::span<const Context>(contexts), replies);
    }

    // The items that came without their slots, which go to `slots_`.
    template <class T>
    std::span<const T> separate(const stream_arrivals& arrivals, std::vector<T>& items) {
        if (is_ordered_) {
            return {reinterpret_cast<const T*>(arrivals.items),
                    static_cast<std::size_t>(arrivals.num_items)};
        }
        const std::span<T> separated = room(items, arrivals.num_items);
        const std::span<std::uint32_t> slots = room(slots_, arrivals.num_items);
        const std::byte* at = arrivals.items;
        for (std::size_t i = 0; i < separated.size(); ++i, at += sizeof(numbered<T>)) {
            std::memcpy(&separated[i], at, sizeof(T));
            std::memcpy(&slots[i], at + sizeof(T), sizeof slots[i]);
        }
        return separated;
    }
    // Calls run(worker, first, count) for neighboring items that one worker pushed.
    template <class Run>
    void for_each_source(const stream_arrivals& arrivals, const Run& run) const {
        const auto num_items = static_cast<std::size_t>(arrivals.num_items);
        if (arrivals.sources == nullptr) {
            run(worker_of(arrivals.source, num_workers_), 0, num_items);
            return;
        }
        for (std::size_t first = 0, end = 0; first < num_items; first = end) {
            const std::uint32_t source = arrivals.sources[first];
            while (end < num_items && arrivals.sources[end] == source) ++end;
            run(worker_of(source, num_workers_), first, end - first);
        }
    }

    // The beginning of an array that keeps its memory.
    template <class T>
    static std::span<T> room(std::vector<T>& kept, count_t length) {
        const auto size = static_cast<std::size_t>(length);
        if (kept.size() < size) kept.resize(size);
        return {kept.data(), size};
    }

    stream_worker* worker_;
    bool is_ordered_;
    std::uint32_t num_ranks_;
    std::uint32_t num_workers_;
    ordered_contexts<Context> ordered_;
    numbered_contexts<Context> numbered_;

    // For the batch at hand.
    std::vector<Q> requests_;
    std::vector<R> replies_;
    std::vector<Context> contexts_;
    std::vector<std::uint32_t> slots_;
};

/// @brief Requests of type Q from any worker to any worker, each with a reply of type R.
///
///     port (0,1)   request((3,0), "which value has entry 7?", context)
///     port (3,0)   answer: {7, ...} -> {0.5, ...}
///     port (0,1)   on_reply: {context, ...}, {0.5, ...}
///
/// Requests and replies are the two channels of one stream, collected and sent as those of `stream`; a drain brings
/// both to rest, so handlers may ask more for as long as they like.
///
/// A context is what the asker wants to know when the reply comes, such as where to store it. It stays with its port,
/// and what tells the port which one it is depends on the stream:
///
/// | scheme | route | replies of one worker to one port | with each request and reply travels |
/// |---|---|---|---|
/// | `automatic`, `ww`, `wps`, `wsp` | `direct` | in the order of the requests | nothing |
/// | `pp`, `node` | any | in any order | the number of the context's slot, 4 bytes |
/// | any | any other | in any order | the number of the context's slot, 4 bytes |
///
/// @tparam Context  what is given back with a reply
/// @par Source
/// \cite chandrasekar2024stream runs its index-gather as two streams of items that carry an index. Differs: where order
/// is kept, no index travels.
template <request_item Q, request_item R, request_item Context = std::uint64_t>
class request_stream : public stream_base<request_port<Q, R, Context>> {
  public:
    using port_type = request_port<Q, R, Context>;
    using answer_handler =
        std::function<void(port_type&, std::span<const Q> requests, std::span<R> replies)>;
    using reply_handler =
        std::function<void(port_type&, std::span<const Context>, std::span<const R> replies)>;

    /// @param where     kept; its nodes are the regions of the route
    /// @param answer    called where requests came to; sets each of `replies`, which are as many and have no value yet
    /// @param on_reply  called at the port that asked, with a reply for each context; as `answer` by several threads at
    /// once if there are several workers
    /// @param options   as of a `stream`, without priorities. `ordered` and `with_source` are set to what the scheme
    /// allows. `buffer_items` is the size of the buffers of requests, and of replies
    /// @par Collective
    /// Yes; may block.
    /// @throws error(errc::invalid_argument)  there are to be two priorities
    /// @throws as the constructor of `stream`
    request_stream(const context& where, answer_handler answer, reply_handler on_reply,
                   const stream_options& options = {},
                   const std::source_location& place = std::source_location::current())
        : base(where, completed(where, options), channels, place),
          answer_(std::move(answer)),
          on_reply_(std::move(on_reply)) {
        base::make_ports([this](stream_worker& worker) {
            return port_type(worker, base::layout(), is_ordered());
        });
    }

    /// @brief Whether the replies of one worker come to a port in the order of its requests.
    bool is_ordered() const noexcept { return base::options().ordered; }

  private:
    using base = stream_base<request_port<Q, R, Context>>;

    void handle(stream_worker& worker, const stream_arrivals& arrivals) override {
        port_type& port = base::port(worker.id().worker);
        if (arrivals.channel == port_type::requests_channel) {
            port.answer(arrivals, answer_);
        } else {
            port.take_replies(arrivals, on_reply_);
        }
    }
    // Items do not combine: each wants a reply of its own.
    std::uint64_t key(const std::byte*) const override { return 0; }
    void combine(std::byte*, const std::byte*) const override {}

    static constexpr std::size_t slot_bytes = sizeof(std::uint32_t);

    static stream_options completed(const context& where, stream_options options) {
        on_all_or_none(where.comm(), [&] {
            if (options.priorities != 1)
                throw error(errc::invalid_argument,
                            "priorities is " + std::to_string(options.priorities) +
                                ", but a stream of requests has one; leave the option at 1");
        });
        // Of ordered items, `automatic` shares no buffers.
        options.route = stream_route(where, options.route);
        options.ordered = options.route == "direct" && !fills_together(options.scheme);
        options.with_source = true;
        return options;
    }
    static std::array<stream_channel, 2> channels(const stream_options& options) {
        const std::size_t more = options.ordered ? 0 : slot_bytes;
        const auto channel = [&](std::size_t item_bytes) {
            return stream_channel{item_bytes, buffer_capacity(options, item_bytes)};
        };
        return {channel(sizeof(Q) + more), channel(sizeof(R) + more)};
    }

    answer_handler answer_;
    reply_handler on_reply_;
};

}  // namespace crossdock
