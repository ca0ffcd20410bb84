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

// Calls `use(T())` with the numbers that entries are, if they are single ones of C++'s types; else returns false.
template <class Use>
bool with_number(nb::handle dtype, Use&& use) {
    if (!nb::cast<bool>(dtype.attr("isnative")) || nb::len(nb::object(dtype.attr("shape"))) > 0)
        return false;
    const std::string name = text_of(dtype.attr("kind")) + text_of(dtype.attr("itemsize"));
    const auto use_if = [&](const char* known, auto number) {
        if (name != known) return false;
        use(number);
        return true;
    };
    return use_if("i1", std::int8_t()) || use_if("i2", std::int16_t()) ||
           use_if("i4", std::int32_t()) || use_if("i8", std::int64_t()) ||
           use_if("u1", std::uint8_t()) || use_if("u2", std::uint16_t()) ||
           use_if("u4", std::uint32_t()) || use_if("u8", std::uint64_t()) ||
           use_if("f4", float()) || use_if("f8", double());
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
                return replacing();
            }
        }
        if (!nb::isinstance<nb::str>(operation))
            return {std::make_unique<ufunc_operation>(item_ufunc(operation, dtype_, item_bytes_),
                                                      item_bytes_, false)};
        const auto name = nb::cast<std::string>(operation);
        entry_operation own;
        with_number(dtype_, [&](auto number) {
            using type = decltype(number);
            for_each_operation<type>([&](const auto& one) {
                if (name == one.name) own = typed_update<type>(one.apply);
            });
        });
        return own.operation
                   ? std::move(own)
                   : bytes_update(item_bytes_, name, value_operation_of(name, dtype_, item_bytes_));
    }

    // By a name or a ufunc.
    entry_writes writes(nb::handle rule) const {
        if (!nb::isinstance<nb::str>(rule))
            return {{std::make_unique<ufunc_operation>(item_ufunc(rule, dtype_, item_bytes_),
                                                       item_bytes_, true)}};
        const auto name = nb::cast<std::string>(rule);
        if (name == "any") return {replacing()};
        if (name == "smallest_rank_last") return smallest_rank_last(item_bytes_);
        if (name != "minimum" && name != "maximum")
            raise_value_error(
                "equal_writes must be \"any\", \"smallest_rank_last\", \"minimum\", "
                "\"maximum\" or a ufunc, not \"" +
                name + "\"");
        const auto which = name == "minimum" ? overwrite::minimum : overwrite::maximum;
        entry_writes result;
        const bool has_order = with_number(dtype_, [&](auto number) {
            result.by.operation = make_write_rule<decltype(number)>(which, nullptr).operation;
        });
        struct without_order {
            std::byte byte;
        };
        if (!has_order) make_write_rule<without_order>(which, nullptr);  // throws
        return result;
    }

  private:
    // The last of several.
    entry_operation replacing() const {
        auto result = replacing_bytes(item_bytes_);
        with_number(dtype_,
                    [&](auto number) { result = typed_update<decltype(number)>(replace()); });
        return result;
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
                                              nb::handle equal_writes) {
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
            const nb::object rule = equal_writes(kind.dtype());
            parts->writes = kind.writes(rule);
            same = "a distributed array\ndtype = " + text_of(kind.dtype()) +
                   "\nequal_writes = " + text_of(rule);
            return result;
        };
        parts->engine = agree_and_use(
            *state, read_all,
            [](const context& where, const given_options& given) {
                return std::make_shared<array_engine>(where, given.length, given.settings,
                                                      given.item_bytes);
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
                if (parts_->writes.carries_rank) add_ranks(*own);
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
        request_stage sums{};
        traffic sent{};
        for (const auto& stage : last.stages) {
            sent += stage.sent;
            sums.received += stage.received;
            sums.combined += stage.combined;
            sums.empty_messages += stage.empty_messages;
        }
        nb::dict result;
        result["requests"] = last.requests;
        result["combined_locally"] = last.combined_locally;
        result["messages"] = sent.messages;
        result["empty_messages"] = sums.empty_messages;
        result["sent"] = sent.items;
        result["inter_region_messages"] = sent.inter_region_messages;
        result["inter_region_sent"] = sent.inter_region_items;
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
    // Behind each value.
    void add_ranks(owned_batch& own) const {
        auto& writes = own.batch.writes;
        const std::size_t item_bytes = parts_->kind->item_bytes();
        const rank_t here = rank();
        own.with_ranks.reserve(writes.indices.size() * (item_bytes + sizeof here));
        const auto append = [&](const void* from, std::size_t num_bytes) {
            const auto* const begin = static_cast<const std::byte*>(from);
            own.with_ranks.insert(own.with_ranks.end(), begin, begin + num_bytes);
        };
        for (std::size_t k = 0; k < writes.indices.size(); ++k) {
            append(writes.values + k * item_bytes, item_bytes);
            append(&here, sizeof here);
        }
        writes.values = own.with_ranks.data();
    }

    rank_t rank() const { return parts_->state->where.rank(); }

    std::shared_ptr<array_parts> parts_;
};

// Requests for the same entries, made again and again.
class batch_object : public started_object<batch_object, neighbor_exchange> {
  public:
    static constexpr started_words words{"a request", "no request", ""};

    batch_object(std::shared_ptr<array_parts> parts,
                 std::shared_ptr<const std::vector<count_t>> indices,
                 std::shared_ptr<neighbor_exchange> requests)
        : started_object(parts->state, std::move(requests)),
          parts_(std::move(parts)),
          indices_(std::move(indices)),
          to_owners_(std::make_shared<std::optional<multi_sf>>()) {}
    ~batch_object() {
        if (is_active()) values_.leak();
        state_->drop(std::move(to_owners_));
        state_->drop(std::move(object_));
        state_->drop(std::move(parts_));
    }

    void release() { values_.release(); }
    void is_over() { parts_->engine->add_active(-1); }

    count_t num_requests() const { return object_->plan().num_slots(); }

    void start_read(nb::handle out) {
        const begin_scope scope(*parts_->state);
        hold(false, out, "out");
        start([&] { object_->start_bytes(entries(), values_.bytes(), item_bytes()); });
    }

    void start_update(nb::handle values, nb::handle operation) {
        const begin_scope scope(*parts_->state);
        hold(true, values, "values", operation);
        start([&] {
            object_->start_reverse_bytes(values_.bytes(), entries(), item_bytes(),
                                         operation_.function());
        });
    }

    // The first position of each entry's requests and the end, and their values as bytes.
    std::pair<nb::object, nb::object> gather(nb::handle values) {
        const begin_scope scope(*parts_->state);
        const auto sent = held(values, "values", false);
        auto gathered = collectively(*parts_->state, [way = way_to_owners(), sent] {
            return gather_bytes(way.get(), *sent);
        });
        auto* const memory = gathered.memory.release();
        const nb::capsule keeper(
            memory, [](void* kept) noexcept { delete[] static_cast<std::byte*>(kept); });
        return {array_of<count_t>((*to_owners_)->offsets),
                nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(
                    memory, {gathered.num_bytes}, keeper))};
    }

    void scatter(nb::handle gathered, nb::handle out) {
        const begin_scope scope(*parts_->state);
        const auto into = held(out, "out", true);
        const auto sent = std::make_shared<item_array>();
        hold_items(*sent, gathered, "gathered", false, *parts_->kind);
        collectively(*parts_->state, [way = way_to_owners(), sent, into] {
            auto& planned = way.get();
            if (sent->length() != planned.offsets.back())
                throw error(errc::size_mismatch, "gathered has " + std::to_string(sent->length()) +
                                                     " items; give one for each of the " +
                                                     std::to_string(planned.offsets.back()) +
                                                     " requests for entries of this rank");
            put_back(planned, sent->bytes(), *into);
        });
    }

    void fetch_and_update(nb::handle values, nb::handle out, const std::string& operation) {
        const begin_scope scope(*parts_->state);
        const auto sent = held(values, "values", false);
        const auto into = held(out, "out", true);
        into->require_no_overlap(*sent);
        const auto combine = value_operation_of(operation, parts_->kind->dtype(), item_bytes());
        collectively(*parts_->state, [way = way_to_owners(), sent, into, combine] {
            auto& planned = way.get();
            const auto gathered = gather_bytes(planned, *sent);
            fetch_and_update_entries(way.engine->entries(), planned.offsets, gathered.memory.get(),
                                     combine, sent->item_bytes());
            put_back(planned, {gathered.memory.get(), gathered.num_bytes}, *into);
        });
    }

  private:
    using shared_items = std::shared_ptr<item_array>;

    std::size_t item_bytes() const { return parts_->kind->item_bytes(); }

    std::span<std::byte> entries() const {
        return {parts_->engine->entries(),
                static_cast<std::size_t>(object_->plan().num_items()) * item_bytes()};
    }

    void hold(bool is_update, nb::handle given, const char* name, nb::handle operation = {}) {
        require_idle();
        hold_or_fail(is_update, item_bytes(), [&](std::size_t) {
            hold_values(values_, given, name, !is_update, *parts_->kind, num_requests());
            if (is_update) operation_.set(operation, parts_->kind->dtype(), item_bytes());
        });
    }

    // Of a call that may be left in the middle, which then keeps them.
    shared_items held(nb::handle given, const char* name, bool is_output) const {
        require_idle();
        auto result = std::make_shared<item_array>();
        hold_values(*result, given, name, is_output, *parts_->kind, num_requests());
        return result;
    }

    // The way of requests of which none is combined, planned when it is needed.
    struct owners_way {
        std::shared_ptr<std::optional<multi_sf>> planned;
        std::shared_ptr<array_engine> engine;
        std::shared_ptr<const std::vector<count_t>> indices;

        multi_sf& get() const {
            if (!*planned) planned->emplace(plan_uncombined(*engine, *indices));
            return **planned;
        }
    };
    owners_way way_to_owners() const { return {to_owners_, parts_->engine, indices_}; }

    struct byte_memory {
        std::unique_ptr<std::byte[]> memory;
        std::size_t num_bytes;
    };

    static byte_memory gather_bytes(multi_sf& way, const item_array& values) {
        const std::size_t num_bytes =
            static_cast<std::size_t>(way.offsets.back()) * values.item_bytes();
        byte_memory result{std::make_unique_for_overwrite<std::byte[]>(num_bytes), num_bytes};
        way.requests.start_bytes(values.bytes(), {result.memory.get(), num_bytes},
                                 values.item_bytes());
        way.requests.wait();
        return result;
    }

    static void put_back(multi_sf& way, std::span<const std::byte> gathered,
                         const item_array& out) {
        way.requests.start_reverse_bytes(
            gathered, out.bytes(), out.item_bytes(),
            [item_bytes = out.item_bytes()](std::byte* to, const std::byte* from,
                                            const copy_list& list) {
                copy_items(to, from, list, item_bytes);
            });
        way.requests.wait();
    }

    // Requests for one entry take effect one after the other; each value becomes what it was before.
    static void fetch_and_update_entries(std::byte* entry, std::span<const count_t> offsets,
                                         std::byte* values, const value_combination& combine,
                                         std::size_t item_bytes) {
        std::vector<std::byte> before(item_bytes);
        for (std::size_t e = 0; e + 1 < offsets.size(); ++e, entry += item_bytes) {
            for (count_t k = offsets[e]; k < offsets[e + 1]; ++k) {
                std::byte* const value = values + static_cast<std::size_t>(k) * item_bytes;
                std::memcpy(before.data(), entry, item_bytes);
                combine(entry, value);
                std::memcpy(value, before.data(), item_bytes);
            }
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
    }

    std::shared_ptr<array_parts> parts_;
    std::shared_ptr<const std::vector<count_t>> indices_;
    std::shared_ptr<std::optional<multi_sf>> to_owners_;  // once it is needed
    item_array values_;
};

std::unique_ptr<batch_object> array_object::prepare(nb::handle indices) const {
    using index_list = std::shared_ptr<const std::vector<count_t>>;
    auto made = agree_and_use(
        *parts_->state,
        [&]() -> index_list {
            return std::make_shared<std::vector<count_t>>(integers<count_t>(indices, "indices"));
        },
        [engine = parts_->engine](const context&, const index_list& wanted) {
            return std::pair(wanted, std::make_shared<neighbor_exchange>(engine->prepare(*wanted)));
        });
    return std::make_unique<batch_object>(parts_, std::move(made.first), std::move(made.second));
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
