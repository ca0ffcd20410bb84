#include <optional>

#include "array_values.hpp"
#include "handles.hpp"

using crossdock::array_batch;
using crossdock::array_engine;
using crossdock::array_settings;
using crossdock::array_transport;
using crossdock::count_t;
using crossdock::errc;
using crossdock::error;
using crossdock::overwrite;
using crossdock::rank_t;
using crossdock::c::entry_operation;
using crossdock::c::entry_type;

struct crossdock_array {
    entry_type type;
    crossdock::c::entry_writes writes;
    std::shared_ptr<array_engine> engine;
};

namespace {

// A datatype of so many bytes: what lies between two values of an entry travels, too.
class bytes_type {
  public:
    explicit bytes_type(std::size_t num_bytes) {
        CROSSDOCK_MPI(
            MPI_Type_contiguous(crossdock::checked_cast<int>(num_bytes), MPI_BYTE, &type_));
        CROSSDOCK_MPI(MPI_Type_commit(&type_));
    }
    ~bytes_type() {
        int is_finalized = 0;
        MPI_Finalized(&is_finalized);
        if (!is_finalized) MPI_Type_free(&type_);
    }
    bytes_type(const bytes_type&) = delete;
    bytes_type& operator=(const bytes_type&) = delete;

    MPI_Datatype get() const noexcept { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// MPI's own replacement is for one-sided calls only.
class copy_operation {
  public:
    copy_operation() { CROSSDOCK_MPI(MPI_Op_create(copy, 1, &operation_)); }
    ~copy_operation() { MPI_Op_free(&operation_); }
    copy_operation(const copy_operation&) = delete;
    copy_operation& operator=(const copy_operation&) = delete;

    MPI_Op get() const noexcept { return operation_; }

  private:
    static void copy(void* values, void* into, int* length, MPI_Datatype* datatype) {
        int num_bytes = 0;
        MPI_Type_size(*datatype, &num_bytes);
        std::memcpy(into, values,
                    static_cast<std::size_t>(*length) * static_cast<std::size_t>(num_bytes));
    }

    MPI_Op operation_ = MPI_OP_NULL;
};

}  // namespace

struct crossdock_array_batch {
    entry_type type;
    bytes_type bytes;
    std::shared_ptr<array_engine> engine;
    std::vector<count_t> indices;
    crossdock::neighbor_exchange requests;
    std::optional<crossdock::multi_sf> uncombined = std::nullopt;  // once it is needed

    count_t num_entries() const { return requests.compiled_plan().num_items(); }

    std::vector<std::byte> room(count_t num_values) const {
        return std::vector<std::byte>(static_cast<std::size_t>(num_values) * type.item_bytes());
    }

    crossdock::multi_sf& to_owners() {
        if (!uncombined) uncombined.emplace(plan_uncombined(*engine, indices));
        return *uncombined;
    }

    // Each value by itself, to where its entry is.
    std::vector<std::byte> gather(const void* values) {
        auto& way = to_owners();
        auto gathered = room(way.offsets.back());
        way.requests.start(values, gathered.data(), bytes.get());
        way.requests.wait();
        return gathered;
    }

    void scatter(const void* gathered, void* values) {
        auto& way = to_owners();
        const copy_operation copy;
        way.requests.start_reverse(gathered, values, bytes.get(), copy.get());
        way.requests.wait();
    }
};

using namespace crossdock::c;

namespace {

const array_engine& engine_of(const crossdock_array* array) {
    require(array, "array");
    return *array->engine;
}

void require_no_batch(const array_engine& engine) {
    if (engine.is_in_batch()) throw error(errc::invalid_state, "a request during a batch");
}

void require_no_batch(const crossdock_array_batch* prepared) {
    require(prepared, "batch");
    require_no_batch(*prepared->engine);
}

combine_function function_of(crossdock_combine combine, void* user) {
    if (combine == nullptr) return nullptr;
    return [combine, user](std::byte* into, const std::byte* value) { combine(user, into, value); };
}

array_settings settings_from(const crossdock_array_options& given) {
    array_settings settings;
    if (given.num_local != -1) settings.num_local = given.num_local;
    settings.route = text_or(given.route, "auto");
    settings.expected_requests = given.expected_requests;
    if (given.combine != nullptr)
        settings.combine.strategy = crossdock::parse_combining(given.combine);
    settings.combine.locally = given.combine_locally != 0;
    settings.combine.on_the_way = given.combine_on_the_way != 0;
    settings.transport =
        checked_enum<array_transport>(given.transport, CROSSDOCK_TRANSPORT_RMA + 1, "transport");
    return settings;
}

// Adds this rank's part of a batch to it.
class batch_maker {
  public:
    explicit batch_maker(crossdock_array& array) : array_(array) {}

    void write(const crossdock_array_requests& given) {
        batch_.writes.operation = array_.writes.by.operation.get();
        batch_.writes.predefined = array_.writes.by.predefined;
        attempt([&] {
            batch_.writes.indices = checked(given);
            batch_.writes.values = static_cast<const std::byte*>(given.values);
            if (array_.writes.carries_rank) add_ranks();
        });
    }

    // `make()` gives the operation.
    template <class Make>
    void update(const crossdock_array_requests& given, Make&& make) {
        attempt([&] {
            operation_ = make();
            batch_.updates = {checked(given), static_cast<const std::byte*>(given.values),
                              operation_.operation.get(), operation_.predefined};
        });
    }

    void read(const crossdock_array_requests& given) {
        batch_.has_reads = true;
        attempt([&] {
            batch_.reads = checked(given);
            batch_.out = static_cast<std::byte*>(given.values);
        });
    }

    void run() { array_.engine->run(batch_); }

  private:
    // What is wrong on this rank is a fault of the batch, which all ranks hear of.
    template <class Part>
    void attempt(Part&& part) {
        try {
            if (!batch_.fault) part();
        } catch (...) {
            batch_.fault = crossdock::current_error();
        }
    }

    static std::span<const count_t> checked(const crossdock_array_requests& given) {
        const auto indices = array(given.indices, given.num_indices, "indices");
        if (!indices.empty()) require(given.values, "values");
        return indices;
    }

    // Behind each value.
    void add_ranks() {
        const std::size_t item_bytes = array_.type.item_bytes();
        const rank_t rank = array_.engine->comm().rank();
        const std::size_t step = travelling_bytes(array_.type, true);
        with_ranks_.resize(batch_.writes.indices.size() * step);
        for (std::size_t k = 0; k < batch_.writes.indices.size(); ++k) {
            std::byte* const to = with_ranks_.data() + k * step;
            std::memcpy(to, batch_.writes.values + k * item_bytes, item_bytes);
            std::memcpy(to + item_bytes, &rank, sizeof rank);
        }
        batch_.writes.values = with_ranks_.data();
    }

    crossdock_array& array_;
    array_batch batch_;
    entry_operation operation_;
    std::vector<std::byte> with_ranks_;
};

// Runs the batch that `describe` makes.
template <class Describe>
crossdock_status run_batch(crossdock_array* array, Describe&& describe) {
    return guarded([&] {
        require_no_batch(engine_of(array));
        batch_maker batch(*array);
        describe(batch);
        batch.run();
    });
}

crossdock_array_requests requests(int64_t num_indices, const int64_t* indices, const void* values) {
    return {num_indices, indices, const_cast<void*>(values)};
}

crossdock_array_counts counts_from(const crossdock::batch_statistics& batch) {
    crossdock_array_counts counts{};
    counts.requests = batch.requests;
    counts.combined_locally = batch.combined_locally;
    for (const auto& stage : batch.stages) {
        counts.messages += stage.sent.messages;
        counts.empty_messages += stage.empty_messages;
        counts.sent += stage.sent.items;
        counts.inter_region_messages += stage.sent.inter_region_messages;
        counts.inter_region_sent += stage.sent.inter_region_items;
        counts.received += stage.received;
        counts.combined += stage.combined;
    }
    counts.arrived = batch.arrived;
    const auto& seconds = batch.seconds;
    counts.combine_locally_seconds = seconds.combine_locally;
    counts.combine_on_the_way_seconds = seconds.combine_on_the_way;
    counts.write_seconds = seconds.write;
    counts.read_seconds = seconds.read;
    counts.split_seconds = seconds.split;
    counts.communicate_seconds = seconds.communicate;
    return counts;
}

}  // namespace

crossdock_status crossdock_array_create(const crossdock_context* context, int64_t num_entries,
                                        MPI_Datatype datatype,
                                        const crossdock_array_options* options,
                                        crossdock_array** result) {
    return guarded([&] {
        const auto& where = value_of(context, "context");
        array_settings settings;
        overwrite equal_writes = overwrite::any;
        auto made = crossdock::on_all_or_none(where.comm(), [&] {
            require(result, "result");
            const auto given =
                known_options<crossdock_array_options>(options, CROSSDOCK_ARRAY_OPTIONS_INIT);
            settings = settings_from(given);
            equal_writes = checked_enum<overwrite>(given.equal_writes, CROSSDOCK_OVERWRITE_USER + 1,
                                                   "overwrite rule");
            const entry_type type(datatype);
            return crossdock_array{
                type, writes_by(type, equal_writes, function_of(given.choose, given.user)),
                nullptr};
        });
        agree(where.comm(), std::nullopt, static_cast<std::int64_t>(equal_writes),
              "overwrite rules");
        made.engine =
            std::make_shared<array_engine>(where, num_entries, settings, made.type.item_bytes());
        *result = new crossdock_array(std::move(made));
    });
}

crossdock_status crossdock_array_size(const crossdock_array* array, int64_t* num_entries) {
    return give_number(num_entries, [&] { return engine_of(array).owners().num_entries(); });
}

crossdock_status crossdock_array_local(crossdock_array* array, void** entries, int64_t* num_local) {
    return guarded([&] {
        const auto& engine = engine_of(array);
        require(entries, "entries");
        require(num_local, "num_local");
        *entries = engine.entries();
        *num_local = engine.owners().size(engine.comm().rank());
    });
}

crossdock_status crossdock_array_first_index(const crossdock_array* array, int64_t* first_index) {
    return give_number(first_index, [&] {
        const auto& engine = engine_of(array);
        return engine.owners().first(engine.comm().rank());
    });
}

crossdock_status crossdock_array_owner(const crossdock_array* array, int64_t index, int* rank) {
    return give_number(rank, [&] {
        const auto& owners = engine_of(array).owners();
        if (index < 0 || index >= owners.num_entries())
            throw error(errc::index_out_of_range, "index " + std::to_string(index) +
                                                      " is outside [0, " +
                                                      std::to_string(owners.num_entries()) + ")");
        return owners.owner(index);
    });
}

crossdock_status crossdock_array_read(crossdock_array* array, int64_t num_indices,
                                      const int64_t* indices, void* values) {
    return run_batch(array, [&](auto& batch) { batch.read({num_indices, indices, values}); });
}

crossdock_status crossdock_array_write(crossdock_array* array, int64_t num_indices,
                                       const int64_t* indices, const void* values) {
    return run_batch(array,
                     [&](auto& batch) { batch.write(requests(num_indices, indices, values)); });
}

crossdock_status crossdock_array_update(crossdock_array* array, int64_t num_indices,
                                        const int64_t* indices, const void* values,
                                        MPI_Op operation) {
    return run_batch(array, [&](auto& batch) {
        batch.update(requests(num_indices, indices, values),
                     [&] { return update_by(array->type, operation); });
    });
}

crossdock_status crossdock_array_update_with(crossdock_array* array, int64_t num_indices,
                                             const int64_t* indices, const void* values,
                                             crossdock_combine combine, void* user) {
    return run_batch(array, [&](auto& batch) {
        batch.update(requests(num_indices, indices, values), [&] {
            if (combine == nullptr)
                throw error(errc::invalid_argument, "combine is a null pointer");
            return update_by(array->type, function_of(combine, user));
        });
    });
}

crossdock_status crossdock_array_step(crossdock_array* array,
                                      const crossdock_array_requests* writes,
                                      const crossdock_array_requests* updates, MPI_Op operation,
                                      const crossdock_array_requests* reads) {
    return run_batch(array, [&](auto& batch) {
        const crossdock_array_requests none{};
        batch.write(writes == nullptr ? none : *writes);
        if (updates != nullptr || operation != MPI_OP_NULL)
            batch.update(updates == nullptr ? none : *updates,
                         [&] { return update_by(array->type, operation); });
        batch.read(reads == nullptr ? none : *reads);
    });
}

crossdock_status crossdock_array_statistics(const crossdock_array* array,
                                            crossdock_array_counts* counts) {
    return guarded([&] {
        const auto& engine = engine_of(array);
        require(counts, "counts");
        *counts = counts_from(engine.last_batch());
    });
}

crossdock_status crossdock_array_route(const crossdock_array* array, char** route) {
    return guarded([&] {
        const auto& engine = engine_of(array);
        require(route, "route");
        give_text(route, engine.route_name());
    });
}

crossdock_status crossdock_array_prepare(crossdock_array* array, int64_t num_indices,
                                         const int64_t* indices, crossdock_array_batch** result) {
    return guarded([&] {
        require_no_batch(engine_of(array));
        const auto wanted = crossdock::on_all_or_none(array->engine->comm(), [&] {
            require(result, "result");
            return crossdock::c::array(indices, num_indices, "indices");
        });
        *result = new crossdock_array_batch{array->type,
                                            bytes_type(array->type.item_bytes()),
                                            array->engine,
                                            {wanted.begin(), wanted.end()},
                                            array->engine->prepare(wanted)};
    });
}

crossdock_status crossdock_array_batch_start_read(crossdock_array_batch* batch, void* values) {
    return guarded([&] {
        require_no_batch(batch);
        batch->requests.start(batch->engine->entries(), values, batch->bytes.get());
        batch->engine->add_active(1);
    });
}

crossdock_status crossdock_array_batch_start_update(crossdock_array_batch* batch,
                                                    const void* values, MPI_Op operation) {
    return guarded([&] {
        require_no_batch(batch);
        batch->requests.start_reverse(values, batch->engine->entries(), batch->type.datatype(),
                                      operation);
        batch->engine->add_active(1);
    });
}

crossdock_status crossdock_array_batch_test(crossdock_array_batch* batch, int* is_complete) {
    return give_number(is_complete, [&] {
        require(batch, "batch");
        const bool is_over = batch->requests.test();
        if (is_over) batch->engine->add_active(-1);
        return is_over;
    });
}

crossdock_status crossdock_array_batch_wait(crossdock_array_batch* batch) {
    return guarded([&] {
        require(batch, "batch");
        batch->requests.wait();
        batch->engine->add_active(-1);
    });
}

crossdock_status crossdock_array_batch_read(crossdock_array_batch* batch, void* values) {
    const auto status = crossdock_array_batch_start_read(batch, values);
    return status == CROSSDOCK_SUCCESS ? crossdock_array_batch_wait(batch) : status;
}

crossdock_status crossdock_array_batch_update(crossdock_array_batch* batch, const void* values,
                                              MPI_Op operation) {
    const auto status = crossdock_array_batch_start_update(batch, values, operation);
    return status == CROSSDOCK_SUCCESS ? crossdock_array_batch_wait(batch) : status;
}

crossdock_status crossdock_array_batch_gather(crossdock_array_batch* batch, const void* values,
                                              int64_t** offsets, void** gathered) {
    return guarded([&] {
        require_no_batch(batch);
        require(offsets, "offsets");
        require(gathered, "gathered");
        const auto found = batch->gather(values);
        auto new_values = copied(found);
        *offsets = copied(batch->to_owners().offsets).release();
        *gathered = new_values.release();
    });
}

crossdock_status crossdock_array_batch_scatter(crossdock_array_batch* batch, const void* gathered,
                                               void* values) {
    return guarded([&] {
        require_no_batch(batch);
        batch->scatter(gathered, values);
    });
}

crossdock_status crossdock_array_batch_fetch_and_update(crossdock_array_batch* batch,
                                                        const void* values, void* found,
                                                        MPI_Op operation) {
    return guarded([&] {
        require_no_batch(batch);
        const auto update = update_by(batch->type, operation);
        auto gathered = batch->gather(values);
        const auto& ends = batch->to_owners().offsets;
        const std::size_t item_bytes = batch->type.item_bytes();
        auto before = batch->room(1);
        std::size_t failed_at = 0;
        for (count_t e = 0; e < batch->num_entries(); ++e) {
            for (count_t k = ends[static_cast<std::size_t>(e)];
                 k < ends[static_cast<std::size_t>(e) + 1]; ++k) {
                std::byte* const value = gathered.data() + static_cast<std::size_t>(k) * item_bytes;
                std::memcpy(before.data(),
                            batch->engine->entries() + static_cast<std::size_t>(e) * item_bytes,
                            item_bytes);
                update.operation->apply(batch->engine->entries(), value, {&e, 1}, failed_at);
                std::memcpy(value, before.data(), item_bytes);
            }
        }
        batch->scatter(gathered.data(), found);
    });
}

crossdock_status crossdock_array_batch_plan(const crossdock_array_batch* batch,
                                            crossdock_plan** result) {
    return guarded([&] {
        require(batch, "batch");
        require(result, "result");
        give(result, batch->requests.compiled_plan());
    });
}

crossdock_status crossdock_array_batch_free(crossdock_array_batch* batch) { return release(batch); }

crossdock_status crossdock_array_close(crossdock_array* array) {
    return guarded([&] {
        require(array, "array");
        array->engine->close();
    });
}

crossdock_status crossdock_array_free(crossdock_array* array) { return release(array); }
