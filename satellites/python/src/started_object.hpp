// What Python starts and waits for, again and again.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "support.hpp"

namespace crossdock::python {

/// @brief How texts name what is started.
struct started_words {
    const char* one;     ///< "an exchange"
    const char* none;    ///< "no exchange"
    const char* closed;  ///< "the exchange is closed"
};

/// @brief An object of C++ that is started and waited for, and the arrays of what is active.
/// @tparam Own  has `words`, and `release()`, which gives its arrays back
template <class Own, class Object>
class started_object {
  public:
    started_object(const started_object&) = delete;
    started_object& operator=(const started_object&) = delete;

    bool is_active() const noexcept { return object_ != nullptr && object_->is_active(); }

    bool test() {
        const call_scope scope(*state_);
        require_active();
        const bool is_complete =
            go_on([&] { return without_gil([&] { return object_->test(); }); });
        if (is_complete) finish();
        return is_complete;
    }

    void wait() {
        const call_scope scope(*state_);
        require_active();
        go_on([&] { wait_until([&] { return object_->test(); }); });
        finish();
    }

    /// @brief Its plan as JSON and as text.
    std::pair<std::string, std::string> plan() const {
        const auto& plan = open().plan();
        return {to_json(plan), to_string(plan)};
    }

  protected:
    started_object(shared_context state, std::shared_ptr<Object> made)
        : state_(std::move(state)), object_(std::move(made)) {}
    ~started_object() { state_->drop(std::move(object_)); }

    Object& open() const {
        if (!object_) throw error(errc::invalid_state, Own::words.closed);
        return *object_;
    }

    void require_idle() const {
        if (open().is_active())
            throw error(errc::invalid_state,
                        std::string(Own::words.one) +
                            " is active already: wait for it before the next start");
    }

    void require_active() const {
        if (!open().is_active())
            throw error(errc::invalid_state,
                        std::string(Own::words.none) + " is active: start one before test or wait");
    }

    /// @brief Calls `hold(item_bytes)`, which takes the arrays and the operation of a start. If they are wrong, this
    /// rank takes part with nothing, and the others hear of it.
    template <class Hold>
    void hold_or_fail(bool is_reverse, std::size_t item_bytes, Hold&& hold) {
        try {
            hold(item_bytes);
        } catch (...) {
            own().release();
            const error why = fault_in_flight();
            without_gil([&] { object_->fail_start(is_reverse, item_bytes, why); });
            throw;
        }
    }

    /// @brief Gives the arrays back where what is active fails. A fault of this rank says more than a peer's.
    template <class Part>
    std::invoke_result_t<Part> go_on(Part&& part) {
        try {
            return part();
        } catch (...) {
            if (!is_active()) finish();
            throw;
        }
    }

    shared_context state_;
    std::shared_ptr<Object> object_;
    item_operation operation_;  // of the last start that combined

  private:
    Own& own() { return static_cast<Own&>(*this); }

    void finish() {
        own().release();
        operation_.raise_fault();
    }
};

/// @brief Of those that travel on a route, can be closed, and made twice.
template <class Own, class Object>
class routed_object : public started_object<Own, Object> {
  public:
    routed_object(shared_context state, std::shared_ptr<Object> made)
        : started_object<Own, Object>(std::move(state), std::move(made)) {}

    std::unique_ptr<Own> duplicate() const {
        const begin_scope scope(*this->state_);
        this->open();
        auto made = collectively(*this->state_, [object = this->object_] {
            return std::make_shared<Object>(object->duplicate());
        });
        return std::make_unique<Own>(this->state_, std::move(made));
    }

    bool is_open() const noexcept { return this->object_ != nullptr; }
    bool is_trying() const { return this->open().is_trying(); }
    std::string explain() const { return this->open().explain(); }

    /// @brief What "auto:measure" has tried: routes and their seconds.
    nb::dict tried_routes() const {
        nb::dict result;
        for (const auto& one : this->open().tried_routes()) result[one.route.c_str()] = one.seconds;
        return result;
    }

    std::tuple<count_t, count_t, count_t, count_t> statistics() const {
        const auto sent = this->open().statistics();
        return {sent.messages, sent.items, sent.inter_region_messages, sent.inter_region_items};
    }

    void close() {
        if (this->is_active())
            throw error(errc::invalid_state,
                        std::string(Own::words.one) + " is active: wait for it before closing");
        this->state_->drop(std::move(this->object_));
    }
};

template <class Own>
void bind_started(nb::class_<Own>& bound) {
    bound.def("test", [](Own& own) { return own.test(); })
        .def("wait", [](Own& own) { own.wait(); })
        .def_prop_ro("is_active", [](const Own& own) { return own.is_active(); });
}

template <class Own>
void bind_routed(nb::class_<Own>& bound) {
    bind_started(bound);
    bound.def("duplicate", [](const Own& own) { return own.duplicate(); })
        .def("explain", [](const Own& own) { return own.explain(); })
        .def("statistics", [](const Own& own) { return own.statistics(); })
        .def("close", [](Own& own) { own.close(); })
        .def_prop_ro("is_open", [](const Own& own) { return own.is_open(); })
        .def_prop_ro("is_trying", [](const Own& own) { return own.is_trying(); })
        .def_prop_ro("tried_routes", [](const Own& own) { return own.tried_routes(); })
        .def_prop_ro("route", [](const Own& own) { return own.route(); });
}

}  // namespace crossdock::python
