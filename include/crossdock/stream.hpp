/// @file
/// @brief A continuous flow of small items from many threads to many others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/stream/stream_core_mpi.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief To be specialised for types that are not trivially copyable; here for strings and vectors.
///
/// | member | gives |
/// |---|---|
/// | `num_bytes(item)` | the bytes that `write` needs |
/// | `write(item, to)` | writes them to `std::byte* to`, which may be null if they are none |
/// | `read(bytes)` | the item, from `std::span<const std::byte>` of that size |
template <class T>
struct stream_codec;

template <>
struct stream_codec<std::string> {
    static std::size_t num_bytes(const std::string& item) { return item.size(); }
    static void write(const std::string& item, std::byte* to) {
        if (!item.empty()) std::memcpy(to, item.data(), item.size());
    }
    static std::string read(std::span<const std::byte> bytes) {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
};

template <class Value>
requires std::is_trivially_copyable_v<Value>
struct stream_codec<std::vector<Value>> {
    static std::size_t num_bytes(const std::vector<Value>& item) {
        return item.size() * sizeof(Value);
    }
    static void write(const std::vector<Value>& item, std::byte* to) {
        if (!item.empty()) std::memcpy(to, item.data(), num_bytes(item));
    }
    static std::vector<Value> read(std::span<const std::byte> bytes) {
        std::vector<Value> item(bytes.size() / sizeof(Value));
        if (!item.empty()) std::memcpy(item.data(), bytes.data(), bytes.size());
        return item;
    }
};

/// @brief Items that came together to one worker.
template <class T>
class stream_batch {
  public:
    stream_batch(std::span<const T> items, const stream_arrivals& arrivals, int num_workers)
        : items_(items), arrivals_(&arrivals), num_workers_(num_workers) {}

    std::span<const T> items() const noexcept { return items_; }
    operator std::span<const T>() const noexcept { return items_; }
    auto begin() const noexcept { return items_.begin(); }
    auto end() const noexcept { return items_.end(); }
    std::size_t size() const noexcept { return items_.size(); }
    const T& operator[](std::size_t i) const { return items_[i]; }

    /// @brief Who pushed item `i`. Only with the option `with_source`. Of items that have combined: who pushed the one
    /// that had waited in the buffer, which is the first argument of the combining function.
    worker_id source(std::size_t i) const noexcept {
        const std::uint32_t number =
            arrivals_->sources != nullptr ? arrivals_->sources[i] : arrivals_->source;
        return worker_of(number, static_cast<std::uint32_t>(num_workers_));
    }

  private:
    std::span<const T> items_;
    const stream_arrivals* arrivals_;
    int num_workers_;
};

/// @brief Items do not combine.
struct keep_all {};

/// @brief Items of one key and one destination become one, at the source and at every hop.
/// @tparam KeyOf    `std::uint64_t(const T&)`
/// @tparam Combine  `void(T& into, const T& item)`; any order and grouping of items may happen
template <class KeyOf, class Combine>
struct combine_by_key {
    [[no_unique_address]] KeyOf key_of;
    [[no_unique_address]] Combine combine;
};
template <class KeyOf, class Combine>
combine_by_key(KeyOf, Combine) -> combine_by_key<KeyOf, Combine>;

/// @brief A drain under way; see `stream_port::drain`.
class stream_drain {
  public:
    explicit stream_drain(stream_worker& worker) : worker_(&worker) {}

    /// @brief Makes progress; true once everything is at rest.
    /// @throws error  as `wait()`
    [[nodiscard]] bool test() {
        if (worker_ != nullptr && worker_->test_drain()) worker_ = nullptr;
        return worker_ == nullptr;
    }

    /// @brief Makes progress until everything is at rest, and yields the core in between.
    ///
    /// Other drains that this thread has begun make progress, too, and their handlers run, so that ranks may wait for
    /// the drains of several streams in different orders.
    /// @throws  the first exception that a handler of this worker has thrown, or, if only handlers of other workers
    /// have, error(errc::handler_failed) with the highest rank of theirs. All workers of all ranks throw.
    void wait() {
        while (!test()) std::this_thread::yield();
    }

  private:
    stream_worker* worker_;
};

template <class T, class Combine>
class stream;

/// @brief One worker's end of a stream: pushes items, and handles those that come.
///
/// | state | legal calls outside handlers | next |
/// |---|---|---|
/// | open | all | draining by `drain()`, closed by the stream's `close()` |
/// | draining | `progress()`, the drain's `test()` and `wait()`, `statistics()` | open at its end |
/// | closed | `statistics()` | |
///
/// Handlers run inside `progress()`, a drain's `test()` and `wait()`, and, with `back_pressure::progress`, inside a
/// push that has filled a buffer, on the thread that calls them. They may push, to their own worker too, and never
/// wait: buffers beyond the bound are taken.
///
/// @par Thread safety
/// One thread at a time to a port; any number of ports at once. The thread that begins a drain also tests it or waits
/// for it.
template <class T, class Combine = keep_all>
class stream_port {
  public:
    /// @brief Appends an item to the buffer for `to`. The buffer is sent when it is full, or for one of the other
    /// reasons in `flush_cause`. Waits if all buffers are in use, as `back_pressure` says.
    /// @param to    a worker, or a rank for its worker 0
    /// @throws error(errc::rank_out_of_range)  there is no such worker
    /// @throws error(errc::invalid_state)   outside handlers during a drain or after `close()`; or no buffer is free,
    /// with `back_pressure::fail`
    /// @throws error(errc::size_mismatch)   an item with a codec does not fit into a buffer: it takes 16 bytes and its
    /// own, rounded up to a multiple of 8
    /// @throws error(errc::handler_failed)  a handler has thrown somewhere: the stream has ended
    /// @par Complexity
    /// A few instructions without lock or atomic.
    void push(worker_id to, const T& item) { push_on(0, to, item); }
    void push(rank_t to, const T& item) { push_on(0, {to, 0}, item); }

    /// @brief As `push`, with the urgent priority: sent at the next `progress()`, and handled first.
    /// @throws error(errc::invalid_argument)  the stream has one priority
    void push_urgent(worker_id to, const T& item) {
        require_priorities();
        push_on(1, to, item);
    }

    /// @brief As `push`, but does nothing and returns false where that would have to wait.
    [[nodiscard]] bool try_push(worker_id to, const T& item) {
        if (!worker_->has_room(0, to)) return false;
        push_on(0, to, item);
        return true;
    }

    /// @brief Handles what has come, sends what is due, and drives MPI if this thread may.
    /// @return items handled
    /// @throws error(errc::invalid_state)  called by a handler, or after `close()`
    count_t progress() { return worker_->progress(); }

    /// @brief Sends all buffers as they are, or those with items for `to`.
    void flush() { worker_->flush(); }
    void flush(worker_id to) { worker_->flush(to); }

    /// @brief From now on the buffer for `to` is full with so many items, so that a worker that is sent few items gets
    /// them sooner. Sends what the buffer holds. With some routes and schemes the buffer is for other workers as well.
    /// @param num_items  at most what the options' `buffer_items` says
    /// @throws error(errc::rank_out_of_range)  there is no such worker
    /// @throws error(errc::invalid_argument)   the number is out of range, or the buffer is filled by several workers
    /// (`pp`, `node`) or holds items of any size
    void set_buffer_items(worker_id to, count_t num_items) {
        worker_->set_buffer_items(to, num_items);
    }

    /// @brief Begins to bring the stream to rest. Every port of every rank must call it; it does not wait. From then on
    /// only handlers may push, until all items are handled, those that handlers push included.
    ///
    /// When the drain has ended, the port may push again. So drains divide a stream into phases, and no item of a phase
    /// is handled before the port's drain of the phase before has ended.
    /// @throws error(errc::invalid_state)  draining or closed already, or called by a handler
    [[nodiscard]] stream_drain drain() {
        worker_->start_drain();
        return stream_drain(*worker_);
    }

    worker_id id() const noexcept { return worker_->id(); }
    stream_statistics statistics() const { return worker_->statistics(); }

  private:
    friend class stream<T, Combine>;
    stream_port(stream_worker& worker, const Combine& combine, int num_priorities)
        : worker_(&worker), combine_(&combine), num_priorities_(num_priorities) {}

    void push_on(int priority, worker_id to, const T& item) {
        if constexpr (!std::is_trivially_copyable_v<T>) {
            bytes_.resize(stream_codec<T>::num_bytes(item));
            stream_codec<T>::write(item, bytes_.data());
            worker_->push_record(priority, to, bytes_.data(), bytes_.size());
        } else if constexpr (std::is_same_v<Combine, keep_all>) {
            worker_->push_item(priority, to, item);
        } else {
            const auto key_of = [this](const std::byte* waiting) {
                T other;
                std::memcpy(&other, waiting, sizeof(T));
                return static_cast<std::uint64_t>(combine_->key_of(other));
            };
            const auto combine = [this, &item](std::byte* waiting) {
                T both;
                std::memcpy(&both, waiting, sizeof(T));
                combine_->combine(both, item);
                std::memcpy(waiting, &both, sizeof(T));
            };
            worker_->push_combining(priority, to, item,
                                    static_cast<std::uint64_t>(combine_->key_of(item)), key_of,
                                    combine);
        }
    }
    void require_priorities() const {
        if (num_priorities_ < 2) {
            throw error(errc::invalid_argument, "an urgent item needs the option priorities = 2");
        }
    }

    stream_worker* worker_;
    const Combine* combine_;
    int num_priorities_;
    std::vector<std::byte> bytes_;  // of an item with a codec
};

/// @brief What streams of items and of requests have in common: a port for each worker.
template <class Port>
class stream_base : private stream_sink {
  public:
    stream_base(const stream_base&) = delete;
    stream_base& operator=(const stream_base&) = delete;

    int num_workers() const noexcept { return core_.num_workers(); }

    /// @throws error(errc::index_out_of_range)  there is no such worker
    Port& port(int worker = 0) {
        core_.worker(worker);
        return ports_[static_cast<std::size_t>(worker)];
    }

    /// @brief The scheme in use, never `automatic`.
    stream_scheme scheme() const noexcept { return core_.scheme(); }
    const stream_layout& layout() const noexcept { return core_.layout(); }

    /// @brief Drives MPI if this thread may. Handles nothing. A communication thread of the user's calls it again and
    /// again.
    void drive() { core_.drive(); }

    /// @brief Ends the stream.
    /// @par Collective
    /// Yes; may block. No port may be in use.
    /// @throws error(errc::invalid_state)  items have been pushed since the last drain, on any rank
    void close() { core_.close(); }
    bool is_open() const noexcept { return core_.is_open(); }

    /// @brief Of all ports of this process. Call while none of them is at work.
    stream_statistics statistics() const { return core_.statistics(); }

  protected:
    /// @brief With the channels that `channels_of(options)` returns. The core is made before the derived class and ends
    /// after it: it calls its sink only from a port.
    template <class ChannelsOf>
    stream_base(const context& where, const stream_options& options, ChannelsOf&& channels_of,
                const std::source_location& place)
        : options_(with_reserve([&] { return options; })),
          core_(where, with_reserve([&] { return channels_of(options_); }), *this, options_,
                place) {}
    ~stream_base() override = default;

    template <class MakePort>
    void make_ports(MakePort&& make) {
        for (int w = 0; w < num_workers(); ++w)
            with_reserve([&] { ports_.push_back(make(core_.worker(w))); });
    }
    const stream_options& options() const noexcept { return options_; }

  private:
    stream_options options_;
    stream_core core_;
    std::vector<Port> ports_;
};

/// @brief Sends small items of type T from any worker to any worker, many in one message.
///
/// Each process has `options.workers` workers, each worker a port, and each port belongs to one thread at a time. Items
/// for workers that share memory are never sent by MPI.
///
///     4 ranks, 2 workers each:  port (0,1) pushes to (3,0)   the handler runs at port (3,0)
///
/// | thread support of MPI | who drives MPI |
/// |---|---|
/// | MPI_THREAD_SINGLE | the only worker |
/// | MPI_THREAD_FUNNELED | the main thread, in a port's `progress()` or the stream's `drive()` |
/// | MPI_THREAD_SERIALIZED or _MULTIPLE | whichever worker comes first, or the progress thread |
///
/// With MPI_THREAD_SERIALIZED the user must not call MPI while workers push. With the option `communication_thread` no
/// worker does: only the progress thread, or who calls the stream's `drive()`.
///
/// @tparam T        trivially copyable, or with a `stream_codec`
/// @tparam Combine  `keep_all` or `combine_by_key`; for trivially copyable T
/// @par Source
/// \cite chandrasekar2024stream. Differs: workers that share memory hand buffers over in place, also between processes;
/// any route may lie between processes; and what else `docs/stream.md` lists.
template <class T, class Combine = keep_all>
class stream : public stream_base<stream_port<T, Combine>> {
    static constexpr bool has_codec = !std::is_trivially_copyable_v<T>;
    static constexpr bool combines = !std::is_same_v<Combine, keep_all>;
    static_assert(!(has_codec && combines), "items with a codec do not combine");
    static_assert(has_codec || alignof(T) <= 64, "buffers are aligned to 64 bytes");

  public:
    using port_type = stream_port<T, Combine>;
    using handler = std::function<void(port_type&, const stream_batch<T>&)>;

    /// @param where    kept; its nodes are the regions of the route
    /// @param handle   called with every batch that comes, at the port it came to; by several threads at once if there
    /// are several workers
    /// @param options  equal on all ranks but for `pressure`
    /// @param combine  equal on all ranks
    /// @par Collective
    /// Yes; may block.
    /// @throws error(errc::invalid_argument)  an option is out of range or differs between ranks, or MPI was
    /// initialised with less thread support than the options need
    /// @throws error(errc::unknown_route), error(errc::invalid_route), error(errc::out_of_memory)
    stream(const context& where, handler handle, const stream_options& options = {},
           Combine combine = {},
           const std::source_location& place = std::source_location::current())
        : base(where, options, channels, place),
          handle_(std::move(handle)),
          combine_(std::move(combine)),
          decoded_(with_reserve(
              [&] { return decltype(decoded_)(static_cast<std::size_t>(options.workers)); })) {
        base::make_ports(
            [&](stream_worker& worker) { return port_type(worker, combine_, options.priorities); });
    }

  private:
    using base = stream_base<stream_port<T, Combine>>;

    void handle(stream_worker& worker, const stream_arrivals& arrivals) override {
        port_type& port = this->port(worker.id().worker);
        if constexpr (has_codec) {
            std::vector<T>& items = decoded_[static_cast<std::size_t>(worker.id().worker)];
            items.clear();
            const std::byte* at = arrivals.items;
            for (count_t i = 0; i < arrivals.num_items; ++i) {
                stream_record record;
                std::memcpy(&record, at, sizeof record);
                items.push_back(stream_codec<T>::read({at + sizeof record, record.num_bytes}));
                at += stream_record::room(record.num_bytes);
            }
            handle_(port, stream_batch<T>(items, arrivals, base::num_workers()));
        } else {
            const std::span<const T> items(reinterpret_cast<const T*>(arrivals.items),
                                           static_cast<std::size_t>(arrivals.num_items));
            handle_(port, stream_batch<T>(items, arrivals, base::num_workers()));
        }
    }
    std::uint64_t key(const std::byte* item) const override {
        if constexpr (combines) {
            T value;
            std::memcpy(&value, item, sizeof(T));
            return static_cast<std::uint64_t>(combine_.key_of(value));
        }
        return 0;
    }
    void combine(std::byte* into, const std::byte* item) const override {
        if constexpr (combines) {
            T both;
            T value;
            std::memcpy(&both, into, sizeof(T));
            std::memcpy(&value, item, sizeof(T));
            combine_.combine(both, value);
            std::memcpy(into, &both, sizeof(T));
        }
    }

    static std::vector<stream_channel> channels(const stream_options& options) {
        constexpr std::size_t item_bytes = has_codec ? 0 : sizeof(T);
        const stream_channel priority{item_bytes, buffer_capacity(options, item_bytes), false,
                                      combines};
        std::vector<stream_channel> result(options.priorities == 2 ? 2 : 1, priority);
        if (options.priorities == 2) result[1].is_urgent = true;
        return result;
    }

    handler handle_;
    Combine combine_;
    std::vector<std::vector<T>> decoded_;  // per worker, of items with a codec
};

}  // namespace crossdock
