/// @file
/// @brief Batches of a distributed array, from arrays of C.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "array_handles.hpp"

namespace crossdock::c {

/// @brief Adds this rank's part of a batch to it.
class batch_maker {
  public:
    /// @param fault  what is wrong on this rank already
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

    /// @brief What is wrong on this rank is a fault of the batch, which all ranks hear of.
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

    crossdock_distributed_array& array_;
    array_batch batch_;
    entry_operation operation_;
    std::vector<std::byte> with_ranks_;
};

/// @brief Runs the batch that `describe` makes.
template <class Describe>
crossdock_status run_batch(crossdock_distributed_array* array, Describe&& describe) {
    return guarded(array, [&] {
        const auto fault = take_announced();
        engine_of(array).require_open();
        batch_maker batch(*array, fault);
        describe(batch);
        batch.run();
    });
}

}  // namespace crossdock::c
