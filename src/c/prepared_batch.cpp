#include "array_handles.hpp"

using crossdock::count_t;
using crossdock::on_all_or_none;

namespace {

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

using namespace crossdock::c;

std::vector<std::byte> crossdock_prepared_batch::room(count_t num_values) const {
    return std::vector<std::byte>(static_cast<std::size_t>(num_values) * type.item_bytes());
}

void crossdock_prepared_batch::require_values(const void* values, const char* what) const {
    if (!indices.empty()) require(values, what);
}

crossdock::multi_sf& crossdock_prepared_batch::to_owners() {
    if (!uncombined) uncombined.emplace(plan_uncombined(*engine, indices));
    return *uncombined;
}

std::vector<std::byte> crossdock_prepared_batch::gather(const void* values) {
    auto& way = to_owners();
    auto gathered = room(way.offsets.back());
    way.requests.start(values, gathered.data(), bytes.get());
    way.requests.wait();
    return gathered;
}

void crossdock_prepared_batch::scatter(const void* gathered, void* values) {
    auto& way = to_owners();
    const copy_operation copy;
    way.requests.start_reverse(gathered, values, bytes.get(), copy.get());
    way.requests.wait();
}

crossdock_status crossdock_distributed_array_prepare(crossdock_distributed_array* array,
                                                     int64_t num_indices, const int64_t* indices,
                                                     crossdock_prepared_batch** result) {
    return guarded(array, [&] {
        engine_of(array).require_open();
        const auto wanted = on_all_or_none(array->engine->comm(), [&] {
            require(result, "result");
            return crossdock::c::array(indices, num_indices, "indices");
        });
        *result = new crossdock_prepared_batch{array->type,
                                               crossdock::c::bytes_type(array->type.item_bytes()),
                                               array->engine,
                                               {wanted.begin(), wanted.end()},
                                               array->engine->prepare(wanted),
                                               array->errors};
    });
}

crossdock_status crossdock_prepared_batch_start_read(crossdock_prepared_batch* batch,
                                                     void* values) {
    return guarded(batch, [&] {
        const auto fault = take_announced();
        require_idle(batch);
        check_start(batch->requests, false, batch->type.item_bytes(), [&] { throw_any(fault); });
        batch->requests.start(batch->engine->entries(), values, batch->bytes.get());
        batch->engine->add_active(1);
    });
}

crossdock_status crossdock_prepared_batch_start_update(crossdock_prepared_batch* batch,
                                                       const void* values, MPI_Op operation) {
    return guarded(batch, [&] {
        const auto fault = take_announced();
        require_idle(batch);
        check_start(batch->requests, true, batch->type.item_bytes(), [&] { throw_any(fault); });
        batch->requests.start_reverse(values, batch->engine->entries(), batch->type.datatype(),
                                      operation);
        batch->engine->add_active(1);
    });
}

crossdock_status crossdock_prepared_batch_test(crossdock_prepared_batch* batch, int* is_complete) {
    return give_number(batch, is_complete, [&] {
        require(batch, "batch");
        const crossdock::active_batch present(*batch->engine, batch->requests);
        return batch->requests.test();
    });
}

crossdock_status crossdock_prepared_batch_is_active(const crossdock_prepared_batch* batch,
                                                    int* is_active) {
    return give_number(batch, is_active, [&] {
        require(batch, "batch");
        return batch->requests.is_active();
    });
}

crossdock_status crossdock_prepared_batch_wait(crossdock_prepared_batch* batch) {
    return guarded(batch, [&] {
        require(batch, "batch");
        const crossdock::active_batch present(*batch->engine, batch->requests);
        batch->requests.wait();
    });
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
    return guarded(batch, [&] {
        const auto fault = take_announced();
        require_idle(batch);
        on_all_or_none(batch->engine->comm(), [&] {
            throw_any(fault);
            require(offsets, "offsets");
            require(gathered, "gathered");
            batch->require_values(values, "values");
        });
        const auto found = batch->gather(values);
        auto new_values = copied(found);
        *offsets = copied(batch->to_owners().offsets).release();
        *gathered = new_values.release();
    });
}

crossdock_status crossdock_prepared_batch_scatter(crossdock_prepared_batch* batch,
                                                  const void* gathered, void* values) {
    return guarded(batch, [&] {
        const auto fault = take_announced();
        require_idle(batch);
        on_all_or_none(batch->engine->comm(), [&] {
            throw_any(fault);
            batch->require_values(values, "values");
        });
        batch->scatter(gathered, values);
    });
}

crossdock_status crossdock_prepared_batch_fetch_and_update(crossdock_prepared_batch* batch,
                                                           const void* values, void* found,
                                                           MPI_Op operation) {
    return guarded(batch, [&] {
        const auto fault = take_announced();
        require_idle(batch);
        const auto update = on_all_or_none(batch->engine->comm(), [&] {
            throw_any(fault);
            batch->require_values(values, "values");
            batch->require_values(found, "found");
            return update_by(batch->type, operation);
        });
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

crossdock_status crossdock_prepared_batch_sizes(const crossdock_prepared_batch* batch,
                                                MPI_Datatype* datatype, int64_t* num_requests,
                                                int64_t* num_entries) {
    return guarded(batch, [&] {
        require(batch, "batch");
        require(datatype, "datatype");
        require(num_requests, "num_requests");
        require(num_entries, "num_entries");
        *datatype = batch->type.datatype();
        *num_requests = static_cast<int64_t>(batch->indices.size());
        *num_entries = batch->num_entries();
    });
}

crossdock_status crossdock_prepared_batch_num_gathered(crossdock_prepared_batch* batch,
                                                       int64_t* num_gathered) {
    return guarded(batch, [&] {
        require_idle(batch);
        const auto number = batch->to_owners().offsets.back();
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
    return release(batch);
}
