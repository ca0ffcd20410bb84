#include "crossdock/gather_scatter.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "started_object.hpp"

namespace crossdock::python {

namespace {

// A gather-scatter, and the array of the operation that is active.
class gather_object : public routed_object<gather_object, gather_scatter> {
  public:
    static constexpr started_words words{"an operation", "no operation",
                                         "the gather-scatter is closed"};
    using routed_object::routed_object;
    // Messages under way may use the array of an operation that nobody has waited for.
    ~gather_object() {
        if (is_active()) values_.leak();
    }

    static std::unique_ptr<gather_object> make(const shared_context& state, nb::handle ids,
                                               nb::handle dtype, nb::handle method,
                                               nb::handle route, nb::handle unique,
                                               nb::handle deduplicate, nb::handle executor,
                                               nb::handle reproducible, nb::handle name) {
        const auto read_all = [&] {
            gather_options options;
            read(options.method, method, "method");
            read(options.route, route, "route");
            read(options.unique, unique, "unique");
            read(options.deduplicate, deduplicate, "deduplicate");
            read(options.executor, executor, "executor");
            read(options.reproducible, reproducible, "reproducible");
            read(options.name, name, "name");
            options.item_bytes = item_bytes_of(dtype);
            return std::pair(integers<count_t>(ids, "ids"), options);
        };
        const auto make_it = [](const context& where, const auto& given) {
            return with_reserve(
                [&] { return std::make_shared<gather_scatter>(where, given.first, given.second); });
        };
        auto made = agree_and_use(*state, read_all, make_it, "a gather-scatter");
        return std::make_unique<gather_object>(state, std::move(made));
    }

    void start(nb::handle values, nb::handle operation, bool transposed) {
        const begin_scope scope(*state_);
        require_idle();
        hold_or_fail(transposed, 0, [&](std::size_t& item_bytes) {
            values_.hold(values, "values", true);
            item_bytes = values_.item_bytes();
            values_.require_length(object_->num_ids(), "there are", "ids");
            operation_.set(operation, values_.dtype(), item_bytes);
        });
        // Rows of one array always lie one after the other.
        const auto combine = [by = operation_.function()](
                                 std::byte* to, count_t, const std::byte* from, value_layout,
                                 const copy_list& list) { by(to, from, list); };
        const auto bytes = values_.bytes();
        go_on([&] {
            without_gil([&] {
                object_->start_bytes({&bytes, 1}, values_.item_bytes(), combine,
                                     {.transposed = transposed});
            });
        });
    }

    void release() { values_.release(); }

    count_t num_ids() const { return open().num_ids(); }
    const std::string& method() const { return open().method(); }
    const std::string& route() const { return open().route(); }

  private:
    item_array values_;
};

nb::object flagged(const shared_context& state, nb::handle ids) {
    return array_of<count_t>(agree_and_use(
        *state, [&] { return integers<count_t>(ids, "ids"); },
        [](const context& where, std::vector<count_t>& all_ids) {
            flag_duplicates(where, all_ids);
            return all_ids;
        },
        "flagging duplicates"));
}

}  // namespace

void bind_gather(nb::module_& module) {
    nb::class_<gather_object> bound(module, "GatherScatter");
    define_static(bound, "make", &gather_object::make);
    define(bound, "start", &gather_object::start);
    bind_routed(bound);
    bound.def_prop_ro("num_ids", &gather_object::num_ids)
        .def_prop_ro("method", &gather_object::method);
    define(module, "flag_duplicates", &flagged);
}

}  // namespace crossdock::python
