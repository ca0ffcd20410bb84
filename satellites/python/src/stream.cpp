#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "crossdock/stream.hpp"
#include "support.hpp"

namespace crossdock::python {

namespace {

// How items of one key become one.
struct combining_items {
    struct part {
        std::size_t offset;
        value_combination combine;
    };
    std::size_t key_offset = 0;
    std::size_t key_bytes = 0;  // 0: items do not combine
    std::vector<part> parts = {};

    explicit operator bool() const noexcept { return key_bytes > 0; }
    std::uint64_t key(const std::byte* item) const {
        std::uint64_t result = 0;
        std::memcpy(&result, item + key_offset, key_bytes);
        return result;
    }
    void combine(std::byte* into, const std::byte* item) const {
        for (const auto& one : parts) one.combine(into + one.offset, item + one.offset);
    }
};

// What Python says of the key and of the other fields.
combining_items combining_from(nb::handle described) {
    if (described.is_none()) return {};
    combining_items result{nb::cast<std::size_t>(described[0]),
                           nb::cast<std::size_t>(described[1])};
    for (const nb::handle field : described[2]) {
        const nb::object dtype = field[1];
        result.parts.push_back({nb::cast<std::size_t>(field[0]),
                                value_operation_of(nb::cast<std::string>(field[2]), dtype,
                                                   nb::cast<std::size_t>(dtype.attr("itemsize")))});
    }
    return result;
}

// What a stream carries, and how.
struct stream_settings {
    std::size_t item_bytes = 0;
    stream_options options;
    combining_items combining;

    std::vector<stream_channel> channels() const {
        const stream_channel usual{item_bytes, buffer_capacity(options, item_bytes), false,
                                   static_cast<bool>(combining)};
        std::vector<stream_channel> result(options.priorities == 2 ? 2 : 1, usual);
        result.back().is_urgent = result.size() == 2;
        return result;
    }
};

// Looks for signals while a push waits for a buffer: after that the push leaves everything as it is to be.
class signal_watch final : private suspension {
  public:
    signal_watch() : around_(set_current(this)) {}
    ~signal_watch() { set_current(around_); }
    signal_watch(const signal_watch&) = delete;
    signal_watch& operator=(const signal_watch&) = delete;

  private:
    void suspend() override {
        std::this_thread::yield();
        const auto now = std::chrono::steady_clock::now();
        if (now < next_) return;
        next_ = now + between_signals;
        const nb::gil_scoped_acquire acquired;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    void before_blocking(const communicator&) override {}
    bool may_make_communicators() const override { return true; }

    suspension* around_;
    std::chrono::steady_clock::time_point next_ =
        std::chrono::steady_clock::now() + between_signals;
};

// A stream's workers, and the handler in Python of what comes to them.
class stream_parts final : public stream_sink {
  public:
    stream_parts(nb::object handler, stream_settings settings)
        : handler_(std::move(handler)),
          settings_(std::move(settings)),
          threads_(static_cast<std::size_t>(std::max(settings_.options.workers, 0))),
          raised_(threads_.size()) {}

    /// Collective; blocks.
    void open(const context& where) {
        core_ = with_reserve([&] {
            return std::make_unique<stream_core>(where, settings_.channels(), *this,
                                                 settings_.options);
        });
    }

    const stream_settings& settings() const noexcept { return settings_; }
    stream_core& core() { return *core_; }
    std::size_t item_bytes() const noexcept { return settings_.item_bytes; }
    // Who is in a call on a worker's port, if anybody is.
    std::thread::id& thread_of(int worker) { return threads_[static_cast<std::size_t>(worker)]; }

    void handle(stream_worker& worker, const stream_arrivals& arrivals) override {
        const nb::gil_scoped_acquire acquired;
        const auto id = worker.id();
        try {
            nb::object sources = nb::none();
            if (settings_.options.with_source)
                sources =
                    arrivals.sources == nullptr
                        ? nb::object(nb::int_(arrivals.source))
                        : view_of(arrivals.sources, arrivals.num_items, sizeof(std::uint32_t));
            handler_(id.worker, view_of(arrivals.items, arrivals.num_items, item_bytes()), sources);
        } catch (nb::python_error& raised) {
            auto& first = raised_[static_cast<std::size_t>(id.worker)];
            if (!first.is_valid()) first = nb::borrow(raised.value());
            throw error(errc::handler_failed,
                        "the handler of worker " + std::to_string(id.worker) + " of rank " +
                            std::to_string(id.rank) + " has raised: " + text_of(raised.value()),
                        id.rank);
        }
    }

    // What a handler has raised is raised by the first call of its worker that hears of it. It is
    // not kept: it refers to all that was at work.
    template <class Body>
    auto raising(int worker, Body&& body) {
        try {
            return body();
        } catch (const error& fault) {
            const nb::object raised = std::exchange(raised_[static_cast<std::size_t>(worker)], {});
            if (fault.code() != errc::handler_failed || !raised.is_valid()) throw;
            PyErr_SetObject(raised.type().ptr(), raised.ptr());
            throw nb::python_error();
        }
    }

    nb::handle handler() const { return handler_; }
    void forget_handler() { handler_.reset(); }

    std::uint64_t key(const std::byte* item) const override {
        return settings_.combining.key(item);
    }
    void combine(std::byte* into, const std::byte* item) const override {
        settings_.combining.combine(into, item);
    }

  private:
    // Python does not write through what is for reading.
    static nb::object view_of(const void* values, count_t count, std::size_t value_bytes) {
        auto* const begin = const_cast<char*>(static_cast<const char*>(values));
        PyObject* const view = PyMemoryView_FromMemory(
            begin, count * static_cast<Py_ssize_t>(value_bytes), PyBUF_READ);
        if (view == nullptr) throw nb::python_error();
        return nb::steal(view);
    }

    nb::object handler_;
    stream_settings settings_;
    std::vector<std::thread::id> threads_;
    std::vector<nb::object> raised_;     // by a worker's handler, until a call of it raises that
    std::unique_ptr<stream_core> core_;  // ends before what it calls
};

// Keeps other threads out of a port for the time of a call; handlers call it again.
class port_scope {
  public:
    explicit port_scope(std::thread::id& thread) : thread_(&thread), before_(thread) {
        const auto own = std::this_thread::get_id();
        if (before_ != std::thread::id() && before_ != own)
            throw error(errc::invalid_state, "another thread is in a call on this port");
        thread = own;
    }
    ~port_scope() { *thread_ = before_; }
    port_scope(const port_scope&) = delete;
    port_scope& operator=(const port_scope&) = delete;

  private:
    std::thread::id* thread_;
    std::thread::id before_;
};

// Workers that items go to, by their numbers.
class destinations {
  public:
    destinations(nb::handle given, rank_t num_ranks, int num_workers)
        : num_workers_(num_workers), limit_(count_t{num_ranks} * num_workers) {
        if (nb::try_cast(given, only_)) {
            require(only_);
            return;
        }
        has_one_ = false;
        numbers_ = as_integers(given, "destinations");
        held_.hold(numbers_, "destinations", false);
        // There may be millions: without a branch, and without a comparison of 64 bits, which vectors have not.
        const auto last = static_cast<std::uint64_t>(limit_) - 1;
        const auto* const numbers = reinterpret_cast<const std::uint64_t*>(held_.bytes().data());
        const auto length = static_cast<std::size_t>(size());
        std::uint64_t signs = 0;  // of numbers below 0, and of what is left up to the last
        for (std::size_t i = 0; i < length; ++i) signs |= numbers[i] | (last - numbers[i]);
        const bool are_all_there = signs >> 63 == 0;
        for (count_t i = 0; !are_all_there && i < size(); ++i) require(number(i));
    }

    bool has_one() const noexcept { return has_one_; }
    count_t size() const noexcept { return held_.length(); }
    worker_id only() const { return worker(only_); }
    // Calls `use(i, worker)` for those of an array.
    template <class Use>
    void for_each(Use&& use) const {
        const auto* const numbers = reinterpret_cast<const count_t*>(held_.bytes().data());
        const count_t length = size();
        if (num_workers_ == 1) {
            for (count_t i = 0; i < length; ++i)
                use(i, worker_id{static_cast<rank_t>(numbers[i]), 0});
        } else {
            for (count_t i = 0; i < length; ++i) use(i, worker(numbers[i]));
        }
    }
    worker_id operator[](count_t i) const { return worker(has_one_ ? only_ : number(i)); }

  private:
    count_t number(count_t i) const {
        return reinterpret_cast<const count_t*>(held_.bytes().data())[i];
    }
    worker_id worker(count_t number) const {
        if (num_workers_ == 1) return {static_cast<rank_t>(number), 0};
        return {static_cast<rank_t>(number / num_workers_),
                static_cast<int>(number % num_workers_)};
    }
    void require(count_t number) const {
        if (number >= 0 && number < limit_) return;
        throw error(errc::rank_out_of_range, "destination " + std::to_string(number) +
                                                 " is outside [0, " + std::to_string(limit_) + ")");
    }

    int num_workers_;
    count_t limit_;
    bool has_one_ = true;
    count_t only_ = 0;
    nb::object numbers_;
    item_array held_;
};

class stream_object {
  public:
    stream_object(shared_context state, nb::object dtype, std::shared_ptr<stream_parts> parts)
        : state_(std::move(state)), dtype_(std::move(dtype)), parts_(std::move(parts)) {}
    ~stream_object() { state_->drop(std::move(parts_)); }
    stream_object(const stream_object&) = delete;
    stream_object& operator=(const stream_object&) = delete;

    // `describe_combining(dtype)` gives what `combining_from` takes.
    static std::unique_ptr<stream_object> make(
        const shared_context& state, nb::handle dtype, nb::handle handler,
        nb::handle describe_combining, nb::handle workers, nb::handle scheme, nb::handle route,
        nb::handle buffer_items, nb::handle max_buffers, nb::handle priorities,
        nb::handle flush_on_idle, nb::handle max_age_seconds, nb::handle pressure,
        nb::handle ordered, nb::handle with_source, nb::handle shared_memory,
        nb::handle progress_thread, nb::handle communication_thread,
        nb::handle latency_sample_interval, nb::handle name) {
        const begin_scope scope(*state);
        std::string same;
        nb::object kind;
        auto made = attempt([&] {
            stream_settings settings;
            kind = as_dtype(dtype);
            settings.item_bytes = nb::cast<std::size_t>(kind.attr("itemsize"));
            const nb::object combining = describe_combining(kind);
            settings.combining = combining_from(combining);
            same = "a stream\ndtype = " + text_of(kind) + "\ncombine = " + text_of(combining);
            auto& given = settings.options;
            read(given.workers, workers, "workers");
            given.scheme =
                stream_scheme_from_string(argument<std::string>(scheme, "scheme", "a str"));
            read(given.route, route, "route");
            read(given.buffer_items, buffer_items, "buffer_items");
            read(given.max_buffers, max_buffers, "max_buffers");
            read(given.priorities, priorities, "priorities", "1 or 2");
            read(given.flush_on_idle, flush_on_idle, "flush_on_idle");
            if (!max_age_seconds.is_none())
                given.max_age_seconds =
                    argument<double>(max_age_seconds, "max_age_seconds", "a float");
            given.pressure = choice_of<back_pressure>(pressure, "pressure",
                                                      {{"progress", back_pressure::progress},
                                                       {"block", back_pressure::block},
                                                       {"fail", back_pressure::fail}});
            read(given.ordered, ordered, "ordered");
            read(given.with_source, with_source, "with_source");
            read(given.shared_memory, shared_memory, "shared_memory");
            read(given.progress_thread, progress_thread, "progress_thread");
            read(given.communication_thread, communication_thread, "communication_thread");
            read(given.latency_sample_interval, latency_sample_interval, "latency_sample_interval");
            read(given.name, name, "name");
            if (given.communication_thread && !given.progress_thread)
                throw error(errc::invalid_argument, "communication_thread needs progress_thread");
            return std::make_shared<stream_parts>(nb::borrow(handler), std::move(settings));
        });
        auto parts =
            collectively(*state, [where = state->where, made = std::move(made), same]() mutable {
                auto result = made.agreed(where, same);
                result->open(where);
                return result;
            });
        return std::make_unique<stream_object>(state, std::move(kind), std::move(parts));
    }

    void push(int worker, nb::handle to, nb::handle given_items, bool is_urgent) {
        on_port(worker, [&](stream_worker& end) {
            if (is_urgent && parts_->settings().options.priorities < 2)
                throw error(errc::invalid_argument,
                            "an urgent item needs the option priorities = 2");
            item_array items;
            hold(items, given_items);
            const auto targets = destinations_of(to, items);
            without_gil([&] {
                const signal_watch watch;
                push_all(end, is_urgent ? 1 : 0, *targets, items);
            });
        });
    }

    count_t try_push(int worker, nb::handle to, nb::handle given_items) {
        return on_port(worker, [&](stream_worker& end) {
            item_array items;
            hold(items, given_items);
            const auto targets = destinations_of(to, items);
            return without_gil([&] {
                const std::byte* item = items.bytes().data();
                count_t i = 0;
                for (; i < items.length() && end.has_room(0, (*targets)[i]); ++i) {
                    push_one(end, 0, (*targets)[i], item);
                    item += items.item_bytes();
                }
                return i;
            });
        });
    }

    count_t progress(int worker) {
        return on_port(worker, [&](stream_worker& end) {
            return without_gil([&] { return end.progress(); });
        });
    }

    void flush(int worker, std::optional<count_t> to) {
        on_port(worker, [&](stream_worker& end) {
            if (!to) return without_gil([&] { end.flush(); });
            const worker_id only = worker_of(*to);
            without_gil([&] { end.flush(only); });
        });
    }

    void set_buffer_items(int worker, count_t to, count_t num_items) {
        on_port(worker, [&](stream_worker& end) {
            const worker_id only = worker_of(to);
            without_gil([&] { end.set_buffer_items(only, num_items); });
        });
    }

    void drive() {
        require_open();
        without_gil([&] { parts_->core().drive(); });
    }

    void start_drain(int worker) {
        on_port(worker, [&](stream_worker& end) { end.start_drain(); });
    }

    bool test_drain(int worker) {
        return on_port(worker, [&](stream_worker& end) {
            return without_gil([&] { return end.test_drain(); });
        });
    }

    void wait_drain(int worker) {
        on_port(worker, [&](stream_worker& end) { wait_until([&] { return end.test_drain(); }); });
    }

    nb::dict statistics(std::optional<int> worker) {
        auto& core = parts_->core();
        const auto counts = worker ? core.worker(*worker).statistics() : core.statistics();
        nb::dict by_cause;
        for (int cause = 0; cause < num_flush_causes; ++cause)
            by_cause[to_string(static_cast<flush_cause>(cause))] =
                counts.messages_of(static_cast<flush_cause>(cause));
        nb::dict result;
        result["items"] = counts.items;
        result["combined"] = counts.combined;
        result["handled"] = counts.handled;
        result["forwarded"] = counts.forwarded;
        result["hops"] = counts.hops;
        result["messages"] = counts.messages;
        result["mpi_messages"] = counts.mpi_messages;
        result["mpi_bytes"] = counts.mpi_bytes;
        result["message_items"] = counts.message_items;
        result["messages_by_cause"] = by_cause;
        result["overflow_buffers"] = counts.overflow_buffers;
        result["waits"] = counts.waits;
        result["peak_buffers"] = counts.peak_buffers;
        result["latency_samples"] = counts.latency.count();
        result["latency_median_seconds"] = counts.latency.quantile_seconds(0.5);
        result["latency_p99_seconds"] = counts.latency.quantile_seconds(0.99);
        result["latency_max_seconds"] = counts.latency.max_seconds();
        return result;
    }

    // A handler usually refers to its stream.
    static int traverse(PyObject* self, visitproc visit, void* arg) {
        Py_VISIT(Py_TYPE(self));
        if (!nb::inst_ready(self)) return 0;
        Py_VISIT(nb::inst_ptr<stream_object>(self)->parts_->handler().ptr());
        return 0;
    }
    static int clear(PyObject* self) {
        if (nb::inst_ready(self)) nb::inst_ptr<stream_object>(self)->parts_->forget_handler();
        return 0;
    }

    nb::object dtype() const { return dtype_; }
    int num_workers() const { return parts_->core().num_workers(); }
    rank_t rank() const { return state_->where.rank(); }
    std::string scheme() const { return to_string(parts_->core().scheme()); }
    bool is_open() const { return state_->where.is_open() && parts_->core().is_open(); }

    void close() {
        if (!is_open()) return;
        const begin_scope scope(*state_);
        collectively(*state_, [parts = parts_] { parts->core().close(); });
    }

  private:
    worker_id worker_of(count_t number) const {
        return destinations(nb::int_(number), state_->where.num_ranks(), num_workers()).only();
    }

    void require_open() const {
        if (!is_open()) throw error(errc::invalid_state, "the stream is closed");
    }

    // Runs `call(port)`, which no other thread is in, and raises what a handler has raised meanwhile.
    template <class Call>
    std::invoke_result_t<Call&, stream_worker&> on_port(int worker, Call&& call) const {
        require_open();
        auto& end = parts_->core().worker(worker);
        const port_scope scope(parts_->thread_of(worker));
        return parts_->raising(worker, [&] { return call(end); });
    }

    void hold(item_array& items, nb::handle given) const {
        items.hold(given, "items", false);
        if (!items.dtype().equal(dtype_.attr("base")))
            raise_type_error("items has dtype " + text_of(items.dtype()) + ", but the stream " +
                             text_of(dtype_.attr("base")));
        if (items.item_bytes() != parts_->item_bytes())
            raise_value_error("items are of " + std::to_string(items.item_bytes()) +
                              " bytes, but those of the stream of " +
                              std::to_string(parts_->item_bytes()));
    }

    std::unique_ptr<destinations> destinations_of(nb::handle to, const item_array& items) const {
        auto targets = std::make_unique<destinations>(to, state_->where.num_ranks(), num_workers());
        if (!targets->has_one()) items.require_length(targets->size(), "there are", "destinations");
        return targets;
    }

    void push_all(stream_worker& end, int channel, const destinations& to,
                  const item_array& items) const {
        if (parts_->settings().combining) return push_bytes(end, channel, to, items);
        // The compiler copies items of a known size faster.
        switch (items.item_bytes()) {
            case 4: return push_of_size<4>(end, channel, to, items);
            case 8: return push_of_size<8>(end, channel, to, items);
            case 16: return push_of_size<16>(end, channel, to, items);
            default: return push_bytes(end, channel, to, items);
        }
    }

    template <std::size_t Size>
    static void push_of_size(stream_worker& end, int channel, const destinations& to,
                             const item_array& items) {
        using item = std::array<std::byte, Size>;
        const std::span all(reinterpret_cast<const item*>(items.bytes().data()),
                            static_cast<std::size_t>(items.length()));
        if (to.has_one()) return end.push_items(channel, to.only(), all);
        to.for_each([&](count_t i, worker_id target) {
            end.push_item(channel, target, all[static_cast<std::size_t>(i)]);
        });
    }

    void push_bytes(stream_worker& end, int channel, const destinations& to,
                    const item_array& items) const {
        const std::byte* item = items.bytes().data();
        for (count_t i = 0; i < items.length(); ++i, item += items.item_bytes())
            push_one(end, channel, to[i], item);
    }

    void push_one(stream_worker& end, int channel, worker_id to, const std::byte* item) const {
        const auto& combining = parts_->settings().combining;
        const std::size_t item_bytes = parts_->item_bytes();
        if (!combining) return end.push_bytes(channel, to, item, item_bytes);
        end.push_combining_bytes(
            channel, to, item, item_bytes, combining.key(item),
            [&](const std::byte* waiting) { return combining.key(waiting); },
            [&](std::byte* waiting) { combining.combine(waiting, item); });
    }

    shared_context state_;
    nb::object dtype_;
    std::shared_ptr<stream_parts> parts_;
};

}  // namespace

void bind_stream(nb::module_& module) {
    static PyType_Slot slots[] = {
        {Py_tp_traverse, reinterpret_cast<void*>(&stream_object::traverse)},
        {Py_tp_clear, reinterpret_cast<void*>(&stream_object::clear)},
        {0, nullptr}};
    nb::class_<stream_object> bound(module, "Stream", nb::type_slots(slots));
    define_static(bound, "make", &stream_object::make);
    define(bound, "push", &stream_object::push);
    define(bound, "try_push", &stream_object::try_push);
    bound.def("progress", &stream_object::progress)
        .def("flush", &stream_object::flush, nb::arg(), nb::arg().none())
        .def("set_buffer_items", &stream_object::set_buffer_items)
        .def("start_drain", &stream_object::start_drain)
        .def("test_drain", &stream_object::test_drain)
        .def("wait_drain", &stream_object::wait_drain)
        .def("drive", &stream_object::drive)
        .def("statistics", &stream_object::statistics, nb::arg().none())
        .def("close", &stream_object::close)
        .def_prop_ro("dtype", &stream_object::dtype)
        .def_prop_ro("num_workers", &stream_object::num_workers)
        .def_prop_ro("rank", &stream_object::rank)
        .def_prop_ro("scheme", &stream_object::scheme)
        .def_prop_ro("is_open", &stream_object::is_open);
}

}  // namespace crossdock::python
