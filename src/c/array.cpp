#include <optional>
#include <utility>
#include <vector>

#include "array_handles.hpp"

namespace crossdock::c {

namespace {

// Adds this rank's part of a batch to it.
class batch_maker {
  public:
    // fault: what is wrong on this rank already
    batch_maker(crossdock_distributed_array& array, const std::optional<error>& fault)
        : array_(array) {
        batch_.fault = fault;
    }

    void write(const crossdock_array_requests& given) {
        batch_.writes.operation = array_.writes.by.operation.get();
        batch_.writes.predefined = array_.writes.by.predefined;
        attempt([&] {
            batch_.writes.indices = checked(given);
            batch_.writes.values = static_cast<const std::byte*>(given.values);
            if (!array_.writes.carries_rank) return;
            with_ranks_ = with_rank_behind(batch_.writes.values, batch_.writes.indices.size(),
                                           array_.type.item_bytes(), array_.engine->comm().rank());
            batch_.writes.values = with_ranks_.data();
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

    // What is wrong on this rank is a fault of the batch, which all ranks hear of.
    template <class Part>
    void attempt(Part&& part) {
        try {
            if (!batch_.fault) part();
        } catch (...) {
            batch_.fault = current_error();
        }
    }

    void run() { array_.engine->run(batch_); }

  private:
    static std::span<const count_t> checked(const crossdock_array_requests& given) {
        const auto indices = array(given.indices, given.num_indices, "indices");
        if (!indices.empty()) require(given.values, "values");
        return indices;
    }

    crossdock_distributed_array& array_;
    array_batch batch_;
    entry_operation operation_;
    std::vector<std::byte> with_ranks_;
};

// Runs the batch that `describe` makes.
template <class Describe>
crossdock_status run_batch(crossdock_distributed_array* array, Describe&& describe,
                           const char* function = __builtin_FUNCTION()) {
    const auto body = [&] {
        const auto fault = take_announced();
        engine_of(array).require_open();
        batch_maker batch(*array, fault);
        describe(batch);
        batch.run();
    };
    return guarded(array, body, function);
}

}  // namespace

}  // namespace crossdock::c

using crossdock::array_engine;
using crossdock::array_settings;
using crossdock::array_transport;
using crossdock::count_t;
using crossdock::errc;
using crossdock::error;
using crossdock::overwrite;

using namespace crossdock::c;

namespace {

crossdock::value_combination function_of(crossdock_combine combine, void* user) {
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
    settings.reproducible = given.reproducible != 0;
    settings.name = text_or(given.name, "");
    return settings;
}

crossdock_array_requests requests(int64_t num_indices, const int64_t* indices, const void* values) {
    return {num_indices, indices, const_cast<void*>(values)};
}

crossdock_array_counts counts_from(const crossdock::array_statistics& batch) {
    crossdock_array_counts counts{};
    counts.requests = batch.requests;
    counts.combined_locally = batch.combined_locally;
    const auto sum = batch.total();
    counts.messages = sum.sent.messages;
    counts.empty_messages = sum.empty_messages;
    counts.sent = sum.sent.items;
    counts.inter_region_messages = sum.sent.inter_region_messages;
    counts.inter_region_sent = sum.sent.inter_region_items;
    counts.received = sum.received;
    counts.combined = sum.combined;
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

crossdock_status crossdock_distributed_array_create(const crossdock_context* context,
                                                    int64_t num_entries, MPI_Datatype datatype,
                                                    const crossdock_array_options* options,
                                                    crossdock_distributed_array** result) {
    return guarded(context, [&] {
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
            return crossdock_distributed_array{
                type,
                writes_by(type.number(), type.item_bytes(), equal_writes,
                          function_of(given.choose, given.user)),
                nullptr, context->errors};
        });
        agree(where.comm(), std::nullopt, static_cast<std::int64_t>(equal_writes),
              agreement_text(equal_writes));
        // What runs out of memory beside others throws another error, so nothing is made twice.
        made.engine = crossdock::with_reserve([&] {
            return std::make_shared<array_engine>(where, num_entries, settings,
                                                  made.type.item_bytes());
        });
        give(result, std::move(made));
    });
}

crossdock_status crossdock_distributed_array_size(const crossdock_distributed_array* array,
                                                  int64_t* num_entries) {
    return give_number(array, num_entries, [&] { return engine_of(array).owners().num_entries(); });
}

crossdock_status crossdock_distributed_array_local(crossdock_distributed_array* array,
                                                   void** entries, int64_t* num_local) {
    return guarded(array, [&] {
        const auto fault = take_announced();
        const auto& engine = engine_of(array);
        throw_any(fault);
        require(entries, "entries");
        require(num_local, "num_local");
        *entries = engine.entries();
        *num_local = engine.owners().size(engine.comm().rank());
    });
}

crossdock_status crossdock_distributed_array_datatype(const crossdock_distributed_array* array,
                                                      MPI_Datatype* datatype) {
    return guarded(array, [&] {
        require(array, "array");
        require(datatype, "datatype");
        *datatype = array->type.datatype();
    });
}

crossdock_status crossdock_distributed_array_first_index(const crossdock_distributed_array* array,
                                                         int64_t* first_index) {
    return give_number(array, first_index, [&] {
        const auto& engine = engine_of(array);
        return engine.owners().first(engine.comm().rank());
    });
}

crossdock_status crossdock_distributed_array_owner(const crossdock_distributed_array* array,
                                                   int64_t index, int* rank) {
    return give_number(array, rank, [&] {
        const auto& owners = engine_of(array).owners();
        if (index < 0 || index >= owners.num_entries())
            throw error(errc::index_out_of_range, "index " + std::to_string(index) +
                                                      " is outside [0, " +
                                                      std::to_string(owners.num_entries()) + ")");
        return owners.owner(index);
    });
}

crossdock_status crossdock_distributed_array_read(crossdock_distributed_array* array,
                                                  int64_t num_indices, const int64_t* indices,
                                                  void* values) {
    return run_batch(array, [&](auto& batch) { batch.read({num_indices, indices, values}); });
}

crossdock_status crossdock_distributed_array_write(crossdock_distributed_array* array,
                                                   int64_t num_indices, const int64_t* indices,
                                                   const void* values) {
    return run_batch(array,
                     [&](auto& batch) { batch.write(requests(num_indices, indices, values)); });
}

crossdock_status crossdock_distributed_array_update(crossdock_distributed_array* array,
                                                    int64_t num_indices, const int64_t* indices,
                                                    const void* values, MPI_Op operation) {
    return run_batch(array, [&](auto& batch) {
        batch.update(requests(num_indices, indices, values),
                     [&] { return update_by(array->type, operation); });
    });
}

crossdock_status crossdock_distributed_array_update_with(crossdock_distributed_array* array,
                                                         int64_t num_indices,
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

crossdock_status crossdock_distributed_array_step(crossdock_distributed_array* array,
                                                  const crossdock_array_requests* writes,
                                                  const crossdock_array_requests* updates,
                                                  MPI_Op operation,
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

crossdock_status crossdock_distributed_array_statistics(const crossdock_distributed_array* array,
                                                        crossdock_array_counts* counts) {
    return guarded(array, [&] {
        const auto& engine = engine_of(array);
        require(counts, "counts");
        *counts = counts_from(engine.statistics());
    });
}

crossdock_status crossdock_distributed_array_route(const crossdock_distributed_array* array,
                                                   char** route) {
    return give_text(array, route, "route", [&] { return engine_of(array).route(); });
}

crossdock_status crossdock_distributed_array_close(crossdock_distributed_array* array) {
    return guarded(array, [&] {
        require(array, "array");
        array->engine->close();
    });
}

crossdock_status crossdock_distributed_array_free(crossdock_distributed_array* array) {
    return release(array);
}
