#include <nanobind/stl/unique_ptr.h>

#include <array>
#include <thread>
#include <utility>
#include <vector>

#include "crossdock/detail/stream/stream_core_mpi.hpp"
#include "support.hpp"

namespace crossdock::python {

namespace {

// A stream's workers, and the handler in Python of what comes to them.
class stream_parts final : public stream_sink {
  public:
    stream_parts(const context& where, nb::object handler, std::size_t item_bytes,
                 const stream_options& options)
        : handler_(std::move(handler)),
          item_bytes_(item_bytes),
          threads_(static_cast<std::size_t>(std::max(options.workers, 0))),
          raised_(threads_.size()) {
        const std::array channels{
            stream_channel{item_bytes, buffer_capacity(options, item_bytes), false, false}};
        without_gil(
            [&] { core_ = std::make_unique<stream_core>(where, channels, *this, options); });
    }

    stream_core& core() { return *core_; }
    std::size_t item_bytes() const noexcept { return item_bytes_; }
    // Who is in a call on a worker's port, if anybody is.
    std::thread::id& thread_of(int worker) { return threads_[static_cast<std::size_t>(worker)]; }

    void handle(stream_worker& worker, const stream_arrivals& arrivals) override {
        const nb::gil_scoped_acquire acquired;
        // Python does not write through what is for reading.
        auto* const items = const_cast<char*>(reinterpret_cast<const char*>(arrivals.items));
        const auto num_bytes = arrivals.num_items * static_cast<Py_ssize_t>(item_bytes_);
        PyObject* const view = PyMemoryView_FromMemory(items, num_bytes, PyBUF_READ);
        if (view == nullptr) throw nb::python_error();
        const auto id = worker.id();
        try {
            handler_(id.worker, nb::steal(view));
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

    std::uint64_t key(const std::byte*) const override { return 0; }
    void combine(std::byte*, const std::byte*) const override {}

  private:
    nb::object handler_;
    std::size_t item_bytes_;
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
        for (count_t i = 0; i < size(); ++i) require(number(i));
    }

    bool has_one() const noexcept { return has_one_; }
    count_t size() const noexcept { return held_.length(); }
    worker_id only() const { return worker(only_); }
    worker_id operator[](count_t i) const { return worker(number(i)); }

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

    static std::unique_ptr<stream_object> make(const shared_context& state, nb::handle dtype,
                                               nb::handle handler, nb::handle workers,
                                               nb::handle scheme, nb::handle route,
                                               nb::handle buffer_items, nb::handle max_buffers,
                                               nb::handle flush_on_idle, nb::handle ordered,
                                               nb::handle shared_memory,
                                               nb::handle progress_thread) {
        const call_scope scope(*state);
        std::int64_t same = 0;
        nb::object kind;
        const auto options = agreed(
            state->where,
            [&] {
                stream_options given;
                kind = as_dtype(dtype);
                same = agreement_hash(text_of(kind));
                given.workers = argument<int>(workers, "workers", "an int");
                given.scheme =
                    stream_scheme_from_string(argument<std::string>(scheme, "scheme", "a str"));
                given.route = argument<std::string>(route, "route", "a str");
                given.buffer_items = argument<count_t>(buffer_items, "buffer_items", "an int");
                given.max_buffers = argument<int>(max_buffers, "max_buffers", "an int");
                given.flush_on_idle = argument<bool>(flush_on_idle, "flush_on_idle", "a bool");
                given.ordered = argument<bool>(ordered, "ordered", "a bool");
                given.shared_memory = argument<bool>(shared_memory, "shared_memory", "a bool");
                given.progress_thread =
                    argument<bool>(progress_thread, "progress_thread", "a bool");
                return given;
            },
            same, "the dtypes of items");
        const auto item_bytes = nb::cast<std::size_t>(kind.attr("itemsize"));
        auto parts =
            std::make_shared<stream_parts>(state->where, nb::borrow(handler), item_bytes, options);
        return std::make_unique<stream_object>(state, std::move(kind), std::move(parts));
    }

    void push(int worker, nb::handle to, nb::handle given_items) {
        auto& end = port(worker);
        const port_scope scope(parts_->thread_of(worker));
        item_array items;
        items.hold(given_items, "items", false);
        if (!items.dtype().equal(dtype_.attr("base")))
            raise_type_error("items has dtype " + text_of(items.dtype()) + ", but the stream " +
                             text_of(dtype_.attr("base")));
        if (items.item_bytes() != parts_->item_bytes())
            raise_value_error("items are of " + std::to_string(items.item_bytes()) +
                              " bytes, but those of the stream of " +
                              std::to_string(parts_->item_bytes()));
        const destinations targets(to, state_->where.num_ranks(), num_workers());
        if (!targets.has_one()) items.require_length(targets.size(), "there are", "destinations");
        parts_->raising(worker, [&] { without_gil([&] { push_all(end, targets, items); }); });
    }

    count_t progress(int worker) {
        auto& end = port(worker);
        const port_scope scope(parts_->thread_of(worker));
        return parts_->raising(worker, [&] { return without_gil([&] { return end.progress(); }); });
    }

    void flush(int worker) {
        auto& end = port(worker);
        const port_scope scope(parts_->thread_of(worker));
        without_gil([&] { end.flush(); });
    }

    void start_drain(int worker) {
        auto& end = port(worker);
        const port_scope scope(parts_->thread_of(worker));
        end.start_drain();
    }

    bool test_drain(int worker) {
        auto& end = port(worker);
        const port_scope scope(parts_->thread_of(worker));
        return parts_->raising(worker,
                               [&] { return without_gil([&] { return end.test_drain(); }); });
    }

    void wait_for_drain(int worker) {
        auto& end = port(worker);
        const port_scope scope(parts_->thread_of(worker));
        parts_->raising(worker, [&] { wait_until([&] { return end.test_drain(); }); });
    }

    nb::dict statistics() {
        const auto counts = parts_->core().statistics();
        nb::dict result;
        result["items"] = counts.items;
        result["handled"] = counts.handled;
        result["forwarded"] = counts.forwarded;
        result["hops"] = counts.hops;
        result["messages"] = counts.messages;
        result["mpi_messages"] = counts.mpi_messages;
        result["mpi_bytes"] = counts.mpi_bytes;
        result["message_items"] = counts.message_items;
        result["waits"] = counts.waits;
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
        const call_scope scope(*state_);
        without_gil([&] { parts_->core().close(); });
    }

  private:
    stream_worker& port(int worker) const {
        if (!is_open()) throw error(errc::invalid_state, "the stream is closed");
        return parts_->core().worker(worker);
    }

    void push_all(stream_worker& end, const destinations& to, const item_array& items) const {
        // The compiler copies items of a known size faster.
        switch (items.item_bytes()) {
            case 4: return push_of_size<4>(end, to, items);
            case 8: return push_of_size<8>(end, to, items);
            case 16: return push_of_size<16>(end, to, items);
            default: return push_bytes(end, to, items);
        }
    }

    template <std::size_t Size>
    static void push_of_size(stream_worker& end, const destinations& to, const item_array& items) {
        using item = std::array<std::byte, Size>;
        const std::span all(reinterpret_cast<const item*>(items.bytes().data()),
                            static_cast<std::size_t>(items.length()));
        if (to.has_one()) return end.push_items(0, to.only(), all);
        for (std::size_t i = 0; i < all.size(); ++i)
            end.push_item(0, to[static_cast<count_t>(i)], all[i]);
    }

    static void push_bytes(stream_worker& end, const destinations& to, const item_array& items) {
        const std::byte* item = items.bytes().data();
        for (count_t i = 0; i < items.length(); ++i, item += items.item_bytes())
            end.push_bytes(0, to.has_one() ? to.only() : to[i], item, items.item_bytes());
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
    bound.def("push", &stream_object::push, nb::arg(), nb::arg().none(), nb::arg().none())
        .def("progress", &stream_object::progress)
        .def("flush", &stream_object::flush)
        .def("start_drain", &stream_object::start_drain)
        .def("test_drain", &stream_object::test_drain)
        .def("wait_for_drain", &stream_object::wait_for_drain)
        .def("statistics", &stream_object::statistics)
        .def("close", &stream_object::close)
        .def_prop_ro("dtype", &stream_object::dtype)
        .def_prop_ro("num_workers", &stream_object::num_workers)
        .def_prop_ro("rank", &stream_object::rank)
        .def_prop_ro("scheme", &stream_object::scheme)
        .def_prop_ro("is_open", &stream_object::is_open);
}

}  // namespace crossdock::python
