#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <array>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "crossdock/distributed_array.hpp"
#include "started_object.hpp"

namespace crossdock::python {

namespace {

// None unless the entries are single numbers of C++'s types.
number_type number_type_of(nb::handle dtype) {
    if (!nb::cast<bool>(dtype.attr("isnative")) || nb::len(nb::object(dtype.attr("shape"))) > 0)
        return {};
    return {text_of(dtype.attr("kind")).front(), nb::cast<std::size_t>(dtype.attr("itemsize"))};
}

// Of values that a ufunc of NumPy combines: of updates, or of writes to one entry.
class ufunc_operation final : public value_operation {
  public:
    ufunc_operation(item_ufunc function, std::size_t item_bytes, bool is_write)
        : function_(std::move(function)),
          name_(text_of(function_.function())),
          item_bytes_(item_bytes),
          is_write_(is_write) {}

    std::size_t value_bytes() const noexcept override { return item_bytes_; }
    bool may_throw() const noexcept override { return true; }
    bool combines_at_owner() const noexcept override { return is_write_; }
    const char* name() const noexcept override { return name_.c_str(); }
    bool fill_with_identity(std::byte*, std::size_t) const noexcept override { return false; }

    void combine(std::byte* into, std::uint8_t* is_set, const std::byte* from,
                 std::span<const position_t> positions, std::size_t&) const override {
        std::vector<count_t> later;
        std::vector<std::byte> values;
        for (const position_t p : positions) {
            if (std::exchange(is_set[p], 1)) {
                later.push_back(p);
                values.insert(values.end(), from, from + item_bytes_);
            } else {
                std::memcpy(into + p * item_bytes_, from, item_bytes_);
            }
            from += item_bytes_;
        }
        function_.combine(into, later, values.data());
    }

    void apply(std::byte* entries, const std::byte* from, std::span<const count_t> offsets,
               std::size_t&) const override {
        if (!is_write_) return function_.combine(entries, offsets, from);
        for (const count_t offset : offsets) {
            std::memcpy(entries + static_cast<std::size_t>(offset) * item_bytes_, from,
                        item_bytes_);
            from += item_bytes_;
        }
    }

  private:
    item_ufunc function_;
    std::string name_;
    std::size_t item_bytes_;
    bool is_write_;
};

// What an array's entries are.
class entry_kind {
  public:
    explicit entry_kind(nb::object dtype)
        : dtype_(std::move(dtype)),
          base_(dtype_.attr("base")),
          item_bytes_(nb::cast<std::size_t>(dtype_.attr("itemsize"))) {}

    nb::handle dtype() const { return dtype_; }
    nb::handle number() const { return base_; }
    std::size_t item_bytes() const noexcept { return item_bytes_; }

    // By a name or a ufunc; None: the sum where there is one, and else the value that comes.
    entry_operation update(nb::handle operation) const {
        if (operation.is_none()) {
            try {
                return update(nb::str("sum"));
            } catch (const nb::python_error&) {
                return replacing(number_type_of(dtype_), item_bytes_);
            }
        }
        if (!nb::isinstance<nb::str>(operation)) return {by_ufunc(operation, false)};
        const auto name = nb::cast<std::string>(operation);
        auto own =
            own_update(number_type_of(dtype_), [&](const auto& one) { return name == one.name; });
        return own.operation
                   ? std::move(own)
                   : bytes_update(item_bytes_, name, value_operation_of(name, dtype_, item_bytes_));
    }

    // By a name or a ufunc.
    entry_writes writes(nb::handle rule) const {
        if (!nb::isinstance<nb::str>(rule)) return {{by_ufunc(rule, true)}};
        const auto which =
            choice_of<overwrite>(rule, "equal_writes, unless it is a ufunc,",
                                 {{"any", overwrite::any},
                                  {"smallest_rank_last", overwrite::smallest_rank_last},
                                  {"minimum", overwrite::minimum},
                                  {"maximum", overwrite::maximum}});
        return writes_by(number_type_of(dtype_), item_bytes_, which);
    }

  private:
    std::unique_ptr<value_operation> by_ufunc(nb::handle ufunc, bool is_write) const {
        return std::make_unique<ufunc_operation>(item_ufunc(ufunc, dtype_, item_bytes_),
                                                 item_bytes_, is_write);
    }

    nb::object dtype_;
    nb::object base_;  // of an entry that is itself an array, its elements'
    std::size_t item_bytes_;
};

// An array and its prepared batches.
struct array_parts {
    explicit array_parts(shared_context where) : state(std::move(where)) {}

    shared_context state;
    std::optional<entry_kind> kind;
    entry_writes writes;
    std::shared_ptr<array_engine> engine;
    bool is_open = true;
};

// What one rank asks of an array, with all that it refers to.
struct owned_batch {
    array_batch batch;
    std::array<item_array, 3> indices;
    std::array<item_array, 3> values;
    std::vector<std::byte> with_ranks;
    entry_operation updates;
};

// Indices of entries, an array of int64 that Python has made.
std::span<const count_t> indices_of(const item_array& held) {
    const auto bytes = held.bytes();
    return {reinterpret_cast<const count_t*>(bytes.data()), bytes.size() / sizeof(count_t)};
}

void hold_items(item_array& values, nb::handle given, const char* name, bool is_output,
                const entry_kind& kind) {
    values.hold(given, name, is_output);
    if (!values.dtype().equal(kind.number()))
        raise_type_error(std::string(name) + " has dtype " + text_of(values.dtype()) +
                         ", but entries " + text_of(kind.number()));
    if (values.item_bytes() != kind.item_bytes())
        raise_value_error(std::string(name) + " has items of " +
                          std::to_string(values.item_bytes()) + " bytes, but entries have " +
                          std::to_string(kind.item_bytes()));
}

void hold_values(item_array& values, nb::handle given, const char* name, bool is_output,
                 const entry_kind& kind, count_t length) {
    hold_items(values, given, name, is_output, kind);
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
                                              nb::handle combine, nb::handle combine_locally,
                                              nb::handle combine_on_the_way, nb::handle transport,
                                              nb::handle equal_writes, nb::handle reproducible,
                                              nb::handle name) {
        auto parts = std::make_shared<array_parts>(state);
        struct given_options {
            count_t length;
            array_settings settings;
            std::size_t item_bytes;
        };
        std::string same;
        const auto read_all = [&] {
            auto& kind = parts->kind.emplace(as_dtype(dtype));
            given_options result{argument<count_t>(length, "length", "an int that fits into int64"),
                                 {},
                                 kind.item_bytes()};
            auto& settings = result.settings;
            if (!num_local.is_none())
                settings.num_local = argument<count_t>(num_local, "num_local", "an int");
            read(settings.route, route, "route");
            read(settings.expected_requests, expected_requests, "expected_requests");
            settings.combine.strategy =
                parse_combining(argument<std::string>(combine, "combine", "a str"));
            read(settings.combine.locally, combine_locally, "combine_locally");
            read(settings.combine.on_the_way, combine_on_the_way, "combine_on_the_way");
            settings.transport = choice_of<array_transport>(transport, "transport",
                                                            {{"routed", array_transport::routed},
                                                             {"plain", array_transport::plain},
                                                             {"rma", array_transport::rma}});
            read(settings.reproducible, reproducible, "reproducible");
            read(settings.name, name, "name");
            const nb::object rule = equal_writes(kind.dtype());
            parts->writes = kind.writes(rule);
            same = "a distributed array\ndtype = " + text_of(kind.dtype()) +
                   "\nequal_writes = " + text_of(rule);
            return result;
        };
        parts->engine = agree_and_use(
            *state, read_all,
            [](const context& where, const given_options& given) {
                return with_reserve([&] {
                    return std::make_shared<array_engine>(where, given.length, given.settings,
                                                          given.item_bytes);
                });
            },
            same);
        return std::make_unique<array_object>(std::move(parts));
    }

    // One batch: all writes, then all updates, then all reads. Each `describe` gives indices, and values or the array
    // for what is read, or None; what it raises is heard of on all ranks.
    void run(nb::handle describe_writes, nb::handle describe_updates, nb::handle operation,
             nb::handle describe_reads, bool is_step) {
        const begin_scope scope(*parts_->state);
        const auto own = std::make_shared<owned_batch>();
        auto& batch = own->batch;
        const auto& kind = *parts_->kind;
        const auto hold = [&](std::size_t which, nb::handle describe, const char* name) {
            const nb::object given = describe();
            own->indices[which].hold(given[0], "indices", false);
            hold_values(own->values[which], given[1], name, which == 2, kind,
                        own->indices[which].length());
            return std::pair(indices_of(own->indices[which]), own->values[which].bytes().data());
        };
        bool calls_python = false;
        try {
            if (is_step || !describe_writes.is_none()) {
                const auto& by = parts_->writes.by;
                batch.writes.operation = by.operation.get();
                batch.writes.predefined = by.predefined;
                calls_python = by.operation->may_throw();
            }
            if (!describe_writes.is_none()) {
                std::tie(batch.writes.indices, batch.writes.values) =
                    hold(0, describe_writes, "values");
                if (parts_->writes.carries_rank) {
                    own->with_ranks =
                        with_rank_behind(batch.writes.values, batch.writes.indices.size(),
                                         kind.item_bytes(), rank());
                    batch.writes.values = own->with_ranks.data();
                }
            }
            if (is_step || !describe_updates.is_none()) {
                own->updates = kind.update(operation());
                batch.updates.operation = own->updates.operation.get();
                batch.updates.predefined = own->updates.predefined;
                calls_python = calls_python || batch.updates.operation->may_throw();
            }
            if (!describe_updates.is_none())
                std::tie(batch.updates.indices, batch.updates.values) =
                    hold(1, describe_updates, "values");
            batch.has_reads = is_step || !describe_reads.is_none();
            if (!describe_reads.is_none())
                std::tie(batch.reads, batch.out) = hold(2, describe_reads, "out");
        } catch (...) {
            batch.fault = fault_in_flight();
        }
        // Python knows this thread's stack only.
        if (calls_python) return without_gil([&] { parts_->engine->run(batch); });
        collectively(*parts_->state, [own, engine = parts_->engine] { engine->run(own->batch); });
    }

    nb::dict statistics() const {
        const auto& last = parts_->engine->statistics();
        const auto sums = last.total();
        nb::dict result;
        result["requests"] = last.requests;
        result["combined_locally"] = last.combined_locally;
        result["messages"] = sums.sent.messages;
        result["empty_messages"] = sums.empty_messages;
        result["sent"] = sums.sent.items;
        result["inter_region_messages"] = sums.sent.inter_region_messages;
        result["inter_region_sent"] = sums.sent.inter_region_items;
        result["received"] = sums.received;
        result["combined"] = sums.combined;
        result["arrived"] = last.arrived;
        result["combine_locally_seconds"] = last.seconds.combine_locally;
        result["combine_on_the_way_seconds"] = last.seconds.combine_on_the_way;
        result["write_seconds"] = last.seconds.write;
        result["read_seconds"] = last.seconds.read;
        result["split_seconds"] = last.seconds.split;
        result["communicate_seconds"] = last.seconds.communicate;
        return result;
    }

    nb::object local() const {
        auto& engine = *parts_->engine;
        const auto num_bytes =
            static_cast<std::size_t>(engine.owners().size(rank())) * parts_->kind->item_bytes();
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

    nb::object dtype() const { return nb::borrow(parts_->kind->dtype()); }
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
    std::string route() const { return parts_->engine->route(); }
    bool is_open() const noexcept { return parts_->is_open && parts_->state->where.is_open(); }

    void close() {
        if (!is_open()) return;
        const begin_scope scope(*parts_->state);
        collectively(*parts_->state, [engine = parts_->engine] { engine->close(); });
        parts_->is_open = false;
    }

    std::unique_ptr<batch_object> prepare(nb::handle indices) const;

  private:
    rank_t rank() const { return parts_->state->where.rank(); }

    std::shared_ptr<array_parts> parts_;
};

// Requests for the same entries, made again and again.
class batch_object : public started_object<batch_object, prepared_requests> {
  public:
    static constexpr started_words words{"a request", "no request", ""};

    batch_object(std::shared_ptr<array_parts> parts, std::shared_ptr<prepared_requests> requests)
        : started_object(parts->state, std::move(requests)), parts_(std::move(parts)) {}
    ~batch_object() {
        if (is_active()) values_.leak();
        state_->drop(std::move(object_));
        state_->drop(std::move(parts_));
    }

    void release() { values_.release(); }

    count_t num_requests() const { return object_->num_requests(); }

    void start_read(nb::handle out) {
        const begin_scope scope(*parts_->state);
        hold(false, out, "out");
        start([&](auto& exchange) {
            exchange.start_bytes(object_->entries(), values_.bytes(), item_bytes());
        });
    }

    void start_update(nb::handle values, nb::handle operation) {
        const begin_scope scope(*parts_->state);
        hold(true, values, "values", operation);
        start([&](auto& exchange) {
            exchange.start_reverse_bytes(values_.bytes(), object_->entries(), item_bytes(),
                                         operation_.function());
        });
    }

    // The first position of each entry's requests and the end, and their values as bytes.
    std::pair<nb::object, nb::object> gather(nb::handle values) {
        const begin_scope scope(*parts_->state);
        auto gathered = collectively(
            *parts_->state, [requests = object_, sent = held(values, "values", false)] {
                const auto num_bytes =
                    static_cast<std::size_t>(requests->offsets().back()) * sent->item_bytes();
                auto memory = std::make_unique_for_overwrite<std::byte[]>(num_bytes);
                requests->gather(sent->bytes(), {memory.get(), num_bytes});
                return std::pair(std::move(memory), num_bytes);
            });
        auto* const memory = gathered.first.release();
        const nb::capsule keeper(
            memory, [](void* kept) noexcept { delete[] static_cast<std::byte*>(kept); });
        return {array_of<count_t>(object_->offsets()),
                nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(
                    memory, {gathered.second}, keeper))};
    }

    void scatter(nb::handle gathered, nb::handle out) {
        const begin_scope scope(*parts_->state);
        const auto into = held(out, "out", true);
        const auto sent = std::make_shared<item_array>();
        hold_items(*sent, gathered, "gathered", false, *parts_->kind);
        collectively(*parts_->state, [requests = object_, sent, into] {
            const count_t num_gathered = requests->offsets().back();
            if (sent->length() != num_gathered)
                throw error(errc::size_mismatch, "gathered has " + std::to_string(sent->length()) +
                                                     " items; give one for each of the " +
                                                     std::to_string(num_gathered) +
                                                     " requests for entries of this rank");
            requests->scatter(sent->bytes(), into->bytes());
        });
    }

    void fetch_and_update(nb::handle values, nb::handle out, nb::handle operation) {
        const begin_scope scope(*parts_->state);
        const auto sent = held(values, "values", false);
        const auto into = held(out, "out", true);
        into->require_no_overlap(*sent);
        auto update = std::make_shared<entry_operation>(parts_->kind->update(operation));
        collectively(*parts_->state, [requests = object_, sent, into, update] {
            requests->fetch_and_update(sent->bytes(), into->bytes(), *update->operation);
        });
    }

  private:
    std::size_t item_bytes() const { return parts_->kind->item_bytes(); }

    void hold(bool is_update, nb::handle given, const char* name, nb::handle operation = {}) {
        require_idle();
        hold_or_fail(is_update, item_bytes(), [&](std::size_t) {
            hold_values(values_, given, name, !is_update, *parts_->kind, num_requests());
            if (is_update) operation_.set(operation, parts_->kind->dtype(), item_bytes());
        });
    }

    // Of a call that may be left in the middle, which then keeps them.
    std::shared_ptr<item_array> held(nb::handle given, const char* name, bool is_output) const {
        require_idle();
        auto result = std::make_shared<item_array>();
        hold_values(*result, given, name, is_output, *parts_->kind, num_requests());
        return result;
    }

    template <class Start>
    void start(Start&& start) {
        try {
            without_gil([&] { object_->start(start); });
        } catch (...) {
            values_.release();
            throw;
        }
    }

    std::shared_ptr<array_parts> parts_;
    item_array values_;
};

std::unique_ptr<batch_object> array_object::prepare(nb::handle indices) const {
    auto made = agree_and_use(
        *parts_->state, [&] { return integers<count_t>(indices, "indices"); },
        [engine = parts_->engine](const context&, const std::vector<count_t>& wanted) {
            return with_reserve(
                [&] { return std::make_shared<prepared_requests>(engine, wanted); });
        },
        "a prepared batch");
    return std::make_unique<batch_object>(parts_, std::move(made));
}

}  // namespace

void bind_array(nb::module_& module) {
    nb::class_<batch_object> batch(module, "PreparedBatch");
    define(batch, "start_read", &batch_object::start_read);
    define(batch, "start_update", &batch_object::start_update);
    define(batch, "gather", &batch_object::gather);
    define(batch, "scatter", &batch_object::scatter);
    define(batch, "fetch_and_update", &batch_object::fetch_and_update);
    bind_started(batch);
    batch.def("plan", [](const batch_object& own) { return own.plan(); })
        .def_prop_ro("num_requests", &batch_object::num_requests);

    nb::class_<array_object> bound(module, "DistributedArray");
    define_static(bound, "make", &array_object::make);
    define(bound, "run", &array_object::run);
    bound.def("prepare", &array_object::prepare, nb::arg().none())
        .def("local", &array_object::local)
        .def("owner", &array_object::owner)
        .def("statistics", &array_object::statistics)
        .def("close", &array_object::close)
        .def_prop_ro("dtype", &array_object::dtype)
        .def_prop_ro("length", &array_object::length)
        .def_prop_ro("owned", &array_object::owned)
        .def_prop_ro("route", &array_object::route)
        .def_prop_ro("is_open", &array_object::is_open);
}

}  // namespace crossdock::python
