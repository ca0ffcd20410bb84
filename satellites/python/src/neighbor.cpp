#include "crossdock/neighbor_exchange.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <deque>

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
        if (!is_active()) return;
        for (auto& one : items_) one.leak();
        for (auto& one : slots_) one.leak();
    }

    static std::unique_ptr<exchange_object> make(const shared_context& state, nb::handle of,
                                                 nb::handle dtype, nb::handle route,
                                                 nb::handle deduplicate, nb::handle executor,
                                                 nb::handle max_message_bytes, nb::handle prepare,
                                                 nb::handle reproducible, nb::handle name) {
        const auto read_all = [&] {
            neighbor_options options;
            read(options.route, route, "route");
            read(options.deduplicate, deduplicate, "deduplicate");
            read(options.executor, executor, "executor");
            read(options.max_message_bytes, max_message_bytes, "max_message_bytes");
            read(options.reproducible, reproducible, "reproducible");
            read(options.name, name, "name");
            options.prepare = choice_of<preparation>(
                prepare, "prepare",
                {{"both", preparation::both}, {"forward", preparation::forward}});
            if (dtype.is_none())
                options.prepare = preparation::lazy;
            else
                options.item_bytes = item_bytes_of(dtype);
            return std::pair(object_argument<pattern>(of, "pattern", "a Pattern"), options);
        };
        const auto make_it = [](const context& where, const auto& given) {
            return with_reserve([&] {
                return std::make_shared<neighbor_exchange>(where, given.first, given.second);
            });
        };
        auto made = agree_and_use(*state, read_all, make_it, "a neighbor exchange");
        return std::make_unique<exchange_object>(state, std::move(made));
    }

    void prepare(nb::handle dtype) {
        const begin_scope scope(*state_);
        require_idle();
        auto item_bytes = attempt([&] { return item_bytes_of(dtype); });
        collectively(*state_, [where = state_->where, exchange = object_, item_bytes]() mutable {
            exchange->prepare(item_bytes.agreed(where, "the dtype"));
        });
    }

    // Each is an array, or a list of them.
    void start(nb::handle items, nb::handle slots) {
        const begin_scope scope(*state_);
        hold(false, items, "items", slots, "out");
        go_on([&] {
            without_gil([&] {
                if (has_one())
                    return object_->start_bytes(bytes_of(items_), bytes_of(slots_), bytes());
                object_->start_fields_bytes(all_of<const std::byte>(items_),
                                            all_of<std::byte>(slots_), bytes());
            });
        });
    }

    void start_reverse(nb::handle slots, nb::handle items, nb::handle operation) {
        const begin_scope scope(*state_);
        hold(true, items, "out", slots, "slots", operation);
        go_on([&] {
            without_gil([&] {
                auto combine = operation_.function();
                if (has_one())
                    return object_->start_reverse_bytes(bytes_of(slots_), bytes_of(items_), bytes(),
                                                        std::move(combine));
                object_->start_reverse_fields_bytes(all_of<const std::byte>(slots_),
                                                    all_of<std::byte>(items_), bytes(),
                                                    std::move(combine));
            });
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
        for (auto& one : items_) one.release();
        for (auto& one : slots_) one.release();
    }

  private:
    using arrays = std::deque<item_array>;

    static void hold_all(arrays& all, nb::handle given, const char* name, bool is_output) {
        std::size_t num = 0;
        const auto hold_next = [&](nb::handle one) {
            if (num == all.size()) all.emplace_back();
            all[num++].hold(one, name, is_output);
        };
        if (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given)) {
            for (nb::handle one : nb::borrow<nb::sequence>(given)) hold_next(one);
            if (num == 0) raise_value_error(std::string(name) + " has no array");
        } else {
            hold_next(given);
        }
        while (all.size() > num) all.pop_back();
    }

    void hold(bool is_reverse, nb::handle items, const char* items_name, nb::handle slots,
              const char* slots_name, nb::handle operation = {}) {
        require_idle();
        hold_or_fail(is_reverse, 0, [&](std::size_t& item_bytes) {
            hold_all(items_, items, items_name, is_reverse);
            item_bytes = items_.size() * bytes();
            hold_all(slots_, slots, slots_name, !is_reverse);
            for (const auto& one : items_) {
                one.require_same_items(items_.front());
                one.require_length(num_items(), "the pattern has", "items");
            }
            for (const auto& one : slots_) {
                one.require_same_items(items_.front());
                one.require_length(num_slots(), "the pattern has", "slots");
            }
            if (operation.is_valid()) operation_.set(operation, items_.front().dtype(), item_bytes);
        });
    }

    bool has_one() const { return items_.size() == 1 && slots_.size() == 1; }
    std::size_t bytes() const { return items_.front().item_bytes(); }
    static std::span<std::byte> bytes_of(const arrays& all) { return all.front().bytes(); }
    template <class Byte>
    static std::vector<std::span<Byte>> all_of(const arrays& all) {
        std::vector<std::span<Byte>> result;
        for (const auto& one : all) result.push_back(one.bytes());
        return result;
    }

    arrays items_;
    arrays slots_;
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
