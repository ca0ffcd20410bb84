/// @file
/// @brief An array spread over all ranks, read and changed in batches.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "crossdock/array/array_engine_mpi.hpp"
#include "crossdock/array/prepared_batch_mpi.hpp"
#include "crossdock/array/write_rule.hpp"
#include "crossdock/base/pooled_resource.hpp"

namespace crossdock {

/// @brief How a distributed array is made. Equal on all ranks but for `num_local`.
template <item_type T>
struct array_options {
    /// The entries of this rank; they must add up to all. Unset on all ranks: blocks as equal as
    /// possible.
    std::optional<count_t> num_local = std::nullopt;
    /// As `make_route` takes it, or "auto": `array_route_rule`.
    std::string route = "auto";
    /// About how many requests a rank makes in the first batch; for "auto".
    count_t expected_requests = default_expected_requests;
    combining_options combine = {};
    array_transport transport = array_transport::routed;
    /// Which of several values written to an entry in one batch stays.
    overwrite equal_writes = overwrite::any;
    /// For `overwrite::user`: the value of two that stays; associative and commutative.
    std::function<T(const T&, const T&)> choose = nullptr;
};

/// @brief An array of n entries, each on one rank, that all ranks read and change at any indices.
///
/// Requests are made in batches. Those for the same entry meet on the way to its owner, travel on as
/// one, and the reply is split again.
///
///     4 ranks, n = 8, hypercube        every rank reads entry 6 of rank 3
///     stage 0   0 -> 2  {6}   1 -> 3  {6}
///     stage 1   2 -> 3  {6}            ranks 0 and 2 have become one request
///     back      3 -> 2, then 2 -> 0 and 3 -> 1
///
/// | state | legal calls | next |
/// |---|---|---|
/// | open | all | `close()`: closed |
/// | a prepared batch is active | requests that are queued, `prepare`, `local()` | its `wait` |
/// | closed | destruction, `close()` | |
/// | moved from | destruction, assignment | |
///
/// A batch fails on all ranks or on none. Of several faults the one of the lowest rank is thrown, and of its own the
/// first of: lengths, an active prepared batch, indices of writes, of updates, of reads. That ranks ask for different
/// things is thrown if no rank has such a fault, what operations throw after that. If it fails, no entry has changed, no output is written, and
/// the array is as usable as before. The exception is memory that runs out where requests of others pass,
/// in a batch whose operations cannot throw: that rank's error alone, for which others may wait.
///
/// The destructor does not communicate. What it leaves, a window with the transport `rma`, `communicator::close()`
/// frees. If neither is called it is left to MPI_Finalize, which may then wait for ever: with Open MPI 4.1 each rank
/// frees its windows in the order of its table, in which a new window takes the place of one that was freed, so that
/// ranks of several communicators may differ in it.
/// @par Thread safety
/// As `neighbor`.
/// @par Source
/// \cite peters2024array. Differs: any number of ranks and any route; replies find their way by
/// the order of requests (envelopes are an option); values of any type; batches that fail change
/// nothing.
template <item_type T>
class distributed_array {
  public:
    /// @brief Entries are zero bytes.
    /// @param where        stays open for the life of the array
    /// @param num_entries  equal on all ranks
    /// @par Collective
    /// Yes; blocks.
    /// @throws error(errc::invalid_argument)  on all ranks: `num_entries` or a part is negative, parts
    /// are given on some ranks only, options differ, `overwrite::user` without `choose`, or minimum
    /// and maximum of a type without <
    /// @throws error(errc::size_mismatch)     on all ranks: parts do not add up, or `regions` is of
    /// another number of ranks
    /// @throws error(errc::out_of_memory)     on all ranks: a part does not fit into memory
    /// @throws as `make_route`, on all ranks
    distributed_array(const context& where, count_t num_entries,
                      const array_options<T>& options = {})
        : engine_(
              std::make_shared<array_engine>(where, num_entries, settings_of(options), sizeof(T))),
          writes_(on_all_or_none(
              where.comm(),
              [&] { return make_write_rule<T>(options.equal_writes, options.choose); },
              static_cast<std::int64_t>(options.equal_writes), "overwrite rules")) {}

    count_t size() const noexcept { return engine_->owners().num_entries(); }

    /// @brief The index of the first entry of `local()`.
    count_t first_index() const noexcept { return engine_->owners().first(engine_->comm().rank()); }

    /// @brief This rank's entries. They must not change while a prepared batch is active.
    std::span<T> local() noexcept {
        return {reinterpret_cast<T*>(engine_->entries()),
                static_cast<std::size_t>(engine_->owners().size(engine_->comm().rank()))};
    }

    /// @brief Who owns which entry.
    const block_partition& owners() const noexcept { return engine_->owners(); }

    /// @brief The route that the last batch took; before the first one, what its route is to be.
    const std::string& route_name() const noexcept { return engine_->route_name(); }

    /// @brief What the last batch cost this rank; `rma` counts requests only.
    const batch_statistics& last_batch() const noexcept { return engine_->last_batch(); }

    /// @brief out[k] = the entry at indices[k].
    /// @param out  as long as `indices`
    /// @par Collective
    /// Yes; blocks. A rank may ask for nothing.
    /// @par Complexity
    /// Time and memory follow the requests this rank issues, forwards and answers; messages: see the
    /// route.
    /// @throws error(errc::index_out_of_range)  on all ranks: an index is outside [0, size())
    /// @throws error(errc::size_mismatch)       on all ranks: lengths differ
    /// @throws error(errc::invalid_argument)    on all ranks: ranks ask for different things
    /// @throws error(errc::invalid_state)       on all ranks: the array is closed, a prepared batch is
    /// active; on this rank: called by an operation
    void read(std::span<const count_t> indices, std::span<T> out);

    /// @brief The entry at indices[k] = values[k]; of several for one entry, as `equal_writes` says.
    ///
    /// Which one that is does not depend on an entry's value before.
    /// @par Collective
    /// Yes; blocks.
    /// @throws as `read`; and on all ranks what `choose` throws: an `error` with its code, anything
    /// else as error(errc::invalid_argument)
    void write(std::span<const count_t> indices, std::span<const T> values);

    /// @brief The entry at indices[k] = op(it, values[k]), for all k on all ranks.
    /// @param op  associative and commutative; of one type on all ranks
    /// @par Collective
    /// Yes; blocks. Where `op` may throw, by its exception specification, ranks agree on that once
    /// more.
    /// @throws as `write`
    template <combine_operation<T> Op>
    void update(std::span<const count_t> indices, std::span<const T> values, Op op);

    /// @brief Queues: the next step brings the entry into `variable`.
    /// @param variable  must live until then
    /// @par Collective
    /// No. What is wrong with it is thrown by `step`.
    /// @throws error(errc::invalid_state)  called by an operation
    void read(count_t index, T* variable);

    /// @brief Queues: the next step writes.
    /// @par Collective
    /// No, as `read`.
    void write(count_t index, const T& value);

    /// @brief Queues: the next step updates with its operation.
    /// @par Collective
    /// No, as `read`.
    void update(count_t index, const T& value);

    /// @brief Does what is queued on all ranks: all writes, then all updates, then all reads.
    ///
    /// One batch: requests of all three kinds travel in the same messages. The queue is empty
    /// afterwards, also if the step fails.
    /// @param op  of updates
    /// @par Collective
    /// Yes; blocks.
    /// @throws as `update`
    template <combine_operation<T> Op = default_update<T>>
    void step(Op op = {});

    /// @brief Requests for the same entries, again and again: headers travel now and never again.
    /// @par Collective
    /// Yes; blocks.
    /// @throws as `read`
    prepared_batch<T> prepare(std::span<const count_t> indices) {
        require_no_batch();
        return prepared_batch<T>(engine_, indices);
    }

    /// @brief Frees what only all ranks together can; nothing if the communicator was closed before.
    /// @pre no prepared batch is active
    /// @par Collective
    /// Yes; may block.
    void close() { engine_->close(); }

  private:
    // So that a vector holds any T as an array does.
    struct boxed {
        T value;
    };
    struct change_queue {
        std::vector<count_t> indices;
        std::vector<boxed> values;

        std::span<const T> span() const {
            return {reinterpret_cast<const T*>(values.data()), values.size()};
        }
    };
    struct read_queue {
        std::vector<count_t> indices;
        std::vector<T*> variables;
    };

    static array_settings settings_of(const array_options<T>& options);
    void require_no_batch() const;
    std::optional<error> length_fault(std::size_t num_indices, std::size_t num_values) const;
    array_changes writes(std::span<const count_t> indices, std::span<const T> values,
                         std::vector<ranked<T>>& with_ranks) const;

    std::shared_ptr<array_engine> engine_;
    write_rule writes_;
    change_queue queued_writes_;
    change_queue queued_updates_;
    read_queue queued_reads_;
};

template <item_type T>
void distributed_array<T>::read(std::span<const count_t> indices, std::span<T> out) {
    require_no_batch();
    array_batch batch;
    batch.reads = indices;
    batch.out = reinterpret_cast<std::byte*>(out.data());
    batch.has_reads = true;
    batch.fault = length_fault(indices.size(), out.size());
    engine_->run(batch);
}

template <item_type T>
void distributed_array<T>::write(std::span<const count_t> indices, std::span<const T> values) {
    require_no_batch();
    std::vector<ranked<T>> with_ranks;
    array_batch batch;
    batch.fault = length_fault(indices.size(), values.size());
    batch.writes = writes(indices, values, with_ranks);
    engine_->run(batch);
}

template <item_type T>
template <combine_operation<T> Op>
void distributed_array<T>::update(std::span<const count_t> indices, std::span<const T> values,
                                  Op op) {
    require_no_batch();
    const auto operation = make_update_operation<T>(std::move(op));
    array_batch batch;
    batch.fault = length_fault(indices.size(), values.size());
    batch.updates = {indices, reinterpret_cast<const std::byte*>(values.data()), &operation,
                     predefined_for<T, Op>()};
    engine_->run(batch);
}

template <item_type T>
void distributed_array<T>::read(count_t index, T* variable) {
    require_no_batch();
    queued_reads_.indices.push_back(index);
    queued_reads_.variables.push_back(variable);
}

template <item_type T>
void distributed_array<T>::write(count_t index, const T& value) {
    require_no_batch();
    queued_writes_.indices.push_back(index);
    queued_writes_.values.push_back({value});
}

template <item_type T>
void distributed_array<T>::update(count_t index, const T& value) {
    require_no_batch();
    queued_updates_.indices.push_back(index);
    queued_updates_.values.push_back({value});
}

template <item_type T>
template <combine_operation<T> Op>
void distributed_array<T>::step(Op op) {
    require_no_batch();
    const auto to_write = std::exchange(queued_writes_, {});
    const auto to_update = std::exchange(queued_updates_, {});
    const auto to_read = std::exchange(queued_reads_, {});
    const auto operation = make_update_operation<T>(std::move(op));
    std::vector<ranked<T>> with_ranks;
    const raw_buffer found(to_read.indices.size() * sizeof(T));

    array_batch batch;
    batch.writes = writes(to_write.indices, to_write.span(), with_ranks);
    batch.updates = {to_update.indices, reinterpret_cast<const std::byte*>(to_update.values.data()),
                     &operation, predefined_for<T, Op>()};
    batch.reads = to_read.indices;
    batch.out = found.data();
    batch.has_reads = true;
    engine_->run(batch);
    for (std::size_t k = 0; k < to_read.variables.size(); ++k)
        *to_read.variables[k] = reinterpret_cast<const T*>(found.data())[k];
}

template <item_type T>
array_settings distributed_array<T>::settings_of(const array_options<T>& options) {
    return {options.num_local, options.route, options.expected_requests, options.combine,
            options.transport};
}

template <item_type T>
void distributed_array<T>::require_no_batch() const {
    CROSSDOCK_ASSERT(light, !engine_->is_in_batch(), "a request during a batch");
}

template <item_type T>
std::optional<error> distributed_array<T>::length_fault(std::size_t num_indices,
                                                        std::size_t num_values) const {
    if (num_indices == num_values) return std::nullopt;
    const rank_t rank = engine_->comm().rank();
    return error(errc::size_mismatch,
                 "rank " + std::to_string(rank) + " has " + std::to_string(num_indices) +
                     " indices and " + std::to_string(num_values) + " values",
                 rank);
}

template <item_type T>
array_changes distributed_array<T>::writes(std::span<const count_t> indices,
                                           std::span<const T> values,
                                           std::vector<ranked<T>>& with_ranks) const {
    const auto predefined = writes_.operation->combines_at_owner() ? predefined_operation{}
                                                                   : predefined_for<T, replace>();
    const void* travelling = values.data();
    if (writes_.carries_rank) {
        for (const T& value : values) with_ranks.push_back({value, engine_->comm().rank()});
        travelling = with_ranks.data();
    }
    return {indices, static_cast<const std::byte*>(travelling), writes_.operation.get(),
            predefined};
}

}  // namespace crossdock
