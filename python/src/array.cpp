#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <tuple>
#include <utility>

#include "src/c/array_values.hpp"
#include "support.hpp"

namespace crossdock::python {

namespace {

// MPI's datatype of numbers that the library combines by itself; MPI_DATATYPE_NULL for others.
MPI_Datatype number_type_of(nb::handle dtype) {
    if (!nb::cast<bool>(dtype.attr("isnative")) || nb::len(nb::object(dtype.attr("shape"))) > 0)
        return MPI_DATATYPE_NULL;
    const std::string name = text_of(dtype.attr("kind")) + text_of(dtype.attr("itemsize"));
    constexpr const char* names[] = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"};
    const MPI_Datatype types[] = {MPI_INT8_T,  MPI_INT16_T,  MPI_INT32_T,  MPI_INT64_T,
                                  MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T,
                                  MPI_FLOAT,   MPI_DOUBLE};
    for (std::size_t i = 0; i < std::size(types); ++i) {
        if (name == names[i]) return types[i];
    }
    return MPI_DATATYPE_NULL;
}

MPI_Op mpi_operation(const std::string& name, bool is_float) {
    if (name == "sum") return MPI_SUM;
    if (name == "min") return MPI_MIN;
    if (name == "max") return MPI_MAX;
    if (name == "bit_or" && !is_float) return MPI_BOR;
    return MPI_OP_NULL;
}

// What an array's entries are.
class entry_kind {
  public:
    explicit entry_kind(nb::object dtype)
        : dtype_(std::move(dtype)),
          base_(dtype_.attr("base")),
          item_bytes_(nb::cast<std::size_t>(dtype_.attr("itemsize"))),
          number_(number_type_of(dtype_)),
          bytes_(item_bytes_),
          is_float_(number_ == MPI_FLOAT || number_ == MPI_DOUBLE) {}

    nb::handle dtype() const { return dtype_; }
    nb::handle number() const { return base_; }
    std::size_t item_bytes() const noexcept { return item_bytes_; }

    c::entry_operation update(const std::string& name) const {
        const MPI_Op own = mpi_operation(name, is_float_);
        if (number_ != MPI_DATATYPE_NULL && own != MPI_OP_NULL)
            return c::update_by(c::entry_type(number_), own);
        return c::update_by(c::entry_type(bytes_.get()),
                            value_operation_of(name, dtype_, item_bytes_));
    }

    c::entry_operation write() const {
        return c::writes_by(c::entry_type(bytes_.get()), overwrite::any, nullptr).by;
    }

  private:
    nb::object dtype_;
    nb::object base_;  // of an entry that is itself an array, its elements'
    std::size_t item_bytes_;
    MPI_Datatype number_;
    c::bytes_type bytes_;
    bool is_float_;
};

// An array and its prepared batches.
struct array_parts {
    array_parts(shared_context where, nb::object dtype)
        : state(std::move(where)), kind(std::move(dtype)) {}

    shared_context state;
    entry_kind kind;
    std::unique_ptr<array_engine> engine;
    bool is_open = true;
};

// Indices of entries, an array of int64 that Python has made.
std::span<const count_t> indices_of(const item_array& held) {
    const auto bytes = held.bytes();
    return {reinterpret_cast<const count_t*>(bytes.data()), bytes.size() / sizeof(count_t)};
}

void hold_values(item_array& values, nb::handle given, const char* name, bool is_output,
                 const entry_kind& kind, count_t length) {
    values.hold(given, name, is_output);
    if (!values.dtype().equal(kind.number()))
        raise_type_error(std::string(name) + " has dtype " + text_of(values.dtype()) +
                         ", but entries " + text_of(kind.number()));
    if (values.item_bytes() != kind.item_bytes())
        raise_value_error(std::string(name) + " has items of " +
                          std::to_string(values.item_bytes()) + " bytes, but entries have " +
                          std::to_string(kind.item_bytes()));
    values.require_length(length, "there are", "indices");
}

class batch_object;

class array_object {
  public:
    explicit array_object(std::shared_ptr<array_parts> parts) : parts_(std::move(parts)) {}
    ~array_object() {
        if (parts_) {
            const auto state = parts_->state;
            state->drop(std::move(parts_));
        }
    }
    array_object(const array_object&) = delete;
    array_object& operator=(const array_object&) = delete;

    static std::unique_ptr<array_object> make(const shared_context& state, nb::handle length,
                                              nb::handle dtype, nb::handle num_local,
                                              nb::handle route, nb::handle expected_requests,
                                              nb::handle combine) {
        const call_scope scope(*state);
        struct given_options {
            nb::object dtype;
            count_t length;
            array_settings settings;
        };
        std::int64_t same = 0;
        auto given = agreed(
            state->where,
            [&] {
                given_options result;
                result.dtype = as_dtype(dtype);
                result.length = argument<count_t>(length, "length", "an int that fits into int64");
                auto& settings = result.settings;
                if (!num_local.is_none())
                    settings.num_local = argument<count_t>(num_local, "num_local", "an int");
                settings.route = argument<std::string>(route, "route", "a str");
                settings.expected_requests =
                    argument<count_t>(expected_requests, "expected_requests", "an int");
                settings.combine.strategy =
                    parse_combining(argument<std::string>(combine, "combine", "a str"));
                same = agreement_hash(text_of(result.dtype));
                return result;
            },
            same, "the dtypes of entries");
        auto parts = std::make_shared<array_parts>(state, given.dtype);
        parts->engine = without_gil([&] {
            return std::make_unique<array_engine>(state->where, given.length, given.settings,
                                                  parts->kind.item_bytes());
        });
        return std::make_unique<array_object>(std::move(parts));
    }

    // One batch of reads, writes or updates. `describe()` gives indices, and values or the array
    // for what is read; what it raises is heard of on all ranks.
    void read(nb::handle describe) {
        run([&](array_batch& batch, auto&& attempt, auto&& hold) {
            batch.has_reads = true;
            attempt([&] { std::tie(batch.reads, batch.out) = hold(describe(), "out", true); });
        });
    }

    void write(nb::handle describe) {
        const auto by = parts_->kind.write();
        run([&](array_batch& batch, auto&& attempt, auto&& hold) {
            set_operation(batch.writes, by);
            attempt([&] {
                std::tie(batch.writes.indices, batch.writes.values) =
                    hold(describe(), "values", false);
            });
        });
    }

    void update(nb::handle describe, nb::handle name_of_operation) {
        c::entry_operation by;
        run([&](array_batch& batch, auto&& attempt, auto&& hold) {
            attempt([&] {
                by = parts_->kind.update(nb::cast<std::string>(name_of_operation()));
                set_operation(batch.updates, by);
                std::tie(batch.updates.indices, batch.updates.values) =
                    hold(describe(), "values", false);
            });
        });
    }

    nb::object local() const {
        auto& engine = *parts_->engine;
        const auto num_bytes =
            static_cast<std::size_t>(engine.owners().size(rank())) * parts_->kind.item_bytes();
        auto* const owner = new std::shared_ptr<array_parts>(parts_);
        const nb::capsule keeper(owner, [](void* kept) noexcept {
            const std::unique_ptr<std::shared_ptr<array_parts>> last(
                static_cast<std::shared_ptr<array_parts>*>(kept));
            const auto state = (*last)->state;
            state->drop(std::move(*last));
        });
        return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(engine.entries(),
                                                                          {num_bytes}, keeper));
    }

    nb::object dtype() const { return nb::borrow(parts_->kind.dtype()); }
    count_t length() const { return parts_->engine->owners().num_entries(); }
    std::pair<count_t, count_t> owned() const {
        const auto& owners = parts_->engine->owners();
        return {owners.first(rank()), owners.first(rank() + 1)};
    }
    rank_t owner(count_t index) const {
        const auto& owners = parts_->engine->owners();
        if (index < 0 || index >= owners.num_entries())
            throw error(errc::index_out_of_range,
                        "index " + std::to_string(index) + " is outside [0, " +
                            std::to_string(owners.num_entries()) + ")",
                        rank());
        return owners.owner(index);
    }
    std::string route() const { return parts_->engine->route_name(); }
    bool is_open() const noexcept { return parts_->is_open && parts_->state->where.is_open(); }

    void close() {
        if (!is_open()) return;
        const call_scope scope(*parts_->state);
        without_gil([&] { parts_->engine->close(); });
        parts_->is_open = false;
    }

    std::unique_ptr<batch_object> prepare(nb::handle indices) const;

  private:
    static void set_operation(array_changes& changes, const c::entry_operation& by) {
        changes.operation = by.operation.get();
        changes.predefined = by.predefined;
    }

    template <class Describe>
    void run(Describe&& describe) {
        const call_scope scope(*parts_->state);
        array_batch batch;
        item_array indices;
        item_array values;
        const auto attempt = [&](auto&& part) {
            try {
                part();
            } catch (...) {
                batch.fault = fault_in_flight();
            }
        };
        const auto hold = [&](const nb::object& given, const char* name, bool is_output) {
            indices.hold(given[0], "indices", false);
            hold_values(values, given[1], name, is_output, parts_->kind, indices.length());
            return std::pair(indices_of(indices), values.bytes().data());
        };
        describe(batch, attempt, hold);
        without_gil([&] { parts_->engine->run(batch); });
    }

    rank_t rank() const { return parts_->state->where.rank(); }

    std::shared_ptr<array_parts> parts_;
};

// Requests for the same entries, made again and again.
class batch_object {
  public:
    batch_object(std::shared_ptr<array_parts> parts, std::shared_ptr<neighbor_exchange> requests)
        : parts_(std::move(parts)), requests_(std::move(requests)) {}
    ~batch_object() {
        if (requests_->is_active()) values_.leak();
        const auto state = parts_->state;
        state->drop(std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(
            std::move(parts_), std::move(requests_)));
    }
    batch_object(const batch_object&) = delete;
    batch_object& operator=(const batch_object&) = delete;

    count_t num_requests() const { return requests_->compiled_plan().num_slots(); }
    bool is_active() const { return requests_->is_active(); }

    void start_read(nb::handle out) {
        const call_scope scope(*parts_->state);
        hold(out, "out", true);
        start([&] { requests_->start_bytes(entries(), values_.bytes(), item_bytes()); });
    }

    void start_update(nb::handle values, const std::string& operation) {
        const call_scope scope(*parts_->state);
        hold(values, "values", false);
        if (operation != operation_) {
            combine_ = operation_of(operation, parts_->kind.dtype(), item_bytes());
            operation_ = operation;
        }
        start([&] {
            requests_->start_reverse_bytes(values_.bytes(), entries(), item_bytes(), combine_);
        });
    }

    bool test() {
        const call_scope scope(*parts_->state);
        require_active();
        if (!without_gil([&] { return requests_->test(); })) return false;
        finish();
        return true;
    }

    void wait() {
        const call_scope scope(*parts_->state);
        require_active();
        wait_until([&] { return requests_->test(); });
        finish();
    }

  private:
    std::size_t item_bytes() const { return parts_->kind.item_bytes(); }

    std::span<std::byte> entries() const {
        return {parts_->engine->entries(),
                static_cast<std::size_t>(requests_->compiled_plan().num_items()) * item_bytes()};
    }

    void require_active() const {
        if (!requests_->is_active()) throw error(errc::invalid_state, "no request is active");
    }

    void hold(nb::handle given, const char* name, bool is_output) {
        if (requests_->is_active()) throw error(errc::invalid_state, "a request is active already");
        try {
            hold_values(values_, given, name, is_output, parts_->kind, num_requests());
        } catch (...) {
            values_.release();
            throw;
        }
    }

    template <class Start>
    void start(Start&& start) {
        try {
            without_gil(start);
        } catch (...) {
            values_.release();
            throw;
        }
        parts_->engine->add_active(1);
        ++parts_->state->num_active;
    }

    void finish() {
        values_.release();
        parts_->engine->add_active(-1);
        --parts_->state->num_active;
    }

    std::shared_ptr<array_parts> parts_;
    std::shared_ptr<neighbor_exchange> requests_;
    item_array values_;
    combine_function combine_;  // of the last update
    std::string operation_;
};

std::unique_ptr<batch_object> array_object::prepare(nb::handle indices) const {
    const call_scope scope(*parts_->state);
    const auto wanted =
        agreed(parts_->state->where, [&] { return integers<count_t>(indices, "indices"); });
    auto requests = without_gil(
        [&] { return std::make_shared<neighbor_exchange>(parts_->engine->prepare(wanted)); });
    return std::make_unique<batch_object>(parts_, std::move(requests));
}

}  // namespace

void bind_array(nb::module_& module) {
    nb::class_<batch_object> batch(module, "PreparedBatch");
    define(batch, "start_read", &batch_object::start_read);
    define(batch, "start_update", &batch_object::start_update);
    batch.def("test", &batch_object::test)
        .def("wait", &batch_object::wait)
        .def_prop_ro("num_requests", &batch_object::num_requests)
        .def_prop_ro("is_active", &batch_object::is_active);

    nb::class_<array_object> bound(module, "DistributedArray");
    define_static(bound, "make", &array_object::make);
    define(bound, "read", &array_object::read);
    define(bound, "write", &array_object::write);
    define(bound, "update", &array_object::update);
    bound.def("prepare", &array_object::prepare, nb::arg().none())
        .def("local", &array_object::local)
        .def("owner", &array_object::owner)
        .def("close", &array_object::close)
        .def_prop_ro("dtype", &array_object::dtype)
        .def_prop_ro("length", &array_object::length)
        .def_prop_ro("owned", &array_object::owned)
        .def_prop_ro("route", &array_object::route)
        .def_prop_ro("is_open", &array_object::is_open);
}

}  // namespace crossdock::python
