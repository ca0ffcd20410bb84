#include "array_handles.hpp"

using crossdock::count_t;
using crossdock::on_all_or_none;
using namespace crossdock::c;

namespace {

// One for each request.
std::span<std::byte> values_of(const crossdock_prepared_batch& batch, void* values,
                               const char* what) {
    const auto num_requests = static_cast<std::size_t>(batch.requests.num_requests());
    if (num_requests > 0) require(values, what);
    return {static_cast<std::byte*>(values), num_requests * batch.type.item_bytes()};
}
std::span<const std::byte> values_of(const crossdock_prepared_batch& batch, const void* values,
                                     const char* what) {
    return values_of(batch, const_cast<void*>(values), what);
}

std::size_t num_gathered_bytes(crossdock_prepared_batch& batch) {
    return static_cast<std::size_t>(batch.requests.offsets().back()) * batch.type.item_bytes();
}

// What all ranks call together: `check()` on all or none, and `use` of what it returns. Ahead of both, all have planned
// where requests go if nothing is combined.
template <class Check, class Use>
crossdock_status on_batch(crossdock_prepared_batch* batch, Check&& check, Use&& use,
                          const char* function = __builtin_FUNCTION()) {
    const auto body = [&] {
        const auto fault = take_announced();
        auto& requests = requests_of(batch);
        requests.offsets();
        use(on_all_or_none(requests.engine().comm(), [&] {
            throw_any(fault);
            return check();
        }));
    };
    return guarded(batch, body, function);
}

// `values()` gives those of this rank, and `start(exchange, values)` starts.
template <class Values, class Start>
crossdock_status start(crossdock_prepared_batch* batch, bool is_update, Values&& values,
                       Start&& start) {
    return guarded(batch, [&] {
        const auto fault = take_announced();
        auto& requests = requests_of(batch);
        requests.engine().require_no_batch();
        decltype(values()) given;
        check_start(requests, is_update, batch->type.item_bytes(), [&] {
            throw_any(fault);
            given = values();
        });
        requests.start([&](auto& exchange) { start(exchange, given); });
    });
}

}  // namespace

crossdock_status crossdock_distributed_array_prepare(crossdock_distributed_array* array,
                                                     int64_t num_indices, const int64_t* indices,
                                                     crossdock_prepared_batch** result) {
    return guarded(array, [&] {
        engine_of(array).require_open();
        const auto wanted = on_all_or_none(array->engine->comm(), [&] {
            require(result, "result");
            return crossdock::c::array(indices, num_indices, "indices");
        });
        give(result, array->type, crossdock::prepared_requests(array->engine, wanted),
             array->errors);
    });
}

crossdock_status crossdock_prepared_batch_start_read(crossdock_prepared_batch* batch,
                                                     void* values) {
    return start(
        batch, false, [&] { return values_of(*batch, values, "values"); },
        [&](auto& exchange, std::span<std::byte> out) {
            exchange.start_bytes(batch->requests.entries(), out, batch->type.item_bytes());
        });
}

crossdock_status crossdock_prepared_batch_start_update(crossdock_prepared_batch* batch,
                                                       const void* values, MPI_Op operation) {
    return start(
        batch, true, [&] { return values_of(*batch, values, "values"); },
        [&](auto& exchange, std::span<const std::byte> given) {
            exchange.start_reverse(given.data(), batch->requests.entries().data(),
                                   batch->type.datatype(), operation);
        });
}

crossdock_status crossdock_prepared_batch_test(crossdock_prepared_batch* batch, int* is_complete) {
    return give_number(batch, is_complete, [&] { return requests_of(batch).test(); });
}

crossdock_status crossdock_prepared_batch_is_active(const crossdock_prepared_batch* batch,
                                                    int* is_active) {
    return give_number(batch, is_active, [&] { return requests_of(batch).is_active(); });
}

crossdock_status crossdock_prepared_batch_wait(crossdock_prepared_batch* batch) {
    return guarded(batch, [&] { requests_of(batch).wait(); });
}

crossdock_status crossdock_prepared_batch_read(crossdock_prepared_batch* batch, void* values) {
    const auto status = crossdock_prepared_batch_start_read(batch, values);
    return status == CROSSDOCK_SUCCESS ? crossdock_prepared_batch_wait(batch) : status;
}

crossdock_status crossdock_prepared_batch_update(crossdock_prepared_batch* batch,
                                                 const void* values, MPI_Op operation) {
    const auto status = crossdock_prepared_batch_start_update(batch, values, operation);
    return status == CROSSDOCK_SUCCESS ? crossdock_prepared_batch_wait(batch) : status;
}

crossdock_status crossdock_prepared_batch_gather(crossdock_prepared_batch* batch,
                                                 const void* values, int64_t** offsets,
                                                 void** gathered) {
    c_array<std::int64_t> ends;
    c_array<std::byte> found;
    return on_batch(
        batch,
        [&] {
            require(offsets, "offsets");
            require(gathered, "gathered");
            ends = copied(batch->requests.offsets());
            found = zeros<std::byte>(static_cast<count_t>(num_gathered_bytes(*batch)));
            return values_of(*batch, values, "values");
        },
        [&](std::span<const std::byte> given) {
            batch->requests.gather(given, {found.get(), num_gathered_bytes(*batch)});
            *offsets = ends.release();
            *gathered = found.release();
        });
}

crossdock_status crossdock_prepared_batch_scatter(crossdock_prepared_batch* batch,
                                                  const void* gathered, void* values) {
    return on_batch(
        batch,
        [&] {
            if (num_gathered_bytes(*batch) > 0) require(gathered, "gathered");
            return values_of(*batch, values, "values");
        },
        [&](std::span<std::byte> out) {
            batch->requests.scatter(
                {static_cast<const std::byte*>(gathered), num_gathered_bytes(*batch)}, out);
        });
}

crossdock_status crossdock_prepared_batch_fetch_and_update(crossdock_prepared_batch* batch,
                                                           const void* values, void* found,
                                                           MPI_Op operation) {
    std::span<const std::byte> given;
    std::span<std::byte> out;
    return on_batch(
        batch,
        [&] {
            given = values_of(*batch, values, "values");
            out = values_of(*batch, found, "found");
            return update_by(batch->type, operation);
        },
        [&](const crossdock::entry_operation& update) {
            batch->requests.fetch_and_update(given, out, *update.operation);
        });
}

crossdock_status crossdock_prepared_batch_sizes(const crossdock_prepared_batch* batch,
                                                MPI_Datatype* datatype, int64_t* num_requests,
                                                int64_t* num_entries) {
    return guarded(batch, [&] {
        require(batch, "batch");
        require(datatype, "datatype");
        require(num_requests, "num_requests");
        require(num_entries, "num_entries");
        *datatype = batch->type.datatype();
        *num_requests = batch->requests.num_requests();
        *num_entries = batch->requests.plan().num_items();
    });
}

crossdock_status crossdock_prepared_batch_num_gathered(crossdock_prepared_batch* batch,
                                                       int64_t* num_gathered) {
    return guarded(batch, [&] {
        const auto number = requests_of(batch).offsets().back();
        require(num_gathered, "num_gathered");
        *num_gathered = number;
    });
}

crossdock_status crossdock_prepared_batch_plan(const crossdock_prepared_batch* batch,
                                               crossdock_plan** result) {
    return guarded(batch, [&] {
        require(batch, "batch");
        require(result, "result");
        give(result, batch->requests.plan());
    });
}

crossdock_status crossdock_prepared_batch_free(crossdock_prepared_batch* batch) {
    return release_finished(batch, &crossdock_prepared_batch::requests, "wait");
}
