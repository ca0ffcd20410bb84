#include "crossdock/gather_scatter.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <type_traits>

#include "support.hpp"

namespace crossdock::python {

namespace {

// A gather-scatter, and the array of the operation that is active.
class gather_object {
  public:
    gather_object(shared_context state, std::shared_ptr<gather_scatter> made)
        : state_(std::move(state)), shared_(std::move(made)) {}
    // Messages under way may use the array of an operation that nobody has waited for.
    ~gather_object() {
        if (is_active()) values_.leak();
        state_->drop(std::move(shared_));
    }
    gather_object(const gather_object&) = delete;
    gather_object& operator=(const gather_object&) = delete;

    static std::unique_ptr<gather_object> make(const shared_context& state, nb::handle ids,
                                               nb::handle dtype, nb::handle method,
                                               nb::handle route, nb::handle unique,
                                               nb::handle deduplicate, nb::handle executor) {
        const begin_scope scope(*state);
        auto given = attempt([&] {
            gather_options options;
            options.method = argument<std::string>(method, "method", "a str");
            options.route = argument<std::string>(route, "route", "a str");
            options.unique = argument<bool>(unique, "unique", "a bool");
            options.deduplicate = argument<bool>(deduplicate, "deduplicate", "a bool");
            options.executor = argument<std::string>(executor, "executor", "a str");
            options.item_bytes = nb::cast<std::size_t>(as_dtype(dtype).attr("itemsize"));
            return std::pair(integers<count_t>(ids, "ids"), options);
        });
        auto made =
            collectively(*state, [where = state->where, given = std::move(given)]() mutable {
                const auto& [all_ids, options] = given.agreed(where);
                return std::make_shared<gather_scatter>(where, all_ids, options);
            });
        return std::make_unique<gather_object>(state, std::move(made));
    }

    std::unique_ptr<gather_object> duplicate() const {
        const begin_scope scope(*state_);
        open();
        auto made = collectively(*state_, [shared = shared_] {
            return std::make_shared<gather_scatter>(shared->duplicate());
        });
        return std::make_unique<gather_object>(state_, std::move(made));
    }

    void start(nb::handle values, nb::handle operation, bool transposed) {
        const begin_scope scope(*state_);
        if (open().is_active())
            throw error(errc::invalid_state,
                        "an operation is active already: wait for it before the next start");
        hold(values, operation, transposed);
        // Rows of one array always lie one after the other.
        const auto combine = [by = operation_.function()](
                                 std::byte* to, count_t, const std::byte* from, value_layout,
                                 const copy_list& list) { by(to, from, list); };
        const auto bytes = values_.bytes();
        go_on([&] {
            without_gil([&] {
                shared_->start_bytes({&bytes, 1}, values_.item_bytes(), combine,
                                     {.transposed = transposed});
            });
        });
    }

    bool test() {
        const call_scope scope(*state_);
        require_active();
        const bool is_over = go_on([&] { return without_gil([&] { return shared_->test(); }); });
        if (is_over) finish();
        return is_over;
    }

    void wait() {
        const call_scope scope(*state_);
        require_active();
        go_on([&] { wait_until([&] { return shared_->test(); }); });
        finish();
    }

    bool is_open() const noexcept { return shared_ != nullptr; }
    bool is_active() const noexcept { return is_open() && shared_->is_active(); }
    bool is_trying() const { return open().is_trying(); }
    auto tried_routes() const { return seconds_of(open().tried_routes()); }
    count_t num_ids() const { return open().num_ids(); }
    const std::string& method() const { return open().method(); }
    const std::string& route() const { return open().route(); }
    std::string explain() const { return open().explain(); }

    std::tuple<count_t, count_t, count_t, count_t> statistics() const {
        const auto sent = open().statistics();
        return {sent.messages, sent.items, sent.inter_region_messages, sent.inter_region_items};
    }

    void close() {
        if (is_active())
            throw error(errc::invalid_state, "an operation is active: wait for it before closing");
        state_->drop(std::move(shared_));
    }

  private:
    gather_scatter& open() const {
        if (!shared_) throw error(errc::invalid_state, "the gather-scatter is closed");
        return *shared_;
    }

    void require_active() const {
        if (!open().is_active())
            throw error(errc::invalid_state,
                        "no operation is active: start one before test or wait");
    }

    // If the arguments are wrong, this rank takes part with nothing, and the others hear of it.
    void hold(nb::handle values, nb::handle operation, bool transposed) {
        std::size_t item_bytes = 0;  // not known yet
        try {
            values_.hold(values, "values", true);
            item_bytes = values_.item_bytes();
            values_.require_length(shared_->num_ids(), "there are", "ids");
            operation_.set(operation, values_.dtype(), item_bytes);
        } catch (...) {
            values_.release();
            const error why = fault_in_flight();
            without_gil([&] { shared_->fail_start(transposed, item_bytes, why); });
            throw;
        }
    }

    // Gives the array back where the operation fails. A fault of this rank says more than a peer's.
    template <class Part>
    std::invoke_result_t<Part> go_on(Part&& part) {
        return finishing(
            *this, [&] { finish(); }, part);
    }

    void finish() {
        values_.release();
        operation_.raise_fault();
    }

    shared_context state_;
    std::shared_ptr<gather_scatter> shared_;
    item_array values_;
    item_operation operation_;  // of the last operation
};

nb::object flagged(const shared_context& state, nb::handle ids) {
    const begin_scope scope(*state);
    auto given = attempt([&] { return integers<count_t>(ids, "ids"); });
    const auto result =
        collectively(*state, [where = state->where, given = std::move(given)]() mutable {
            auto& all_ids = given.agreed(where);
            flag_duplicates(where, all_ids);
            return all_ids;
        });
    return array_of<count_t>(result);
}

}  // namespace

void bind_gather(nb::module_& module) {
    nb::class_<gather_object> bound(module, "GatherScatter");
    define_static(bound, "make", &gather_object::make);
    define(bound, "start", &gather_object::start);
    bound.def("duplicate", &gather_object::duplicate)
        .def("test", &gather_object::test)
        .def("wait", &gather_object::wait)
        .def("explain", &gather_object::explain)
        .def("statistics", &gather_object::statistics)
        .def("close", &gather_object::close)
        .def_prop_ro("is_open", &gather_object::is_open)
        .def_prop_ro("is_active", &gather_object::is_active)
        .def("tried_routes", &gather_object::tried_routes)
        .def_prop_ro("is_trying", &gather_object::is_trying)
        .def_prop_ro("num_ids", &gather_object::num_ids)
        .def_prop_ro("method", &gather_object::method)
        .def_prop_ro("route", &gather_object::route);
    define(module, "flag_duplicates", &flagged);
}

}  // namespace crossdock::python
