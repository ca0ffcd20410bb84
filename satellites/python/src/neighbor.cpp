#include "crossdock/neighbor_exchange.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "started_object.hpp"

namespace crossdock::python {

namespace {

// A neighbor exchange, and the arrays of the one that is active.
class exchange_object : public routed_object<exchange_object, neighbor_exchange> {
  public:
    static constexpr started_words words{"an exchange", "no exchange", "the exchange is closed"};
    using routed_object::routed_object;
    // Messages under way may use the arrays of an exchange that nobody has waited for.
    ~exchange_object() {
        if (is_active()) {
            items_.leak();
            slots_.leak();
        }
    }

    static std::unique_ptr<exchange_object> make(const shared_context& state, nb::handle of,
                                                 nb::handle dtype, nb::handle route,
                                                 nb::handle deduplicate, nb::handle executor,
                                                 nb::handle max_message_bytes,
                                                 nb::handle stripe_bytes, nb::handle prepare) {
        const auto read_all = [&] {
            neighbor_options options;
            read(options.route, route, "route");
            read(options.deduplicate, deduplicate, "deduplicate");
            read(options.executor, executor, "executor");
            read(options.max_message_bytes, max_message_bytes, "max_message_bytes");
            read(options.stripe_bytes, stripe_bytes, "stripe_bytes");
            options.prepare = choice_of<preparation>(
                prepare, "prepare",
                {{"both", preparation::both}, {"forward", preparation::forward}});
            if (dtype.is_none())
                options.prepare = preparation::lazy;
            else
                options.item_bytes = item_bytes_of(dtype);
            return std::pair(object_argument<pattern>(of, "pattern", "a Pattern"), options);
        };
        auto made = agree_and_use(*state, read_all, [](const context& where, const auto& given) {
            return std::make_shared<neighbor_exchange>(where, given.first, given.second);
        });
        return std::make_unique<exchange_object>(state, std::move(made));
    }

    void prepare(nb::handle dtype) {
        const begin_scope scope(*state_);
        require_idle();
        auto item_bytes = attempt([&] { return item_bytes_of(dtype); });
        collectively(*state_, [where = state_->where, exchange = object_, item_bytes]() mutable {
            exchange->prepare(item_bytes.agreed(where));
        });
    }

    void start(nb::handle items, nb::handle slots) {
        const begin_scope scope(*state_);
        hold(false, items, "items", slots, "out");
        begin([&](auto given_items, auto given_slots, std::size_t item_bytes) {
            object_->start_bytes(given_items, given_slots, item_bytes);
        });
    }

    void start_reverse(nb::handle slots, nb::handle items, nb::handle operation) {
        const begin_scope scope(*state_);
        hold(true, items, "out", slots, "slots", operation);
        begin([&](auto given_items, auto given_slots, std::size_t item_bytes) {
            object_->start_reverse_bytes(given_slots, given_items, item_bytes,
                                         operation_.function());
        });
    }

    // Where Python fails before a start.
    void fail_start(bool is_reverse, const std::string& sentence) {
        const begin_scope scope(*state_);
        require_idle();
        const error why(errc::invalid_argument, sentence);
        without_gil([&] { object_->fail_start(is_reverse, 0, why); });
    }

    // As `start` and `wait`.
    void forward(nb::handle items, nb::handle slots) {
        start(items, slots);
        wait();
    }

    count_t num_items() const { return open().plan().num_items(); }
    count_t num_slots() const { return open().plan().num_slots(); }
    const std::string& route() const { return open().plan().route(); }
    void release() {
        items_.release();
        slots_.release();
    }

  private:
    void hold(bool is_reverse, nb::handle items, const char* items_name, nb::handle slots,
              const char* slots_name, nb::handle operation = {}) {
        require_idle();
        hold_or_fail(is_reverse, 0, [&](std::size_t& item_bytes) {
            items_.hold(items, items_name, is_reverse);
            item_bytes = items_.item_bytes();
            slots_.hold(slots, slots_name, !is_reverse);
            slots_.require_same_items(items_);
            items_.require_length(num_items(), "the pattern has", "items");
            slots_.require_length(num_slots(), "the pattern has", "slots");
            if (operation.is_valid()) operation_.set(operation, items_.dtype(), item_bytes);
        });
    }

    template <class Start>
    void begin(Start&& start) {
        go_on([&] {
            without_gil([&] { start(items_.bytes(), slots_.bytes(), items_.item_bytes()); });
        });
    }

    item_array items_;
    item_array slots_;
};

}  // namespace

void bind_neighbor(nb::module_& module) {
    nb::class_<exchange_object> bound(module, "NeighborExchange");
    define_static(bound, "make", &exchange_object::make);
    define(bound, "prepare", &exchange_object::prepare);
    define(bound, "start", &exchange_object::start);
    define(bound, "start_reverse", &exchange_object::start_reverse);
    define(bound, "forward", &exchange_object::forward);
    bind_routed(bound);
    bound.def("fail_start", &exchange_object::fail_start)
        .def("plan", [](const exchange_object& own) { return own.plan(); })
        .def_prop_ro("num_items", &exchange_object::num_items)
        .def_prop_ro("num_slots", &exchange_object::num_slots);
}

}  // namespace crossdock::python
