/// @file
/// @brief Questions to many workers and their answers, collected on the way.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/stream/pending_contexts.hpp"
#include "crossdock/detail/stream/stream_core_mpi.hpp"
#include "crossdock/stream.hpp"

namespace CROSSDOCK_EXPORT crossdock {

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
    /// @brief Asks a worker. Its reply comes to `on_reply` of this port, with `context`.
    /// @param to       a worker, or a rank for its worker 0
    /// @param context  stays here and does not travel
    /// @par Collective
    /// No. Waits if all buffers are in use, as `back_pressure` says.
    /// @throws error  as `stream_port::push`
    /// @par Complexity
    /// A few instructions without lock or atomic. No allocation once as many requests have been
    /// pending before.
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

    /// @brief Answers and takes what has come, sends what is due, and drives MPI if this thread
    /// may.
    /// @return requests answered and replies taken
    /// @throws error(errc::invalid_state)  called by a handler
    count_t progress() { return worker_->progress(); }

    /// @brief Sends all buffers as they are, or those with requests or replies for `to`.
    void flush() { worker_->flush(); }
    void flush(worker_id to) { worker_->flush(to); }

    /// @brief As `stream_port::drain`: at rest, every request has its reply, and `on_reply` has it.
    [[nodiscard]] stream_drain drain() {
        worker_->start_drain();
        return stream_drain(*worker_);
    }

    worker_id id() const noexcept { return worker_->id(); }

    /// @brief Requests and replies together.
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
    void answer(const stream_arrivals& arrivals, const Answer& handle);
    template <class OnReply>
    void take_replies(const stream_arrivals& arrivals, const OnReply& handle);

    template <class T>
    std::span<const T> separate(const stream_arrivals& arrivals, std::vector<T>& items);
    template <class Run>
    void for_each_source(const stream_arrivals& arrivals, const Run& run) const;

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
/// Requests and replies are the two channels of one stream, collected and sent as those of
/// `stream`; a drain brings both to rest, so handlers may ask more for as long as they like.
///
/// A context is what the asker wants to know when the reply comes, such as where to store it. It
/// stays with its port, and what tells the port which one it is depends on the stream:
///
/// | scheme | route | replies of one worker to one port | with each request and reply travels |
/// |---|---|---|---|
/// | `automatic`, `ww`, `wps`, `wsp` | `direct` | in the order of the requests | nothing |
/// | `pp`, `node` | any | in any order | the number of the context's slot, 4 bytes |
/// | any | any other | in any order | the number of the context's slot, 4 bytes |
///
/// @tparam Context  what is given back with a reply
/// @par Source
/// \cite chandrasekar2024stream runs its index-gather as two streams of items that carry an index.
/// Differs: where order is kept, no index travels.
template <request_item Q, request_item R, request_item Context = std::uint64_t>
class request_stream : public stream_base<request_port<Q, R, Context>> {
  public:
    using port_type = request_port<Q, R, Context>;
    using answer_handler =
        std::function<void(port_type&, std::span<const Q> requests, std::span<R> replies)>;
    using reply_handler =
        std::function<void(port_type&, std::span<const Context>, std::span<const R> replies)>;

    /// @param where      kept; its nodes are the regions of the route
    /// @param answer    called where requests came to; sets each of `replies`, which are as many
    /// and have no value yet
    /// @param on_reply  called at the port that asked, with a reply for each context
    /// @param options   as of a `stream`, without priorities. `ordered` and `with_source` are set
    /// to what the scheme allows. `buffer_items` is the size of the buffers of requests, and of
    /// replies
    ///
    /// The handlers are called by several threads at once if there are several workers.
    /// @par Collective
    /// Yes; may block.
    /// @throws error(errc::invalid_argument)  an option is out of range or differs between ranks,
    /// there are to be two priorities, or MPI was initialised with less thread support than the
    /// options need
    /// @throws error(errc::unknown_route), error(errc::invalid_route), error(errc::out_of_memory)
    request_stream(const context& where, answer_handler answer, reply_handler on_reply,
                   const stream_options& options = {})
        : base(where, completed(where, options), channels),
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

    static stream_options completed(const context& where, stream_options options);
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

template <request_item Q, request_item R, request_item Context>
template <class Answer>
void request_port<Q, R, Context>::answer(const stream_arrivals& arrivals, const Answer& handle) {
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

template <request_item Q, request_item R, request_item Context>
template <class OnReply>
void request_port<Q, R, Context>::take_replies(const stream_arrivals& arrivals,
                                               const OnReply& handle) {
    const std::span<const R> replies = separate(arrivals, replies_);
    // Copies: the handler may ask more, which changes where contexts are kept.
    const std::span<Context> contexts = room(contexts_, arrivals.num_items);
    if (is_ordered_) {
        for_each_source(arrivals, [&](worker_id asked, std::size_t first, std::size_t count) {
            ordered_.of(asked).pop(contexts.subspan(first, count));
        });
    } else {
        for (std::size_t i = 0; i < contexts.size(); ++i) contexts[i] = numbered_.take(slots_[i]);
    }
    handle(*this, std::span<const Context>(contexts), replies);
}

// The items that came without their slots, which go to `slots_`.
template <request_item Q, request_item R, request_item Context>
template <class T>
std::span<const T> request_port<Q, R, Context>::separate(const stream_arrivals& arrivals,
                                                         std::vector<T>& items) {
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
template <request_item Q, request_item R, request_item Context>
template <class Run>
void request_port<Q, R, Context>::for_each_source(const stream_arrivals& arrivals,
                                                  const Run& run) const {
    const auto worker_of = [this](std::uint32_t number) {
        return worker_id{static_cast<rank_t>(number / num_workers_),
                         static_cast<int>(number % num_workers_)};
    };
    const auto num_items = static_cast<std::size_t>(arrivals.num_items);
    if (arrivals.sources == nullptr) {
        run(worker_of(arrivals.source), 0, num_items);
        return;
    }
    for (std::size_t first = 0, end = 0; first < num_items; first = end) {
        const std::uint32_t source = arrivals.sources[first];
        while (end < num_items && arrivals.sources[end] == source) ++end;
        run(worker_of(source), first, end - first);
    }
}

template <request_item Q, request_item R, request_item Context>
stream_options request_stream<Q, R, Context>::completed(const context& where,
                                                        stream_options options) {
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

}  // namespace crossdock
