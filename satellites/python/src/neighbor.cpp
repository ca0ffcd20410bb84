#include "crossdock/neighbor_exchange.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <type_traits>

#include "support.hpp"

namespace crossdock::python {

namespace {

constexpr const char* closed = "the exchange is closed";

preparation preparation_of(const std::string& prepare) {
    if (prepare == "both") return preparation::both;
    if (prepare == "forward") return preparation::forward;
    raise_value_error("prepare must be \"both\" or \"forward\", not \"" + prepare + "\"");
}

std::size_t bytes_of(nb::handle dtype) {
    return nb::cast<std::size_t>(as_dtype(dtype).attr("itemsize"));
}

// A neighbor exchange, and the arrays of the one that is active.
class exchange_object {
  public:
    exchange_object(shared_context state, std::shared_ptr<neighbor_exchange> made)
        : state_(std::move(state)), exchange_(std::move(made)) {}
    // Messages under way may use the arrays of an exchange that nobody has waited for.
    ~exchange_object() {
        if (is_active()) {
            items_.leak();
            slots_.leak();
        }
        state_->drop(std::move(exchange_));
    }
    exchange_object(const exchange_object&) = delete;
    exchange_object& operator=(const exchange_object&) = delete;

    static std::unique_ptr<exchange_object> make(const shared_context& state, nb::handle of,
                                                 nb::handle dtype, nb::handle route,
                                                 nb::handle deduplicate, nb::handle executor,
                                                 nb::handle max_message_bytes,
                                                 nb::handle stripe_bytes, nb::handle prepare) {
        const begin_scope scope(*state);
        auto given = attempt([&] {
            neighbor_options options;
            options.route = argument<std::string>(route, "route", "a str");
            options.deduplicate = argument<bool>(deduplicate, "deduplicate", "a bool");
            options.executor = argument<std::string>(executor, "executor", "a str");
            options.max_message_bytes =
                argument<std::size_t>(max_message_bytes, "max_message_bytes", "an int >= 0");
            options.stripe_bytes =
                argument<std::size_t>(stripe_bytes, "stripe_bytes", "an int >= 0");
            options.prepare = preparation_of(argument<std::string>(prepare, "prepare", "a str"));
            if (dtype.is_none())
                options.prepare = preparation::lazy;
            else
                options.item_bytes = bytes_of(dtype);
            return std::pair(object_argument<pattern>(of, "pattern", "a Pattern"), options);
        });
        auto made =
            collectively(*state, [where = state->where, given = std::move(given)]() mutable {
                const auto& [p, options] = given.agreed(where);
                return std::make_shared<neighbor_exchange>(where, p, options);
            });
        return std::make_unique<exchange_object>(state, std::move(made));
    }

    std::unique_ptr<exchange_object> duplicate() const {
        const begin_scope scope(*state_);
        open();
        auto made = collectively(*state_, [exchange = exchange_] {
            return std::make_shared<neighbor_exchange>(exchange->duplicate());
        });
        return std::make_unique<exchange_object>(state_, std::move(made));
    }

    void prepare(nb::handle dtype) {
        const begin_scope scope(*state_);
        require_idle();
        auto item_bytes = attempt([&] { return bytes_of(dtype); });
        collectively(*state_, [where = state_->where, exchange = exchange_, item_bytes]() mutable {
            exchange->prepare(item_bytes.agreed(where));
        });
    }

    void start(nb::handle items, nb::handle slots) {
        const begin_scope scope(*state_);
        hold(false, items, "items", slots, "out");
        begin([&](auto given_items, auto given_slots, std::size_t item_bytes) {
            exchange_->start_bytes(given_items, given_slots, item_bytes);
        });
    }

    void start_reverse(nb::handle slots, nb::handle items, nb::handle operation) {
        const begin_scope scope(*state_);
        hold(true, items, "out", slots, "slots", operation);
        begin([&](auto given_items, auto given_slots, std::size_t item_bytes) {
            exchange_->start_reverse_bytes(given_slots, given_items, item_bytes,
                                           operation_.function());
        });
    }

    // Where Python fails before a start.
    void fail_start(bool is_reverse, const std::string& sentence) {
        const begin_scope scope(*state_);
        require_idle();
        const error why(errc::invalid_argument, sentence);
        without_gil([&] { exchange_->fail_start(is_reverse, 0, why); });
    }

    bool test() {
        const call_scope scope(*state_);
        require_active();
        const bool is_over = go_on([&] { return without_gil([&] { return exchange_->test(); }); });
        if (is_over) finish();
        return is_over;
    }

    void wait() {
        const call_scope scope(*state_);
        require_active();
        go_on([&] { wait_until([&] { return exchange_->test(); }); });
        finish();
    }

    // As `start` and `wait`.
    void forward(nb::handle items, nb::handle slots) {
        start(items, slots);
        wait();
    }

    bool is_open() const noexcept { return exchange_ != nullptr; }
    bool is_active() const noexcept { return is_open() && exchange_->is_active(); }
    bool is_trying() const { return open().is_trying(); }
    count_t num_items() const { return open().plan().num_items(); }
    count_t num_slots() const { return open().plan().num_slots(); }
    const std::string& route() const { return open().plan().route(); }
    std::string explain() const { return open().explain(); }
    std::string plan_json() const { return to_json(open().plan()); }
    std::string plan_text() const { return to_string(open().plan()); }

    std::tuple<count_t, count_t, count_t, count_t> statistics() const {
        const auto sent = open().statistics();
        return {sent.messages, sent.items, sent.inter_region_messages, sent.inter_region_items};
    }

    auto tried_routes() const { return seconds_of(open().tried_routes()); }

    void close() {
        if (is_active())
            throw error(errc::invalid_state, "an exchange is active: wait for it before closing");
        state_->drop(std::move(exchange_));
    }

  private:
    neighbor_exchange& open() const {
        if (!exchange_) throw error(errc::invalid_state, closed);
        return *exchange_;
    }

    void require_idle() const {
        if (open().is_active())
            throw error(errc::invalid_state,
                        "an exchange is active already: wait for it before the next start");
    }

    void require_active() const {
        if (!open().is_active())
            throw error(errc::invalid_state,
                        "no exchange is active: start one before test or wait");
    }

    // If the arguments are wrong, this rank takes part with nothing, and the others hear of it.
    void hold(bool is_reverse, nb::handle items, const char* items_name, nb::handle slots,
              const char* slots_name, nb::handle operation = {}) {
        require_idle();
        std::size_t item_bytes = 0;  // not known yet
        try {
            items_.hold(items, items_name, is_reverse);
            item_bytes = items_.item_bytes();
            slots_.hold(slots, slots_name, !is_reverse);
            slots_.require_same_items(items_);
            items_.require_length(num_items(), "the pattern has", "items");
            slots_.require_length(num_slots(), "the pattern has", "slots");
            if (operation.is_valid()) operation_.set(operation, items_.dtype(), item_bytes);
        } catch (...) {
            release();
            const error why = fault_in_flight();
            without_gil([&] { exchange_->fail_start(is_reverse, item_bytes, why); });
            throw;
        }
    }

    template <class Start>
    void begin(Start&& start) {
        go_on([&] {
            without_gil([&] { start(items_.bytes(), slots_.bytes(), items_.item_bytes()); });
        });
    }

    // Gives the arrays back where the exchange fails. A fault of this rank says more than a peer's.
    template <class Part>
    std::invoke_result_t<Part> go_on(Part&& part) {
        return finishing(
            *this, [&] { finish(); }, part);
    }

    void finish() {
        release();
        operation_.raise_fault();
    }

    void release() {
        items_.release();
        slots_.release();
    }

    shared_context state_;
    std::shared_ptr<neighbor_exchange> exchange_;
    item_array items_;
    item_array slots_;
    item_operation operation_;  // of the last reverse exchange
};

}  // namespace

void bind_neighbor(nb::module_& module) {
    nb::class_<exchange_object> bound(module, "NeighborExchange");
    define_static(bound, "make", &exchange_object::make);
    define(bound, "prepare", &exchange_object::prepare);
    define(bound, "start", &exchange_object::start);
    define(bound, "start_reverse", &exchange_object::start_reverse);
    define(bound, "forward", &exchange_object::forward);
    bound.def("duplicate", &exchange_object::duplicate)
        .def("fail_start", &exchange_object::fail_start)
        .def("test", &exchange_object::test)
        .def("wait", &exchange_object::wait)
        .def("explain", &exchange_object::explain)
        .def("plan_json", &exchange_object::plan_json)
        .def("plan_text", &exchange_object::plan_text)
        .def("statistics", &exchange_object::statistics)
        .def("tried_routes", &exchange_object::tried_routes)
        .def("close", &exchange_object::close)
        .def_prop_ro("is_open", &exchange_object::is_open)
        .def_prop_ro("is_active", &exchange_object::is_active)
        .def_prop_ro("is_trying", &exchange_object::is_trying)
        .def_prop_ro("num_items", &exchange_object::num_items)
        .def_prop_ro("num_slots", &exchange_object::num_slots)
        .def_prop_ro("route", &exchange_object::route);
}

}  // namespace crossdock::python
