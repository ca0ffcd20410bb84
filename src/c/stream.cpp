#include <fmt/format.h>

#include <array>
#include <deque>
#include <thread>

#include "crossdock/detail/stream/stream_core_mpi.hpp"
#include "handles.hpp"

using crossdock::back_pressure;
using crossdock::count_t;
using crossdock::errc;
using crossdock::error;
using crossdock::stream_arrivals;
using crossdock::stream_core;
using crossdock::stream_options;
using crossdock::stream_statistics;
using crossdock::stream_worker;
using crossdock::worker_id;

namespace {

// What the caller has of the items: their size and what is done with them.
struct item_calls {
    std::size_t num_bytes;
    crossdock_stream_handler handler;
    void* user;
    crossdock_stream_key key;
    crossdock_combine combine;
};

class calling_sink final : public crossdock::stream_sink {
  public:
    calling_sink(crossdock_stream& owner, const item_calls& calls)
        : owner_(&owner), calls_(calls) {}

    const item_calls& calls() const noexcept { return calls_; }

    void handle(stream_worker& worker, const stream_arrivals& arrivals) override;
    std::uint64_t key(const std::byte* item) const override {
        return calls_.key(calls_.user, item);
    }
    void combine(std::byte* into, const std::byte* item) const override {
        calls_.combine(calls_.user, into, item);
    }

  private:
    crossdock_stream* owner_;
    item_calls calls_;
};

}  // namespace

struct crossdock_stream_port {
    stream_worker* worker;
    const item_calls* calls;
    int num_workers;
    bool has_priorities;
    bool has_sources;
    crossdock::c::error_site errors;
    const stream_arrivals* at_hand = nullptr;  // while a handler runs

    void push(int priority, worker_id to, const void* item) const {
        if (calls->combine != nullptr) {
            push_combining(priority, to, item);
        } else if (calls->num_bytes == 8) {
            push_of_size<8>(priority, to, item);
        } else if (calls->num_bytes == 16) {
            push_of_size<16>(priority, to, item);
        } else {
            worker->push_bytes(priority, to, item, calls->num_bytes);
        }
    }

    void require_priorities() const {
        if (!has_priorities)
            throw error(errc::invalid_argument, "an urgent item needs the option priorities = 2");
    }

    worker_id source(count_t item) const;

  private:
    // The compiler copies items of a known size faster.
    template <std::size_t Size>
    void push_of_size(int priority, worker_id to, const void* item) const {
        std::array<std::byte, Size> copy;
        std::memcpy(copy.data(), item, Size);
        worker->push_item(priority, to, copy);
    }

    void push_combining(int priority, worker_id to, const void* item) const {
        worker->push_combining_bytes(
            priority, to, item, calls->num_bytes, calls->key(calls->user, item),
            [this](const std::byte* waiting) { return calls->key(calls->user, waiting); },
            [this, item](std::byte* waiting) { calls->combine(calls->user, waiting, item); });
    }
};

struct crossdock_stream {
    crossdock_stream(const crossdock_context& where, const item_calls& calls,
                     const stream_options& options)
        : sink(*this, calls),
          value(where.value, channels(calls, options), sink, options),
          errors(where.errors) {
        for (int w = 0; w < value.num_workers(); ++w) {
            crossdock::with_reserve([&] {
                ports.push_back({&value.worker(w), &sink.calls(), options.workers,
                                 options.priorities == 2, options.with_source, errors});
            });
        }
    }

    static std::vector<crossdock::stream_channel> channels(const item_calls& calls,
                                                           const stream_options& options) {
        const bool combines = calls.combine != nullptr;
        const count_t capacity = crossdock::buffer_capacity(options, calls.num_bytes);
        std::vector<crossdock::stream_channel> priorities{
            {calls.num_bytes, capacity, false, combines}};
        if (options.priorities == 2)
            priorities.push_back({calls.num_bytes, capacity, true, combines});
        return priorities;
    }

    // Nothing but `value` waits for others; what may lack memory comes before it.
    std::deque<crossdock_stream_port> ports;
    calling_sink sink;
    stream_core value;
    crossdock::c::error_site errors;
};

namespace {

void calling_sink::handle(stream_worker& worker, const stream_arrivals& arrivals) {
    const worker_id id = worker.id();
    crossdock_stream_port& port = owner_->ports[static_cast<std::size_t>(id.worker)];
    port.at_hand = &arrivals;
    const int answer = calls_.handler(calls_.user, &port, arrivals.items, arrivals.num_items);
    port.at_hand = nullptr;
    if (answer == 0) return;
    throw error(errc::handler_failed,
                fmt::format("the handler of worker {} of rank {} has returned {}", id.worker,
                            id.rank, answer),
                id.rank);
}

stream_options options_from(const crossdock_stream_options& given) {
    stream_options options;
    options.workers = given.workers;
    if (given.scheme != nullptr)
        options.scheme = crossdock::stream_scheme_from_string(given.scheme);
    if (given.route != nullptr) options.route = given.route;
    options.buffer_items = given.buffer_items;
    options.max_buffers = given.max_buffers;
    options.priorities = given.priorities;
    options.flush_on_idle = given.flush_on_idle != 0;
    if (given.max_age_seconds != -1) options.max_age_seconds = given.max_age_seconds;
    options.pressure = crossdock::c::checked_enum<back_pressure>(
        given.pressure, CROSSDOCK_PRESSURE_FAIL + 1, "pressure");
    options.ordered = given.ordered != 0;
    options.with_source = given.with_source != 0;
    options.shared_memory = given.shared_memory != 0;
    options.progress_thread = given.progress_thread != 0;
    options.communication_thread = given.communication_thread != 0;
    options.latency_sample_interval = given.latency_sample_interval;
    if (given.name != nullptr) options.name = given.name;
    return options;
}

void check_calls(const item_calls& calls) {
    if (calls.num_bytes == 0)
        throw error(errc::invalid_argument, "item_bytes is 0; the minimum is 1");
    if (calls.handler == nullptr) throw error(errc::invalid_argument, "handler is a null pointer");
    if ((calls.key == nullptr) != (calls.combine == nullptr))
        throw error(errc::invalid_argument,
                    std::string("items that combine need both key and combine, but ") +
                        (calls.key == nullptr ? "key" : "combine") + " is a null pointer");
}

void require_both(const void* port, const void* item) {
    if (port != nullptr && item != nullptr) [[likely]]
        return;
    crossdock::c::require(port, "port");
    crossdock::c::require(item, "item");
}

void copy_counts(const stream_statistics& from, crossdock_stream_counts& to) {
    to = {.items = from.items,
          .combined = from.combined,
          .handled = from.handled,
          .forwarded = from.forwarded,
          .hops = from.hops,
          .messages = from.messages,
          .mpi_messages = from.mpi_messages,
          .mpi_bytes = from.mpi_bytes,
          .message_items = from.message_items,
          .messages_by_cause = {},
          .overflow_buffers = from.overflow_buffers,
          .waits = from.waits,
          .peak_buffers = from.peak_buffers,
          .latency_samples = from.latency.count(),
          .latency_median_seconds = from.latency.quantile_seconds(0.5),
          .latency_p99_seconds = from.latency.quantile_seconds(0.99),
          .latency_max_seconds = from.latency.max_seconds()};
    std::copy(from.messages_by_cause.begin(), from.messages_by_cause.end(), to.messages_by_cause);
}

}  // namespace

worker_id crossdock_stream_port::source(count_t item) const {
    if (at_hand == nullptr)
        throw error(errc::invalid_state, "no batch is at hand; ask for sources inside the handler");
    if (!has_sources)
        throw error(
            errc::invalid_state,
            "the sources of items are not known; make the stream with the option with_source");
    if (item < 0 || item >= at_hand->num_items)
        throw error(errc::index_out_of_range,
                    fmt::format("item {} is outside [0, {})", item, at_hand->num_items));
    const std::uint32_t number =
        at_hand->sources == nullptr ? at_hand->source : at_hand->sources[item];
    return crossdock::worker_of(number, static_cast<std::uint32_t>(num_workers));
}

using namespace crossdock::c;

namespace {

template <class Part>
crossdock_status with_worker(crossdock_stream_port* port, Part&& part) {
    return guarded(port, [&] {
        require(port, "port");
        part(*port->worker);
    });
}

template <class Query>
void give_worker(int* rank, int* worker, Query&& query) {
    require(rank, "rank");
    require(worker, "worker");
    const worker_id found = query();
    *rank = found.rank;
    *worker = found.worker;
}

}  // namespace

crossdock_status crossdock_stream_create(const crossdock_context* context, size_t item_bytes,
                                         crossdock_stream_handler handler, void* user,
                                         const crossdock_stream_options* options,
                                         crossdock_stream** result) {
    return guarded(context, [&] {
        const auto& where = value_of(context, "context");
        const auto given = crossdock::on_all_or_none(where.comm(), [&] {
            return known_options<crossdock_stream_options>(options, CROSSDOCK_STREAM_OPTIONS_INIT);
        });
        const item_calls calls{item_bytes, handler, user, given.key, given.combine};
        const stream_options chosen = crossdock::on_all_or_none(where.comm(), [&] {
            require(result, "result");
            check_calls(calls);
            return options_from(given);
        });
        give(result, *context, calls, chosen);
    });
}

crossdock_status crossdock_stream_get_port(crossdock_stream* stream, int worker,
                                           crossdock_stream_port** result) {
    return guarded(stream, [&] {
        value_of(stream, "stream").worker(worker);
        require(result, "result");
        *result = &stream->ports[static_cast<std::size_t>(worker)];
    });
}

crossdock_status crossdock_stream_scheme(const crossdock_stream* stream, const char** scheme) {
    return guarded(stream, [&] {
        require(scheme, "scheme");
        *scheme = to_string(value_of(stream, "stream").scheme());
    });
}

crossdock_status crossdock_stream_drive(crossdock_stream* stream) {
    return guarded(stream, [&] { value_of(stream, "stream").drive(); });
}

crossdock_status crossdock_stream_port_push(crossdock_stream_port* port, int rank, int worker,
                                            const void* item) {
    return guarded(port, [&] {
        require_both(port, item);
        port->push(0, {rank, worker}, item);
    });
}

crossdock_status crossdock_stream_port_try_push(crossdock_stream_port* port, int rank, int worker,
                                                const void* item, int* is_pushed) {
    return guarded(port, [&] {
        require_both(port, item);
        require(is_pushed, "is_pushed");
        const worker_id to{rank, worker};
        const bool has_room = port->worker->has_room(0, to);
        if (has_room) port->push(0, to, item);
        *is_pushed = has_room;
    });
}

crossdock_status crossdock_stream_port_push_urgent(crossdock_stream_port* port, int rank,
                                                   int worker, const void* item) {
    return guarded(port, [&] {
        require_both(port, item);
        port->require_priorities();
        port->push(1, {rank, worker}, item);
    });
}

crossdock_status crossdock_stream_port_check_item(const crossdock_stream_port* port,
                                                  size_t item_bytes) {
    if (port != nullptr && item_bytes == port->calls->num_bytes) [[likely]]
        return CROSSDOCK_SUCCESS;
    return guarded(port, [&] {
        require(port, "port");
        throw error(errc::size_mismatch,
                    fmt::format("an item has {} bytes, but items of the stream have {}", item_bytes,
                                port->calls->num_bytes));
    });
}

crossdock_status crossdock_stream_port_progress(crossdock_stream_port* port, int64_t* num_handled) {
    return guarded(port, [&] {
        require(port, "port");
        const count_t handled = port->worker->progress();
        if (num_handled != nullptr) *num_handled = handled;
    });
}

crossdock_status crossdock_stream_port_flush(crossdock_stream_port* port) {
    return with_worker(port, [&](stream_worker& worker) { worker.flush(); });
}

crossdock_status crossdock_stream_port_flush_to(crossdock_stream_port* port, int rank, int worker) {
    return with_worker(port, [&](stream_worker& from) { from.flush({rank, worker}); });
}

crossdock_status crossdock_stream_port_set_buffer_items(crossdock_stream_port* port, int rank,
                                                        int worker, int64_t num_items) {
    return with_worker(port, [&](stream_worker& from) {
        from.set_buffer_items({rank, worker}, num_items);
    });
}

crossdock_status crossdock_stream_port_start_drain(crossdock_stream_port* port) {
    return with_worker(port, [&](stream_worker& worker) { worker.start_drain(); });
}

crossdock_status crossdock_stream_port_test_drain(crossdock_stream_port* port, int* is_at_rest) {
    return give_number(port, is_at_rest, [&] {
        require(port, "port");
        return port->worker->test_drain();
    });
}

crossdock_status crossdock_stream_port_wait_drain(crossdock_stream_port* port) {
    return guarded(port, [&] {
        require(port, "port");
        while (!port->worker->test_drain()) std::this_thread::yield();
    });
}

crossdock_status crossdock_stream_port_id(const crossdock_stream_port* port, int* rank,
                                          int* worker) {
    return guarded(port, [&] {
        require(port, "port");
        give_worker(rank, worker, [&] { return port->worker->id(); });
    });
}

crossdock_status crossdock_stream_port_source(const crossdock_stream_port* port, int64_t item,
                                              int* rank, int* worker) {
    return guarded(port, [&] {
        require(port, "port");
        give_worker(rank, worker, [&] { return port->source(item); });
    });
}

crossdock_status crossdock_stream_port_statistics(const crossdock_stream_port* port,
                                                  crossdock_stream_counts* counts) {
    return guarded(port, [&] {
        require(port, "port");
        require(counts, "counts");
        copy_counts(port->worker->statistics(), *counts);
    });
}

crossdock_status crossdock_stream_statistics(const crossdock_stream* stream,
                                             crossdock_stream_counts* counts) {
    return guarded(stream, [&] {
        require(stream, "stream");
        require(counts, "counts");
        copy_counts(stream->value.statistics(), *counts);
    });
}

crossdock_status crossdock_stream_close(crossdock_stream* stream) {
    return guarded(stream, [&] { value_of(stream, "stream").close(); });
}

crossdock_status crossdock_stream_free(crossdock_stream* stream) {
    return release_finished(stream, &crossdock_stream::value, "drain");
}
