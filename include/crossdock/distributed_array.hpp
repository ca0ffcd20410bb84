/// @file
/// @brief An array spread over all ranks, read and changed in batches, also in prepared ones.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/detail/array/array_engine_mpi.hpp"
#include "crossdock/detail/array/write_rule.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/base/raw_buffer.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The values of prepared requests, where their entries are.
///
///     entry 0 requested by rank 1, entry 1 by ranks 0 and 2     offsets 0 1 3   values v1 v0 v2
template <item_type T>
struct gathered_values {
    std::vector<count_t> offsets;  ///< by entry of this rank, and the end
    std::vector<T> values;         ///< of an entry's requests by rank, then in the rank's order
};

/// @brief Requests compiled into a plan: no header travels any more.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | all but `test`, `wait` | `start_read`, `start_update`: active |
/// | active | `test`, `wait` | `test` that returns true, `wait`: idle |
/// | moved from | destruction, assignment; other calls throw error(errc::invalid_state) | |
///
/// It may outlive the array, which may be closed, too; the entries live as long as either. The communicator stays open.
///
/// All ranks call what reads, updates, gathers or scatters, in one order. The starts wait for nobody; the others block.
/// The first call of `gather`, `scatter` or `fetch_and_update` plans a second exchange, in which nothing is combined.
/// Several prepared batches of an array may be active at once if none of them updates. All rules of `neighbor_exchange`
/// hold: in particular, where an array is too short on one rank, the ranks that need something of it get
/// errc::peer_failed, and an operation must not throw. An operation of another batch must not start one.
///
/// | PetscSF | here |
/// |---|---|
/// | a root, a leaf | an entry, a request |
/// | bcast | `read` |
/// | reduce | `update` |
/// | fetch-and-op | `fetch_and_update` |
/// | gather, scatter | `gather`, `scatter` |
/// | degree | `gather`'s offsets |
template <item_type T>
class prepared_batch {
  public:
    /// @brief As `distributed_array::prepare`.
    prepared_batch(std::shared_ptr<array_engine> engine, std::span<const count_t> indices)
        : requests_(std::move(engine), indices) {}

    count_t num_requests() const noexcept { return requests_.num_requests(); }

    /// @brief The plan: forward it reads, in reverse it updates.
    const crossdock::plan& plan() const { return requests_.plan(); }

    /// @brief out[k] = the entry of request k.
    void read(std::span<T> out) {
        start_read(out);
        wait();
    }

    /// @brief Starts to read.
    /// @param out  must not be read, nor may the array change, until the batch is complete
    void start_read(std::span<T> out) {
        requests_.start(
            [&](auto& exchange) { exchange.start(std::span<const T>(entries()), out); });
    }

    /// @brief The entry of request k = op(it, values[k]), for all k on all ranks.
    /// @param op  associative and commutative; must not throw
    template <combine_operation<T> Op>
    void update(std::span<const T> values, Op op) {
        start_update(values, std::move(op));
        wait();
    }

    /// @brief Starts to update.
    /// @param values  must stay, unchanged, until the batch is complete
    template <combine_operation<T> Op>
    void start_update(std::span<const T> values, Op op) {
        requests_.start(
            [&](auto& exchange) { exchange.start_reverse(values, entries(), std::move(op)); });
    }
    /// @brief A temporary would be gone before the batch is complete.
    template <temporary_range Values, class Op>
    void start_update(Values&& values, Op op) = delete;

    /// @brief Makes progress; true if the batch is complete.
    [[nodiscard]] bool test() { return requests_.test(); }

    /// @brief Completes the batch.
    void wait() { requests_.wait(); }

    bool is_active() const noexcept { return requests_.is_active(); }

    /// @brief Brings the values of all requests to where their entries are, each by itself.
    gathered_values<T> gather(std::span<const T> values) {
        const auto& ends = requests_.offsets();
        auto result = requests_.part_of_start(false, [&] {
            gathered_values<T> room{ends, {}};
            room.values.resize(static_cast<std::size_t>(ends.back()));
            return room;
        });
        requests_.gather(std::as_bytes(values), std::as_writable_bytes(std::span(result.values)));
        return result;
    }

    /// @brief Brings a value to each request: the reverse of `gather`.
    /// @param gathered  of the length and order of `gather`'s values
    void scatter(std::span<const T> gathered, std::span<T> out) {
        requests_.scatter(std::as_bytes(gathered), std::as_writable_bytes(out));
    }

    /// @brief The entry of request k = op(it, values[k]); out[k] = what it was just before.
    ///
    /// Requests for one entry take effect one after the other: by rank, then in the rank's order.
    /// @par Complexity
    /// All requests for an entry are handled by its owner.
    template <combine_operation<T> Op>
    void fetch_and_update(std::span<const T> values, std::span<T> out, Op op) {
        const auto all = entries();
        requests_.exchange_each(
            std::as_bytes(values), std::as_writable_bytes(out), [&](std::size_t e, std::byte* at) {
                T& value = *reinterpret_cast<T*>(at);
                value = std::exchange(all[e], static_cast<T>(op(all[e], value)));
            });
    }

  private:
    std::span<T> entries() const {
        const auto bytes = requests_.entries();
        return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
    }

    prepared_requests requests_;
};

/// @brief Options of a distributed array. Equal on all ranks, except `num_local`.
template <item_type T>
struct array_options {
    /// How many entries this rank owns. The numbers of all ranks add up to the array's length. If unset, which must be
    /// so on all ranks, entries lie in blocks as equal as possible.
    std::optional<count_t> num_local = std::nullopt;
    /// The name of a route, as `make_route` takes it; or "auto": for each batch the one that suits.
    std::string route = "auto";
    /// About how many requests a rank makes in the first batch. Only "auto" uses it.
    count_t expected_requests = default_expected_requests;
    combining_options combine = {};
    array_transport transport = array_transport::routed;
    /// Which value stays if several are written to one entry in one batch.
    overwrite equal_writes = overwrite::any;
    /// For `overwrite::user`: of two values the one that stays. Associative and commutative.
    std::function<T(const T&, const T&)> choose = nullptr;
    /// Entries have the same bits with any route, topology and way to combine, for as many ranks and the same requests:
    /// each rank combines its own requests for an entry in their order; the entry's owner takes first its own, then
    /// those of others in the order of ranks. All requests then travel on `direct`, and not by `rma`.
    bool reproducible = false;
    /// What reports call it: its batches, and those that it prepares. By default the place that makes it.
    std::string name = "";
};

/// @brief A global array of n entries, each owned by one rank; all ranks read, write and update any entries by their
/// global indices.
///
/// All ranks make their requests together, in batches. Requests for the same entry are combined where they meet on the
/// route to its owner, and travel on as one. Its reply is split again at the same ranks.
///
///     4 ranks, n = 8, hypercube        every rank reads entry 6 of rank 3
///     stage 0   0 -> 2  {6}   1 -> 3  {6}
///     stage 1   2 -> 3  {6}            the requests of ranks 0 and 2 have become one
///     replies   3 -> 2, then 2 -> 0 and 3 -> 1
///
/// | state | legal calls | next |
/// |---|---|---|
/// | open | all | `close()`: closed |
/// | a prepared batch is active | requests that are queued, `prepare`, `local()` | its `wait` |
/// | closed | destruction, `close()` | |
/// | moved from | destruction, assignment | |
///
/// @par Collective
/// The constructor, the requests that are not queued, `step`, `prepare` and `close`: all ranks call them, in one order,
/// and they block. A rank may pass no indices.
/// @par Errors
/// A batch fails on all ranks or on none. If it fails, no entry has changed, no output is written, and the array can be
/// used as before. Where there are several faults, all ranks throw the same one:
/// 1. If a rank finds a fault in its own arguments, the fault of the lowest such rank. It looks, in this order, at the
/// lengths, for an active prepared batch, and at the indices of writes, of updates and of reads.
/// 2. Otherwise, that ranks ask for different kinds of requests or different operations.
/// 3. Otherwise, what an operation threw.
///
/// There are two exceptions. If the operations of a batch cannot throw, and a rank runs out of memory for more requests
/// or replies than 128 KiB hold, only that rank throws, and others may wait for it for ever. With the transport `rma`,
/// a batch that fails because MPI refuses a call or an operation throws may have changed entries.
///
/// @par Release
/// The destructor does not communicate. With the transport `rma`, an array that was not closed leaves its MPI window
/// behind, which is freed when its context is closed.
/// @par Thread safety
/// As `neighbor_exchange`.
/// @par Source
/// \cite peters2024array. Differs: any number of ranks and any route; replies are matched to requests by their order
/// (envelopes are an option); values of any type; batches that fail change nothing.
template <item_type T>
class distributed_array {
  public:
    /// @brief Makes an array whose entries are all zero bytes. It fails on all ranks or on none.
    /// @param where        must stay open as long as the array lives
    /// @param num_entries  equal on all ranks
    /// @throws error(errc::invalid_argument)  `num_entries` or `num_local` is negative; `num_local` is set on some
    /// ranks only; other options or contexts differ between ranks; `overwrite::user` without `choose`;
    /// `overwrite::minimum` or `maximum` of a type without <; `rma` with `reproducible`
    /// @throws error(errc::size_mismatch)     the `num_local` of all ranks do not add up to `num_entries`, or the
    /// topology of `where` has another number of ranks
    /// @throws error(errc::out_of_memory)     the entries of a rank do not fit into memory
    /// @throws as `make_route`
    distributed_array(const context& where, count_t num_entries,
                      const array_options<T>& options = {},
                      const std::source_location& place = std::source_location::current())
        : engine_(with_reserve([&] {
              // What runs out of memory beside others throws another error, so nothing is made twice.
              return std::make_shared<array_engine>(where, num_entries, settings_of(options),
                                                    sizeof(T), place);
          })),
          writes_(on_all_or_none(
              where.comm(),
              [&] { return make_write_rule<T>(options.equal_writes, options.choose); },
              static_cast<std::int64_t>(options.equal_writes),
              agreement_text(options.equal_writes))) {}

    ~distributed_array() {
        const auto num_queued = queued_reads_.indices.size() + queued_writes_.indices.size() +
                                queued_updates_.indices.size();
        if (engine_ && num_queued > 0) engine_->note_lost(num_queued);
    }
    distributed_array(distributed_array&&) noexcept = default;
    distributed_array& operator=(distributed_array&& other) noexcept {
        std::swap(engine_, other.engine_);
        std::swap(writes_, other.writes_);
        std::swap(queued_writes_, other.queued_writes_);
        std::swap(queued_updates_, other.queued_updates_);
        std::swap(queued_reads_, other.queued_reads_);
        return *this;
    }

    count_t size() const { return engine().owners().num_entries(); }

    /// @brief The global index of the first entry of `local()`.
    count_t first_index() const { return engine().owners().first(engine().comm().rank()); }

    /// @brief The entries that this rank owns. Do not change them while a prepared batch is active.
    std::span<T> local() {
        return {reinterpret_cast<T*>(engine().entries()),
                static_cast<std::size_t>(engine().owners().size(engine().comm().rank()))};
    }

    /// @brief Which rank owns which entries.
    const block_partition& owners() const { return engine().owners(); }

    /// @brief The route that the last batch took. Before the first batch, the route that it will take.
    const std::string& route() const { return engine().route(); }

    /// @brief What this rank sent and received in the last batch, and how long it took. With the transport `rma`, only
    /// requests are counted.
    const array_statistics& statistics() const { return engine().statistics(); }

    /// @brief Reads entries: out[k] = the entry at indices[k].
    /// @param out  as long as `indices`
    /// @par Complexity
    /// Time and memory are linear in the requests that this rank makes, forwards and answers. The route determines the
    /// number of messages.
    /// @throws error(errc::index_out_of_range)  an index is outside [0, size())
    /// @throws error(errc::size_mismatch)       lengths differ
    /// @throws error(errc::invalid_argument)    ranks call different functions, or pass different operations
    /// @throws error(errc::invalid_state)       the array is closed, or a prepared batch is active; on this rank only:
    /// an operation of a batch called this
    void read(std::span<const count_t> indices, std::span<T> out) {
        engine().require_open();
        array_batch batch;
        batch.reads = indices;
        batch.out = reinterpret_cast<std::byte*>(out.data());
        batch.has_reads = true;
        batch.attempt([&] { batch.fault = engine().length_fault(indices.size(), out.size()); });
        engine().run(batch);
    }

    /// @brief Writes entries: the entry at indices[k] = values[k]. If several values are written to one entry,
    /// `equal_writes` says which of them stays. The entry's old value plays no part in that.
    /// @throws as `read`; and what `choose` throws: an `error` keeps its code, anything else becomes
    /// error(errc::invalid_argument)
    void write(std::span<const count_t> indices, std::span<const T> values) {
        engine().require_open();
        std::vector<ranked<T>> with_ranks;
        array_batch batch;
        batch.attempt([&] {
            batch.fault = engine().length_fault(indices.size(), values.size());
            batch.writes = writes(indices, values, with_ranks);
        });
        engine().run(batch);
    }

    /// @brief Updates entries: the entry at indices[k] = op(entry, values[k]), for all k of all ranks. If `op` is not
    /// `noexcept`, one more reduction finds out whether it threw anywhere.
    /// @param op  associative and commutative; of the same type on all ranks
    /// @throws as `write`
    template <combine_operation<T> Op>
    void update(std::span<const count_t> indices, std::span<const T> values, Op op) {
        engine().require_open();
        const auto operation = make_update_operation<T>(std::move(op));
        array_batch batch;
        batch.attempt([&] { batch.fault = engine().length_fault(indices.size(), values.size()); });
        batch.updates = {indices, reinterpret_cast<const std::byte*>(values.data()), &operation,
                         predefined_for<T, Op>()};
        engine().run(batch);
    }

    /// @brief Queues a read: the next `step` copies the entry into `variable`, or throws what is wrong
    /// with the index, as for all that is queued.
    /// @param variable  must live until that step returns
    /// @throws error(errc::invalid_state)  an operation of a batch called this
    void read(count_t index, T* variable) {
        engine().require_open();
        queued_reads_.indices.push_back(index);
        queued_reads_.variables.push_back(variable);
    }
    /// @brief Queues a write: the next `step` writes the value to the entry.
    void write(count_t index, const T& value) {
        engine().require_open();
        queued_writes_.indices.push_back(index);
        queued_writes_.values.push_back({value});
    }
    /// @brief Queues an update: the next `step` combines the value with the entry by its operation.
    void update(count_t index, const T& value) {
        engine().require_open();
        queued_updates_.indices.push_back(index);
        queued_updates_.values.push_back({value});
    }

    /// @brief Carries out the queued requests of all ranks: all writes, then all updates, then all reads.
    ///
    /// This is one batch: requests of the three kinds travel in the same messages. The queue is empty afterwards, even
    /// if the step fails.
    /// @param op  the operation of the updates
    /// @throws as `update`
    template <combine_operation<T> Op = default_update<T>>
    void step(Op op = {}) {
        engine().require_open();
        const auto to_write = std::exchange(queued_writes_, {});
        const auto to_update = std::exchange(queued_updates_, {});
        const auto to_read = std::exchange(queued_reads_, {});
        const auto operation = make_update_operation<T>(std::move(op));
        std::vector<ranked<T>> with_ranks;
        raw_buffer found;

        array_batch batch;
        batch.attempt([&] {
            found = raw_buffer(to_read.indices.size() * sizeof(T));
            batch.writes = writes(to_write.indices, to_write.span(), with_ranks);
        });
        batch.updates = {to_update.indices,
                         reinterpret_cast<const std::byte*>(to_update.values.data()), &operation,
                         predefined_for<T, Op>()};
        batch.reads = to_read.indices;
        batch.out = found.data();
        batch.has_reads = true;
        engine().run(batch);
        for (std::size_t k = 0; k < to_read.variables.size(); ++k)
            *to_read.variables[k] = reinterpret_cast<const T*>(found.data())[k];
    }

    /// @brief Prepares requests that are made again and again, for the same entries. The indices travel to the owners
    /// now. What is returned reads and updates the entries without sending them again.
    /// @throws as `read`
    [[nodiscard]] prepared_batch<T> prepare(std::span<const count_t> indices) {
        engine().require_open();
        return prepared_batch<T>(engine_, indices);
    }

    /// @brief Frees the MPI window that the transport `rma` has. Nothing remains to be freed if the communicator was
    /// closed before.
    /// @pre no prepared batch is active
    void close() { engine().close(); }

  private:
    // A vector of `bool` is no array of `bool`; a vector of these is an array of any T.
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

    array_engine& engine() const {
        if (!engine_) [[unlikely]]
            throw error(errc::invalid_state, "the distributed array was moved from");
        return *engine_;
    }
    static array_settings settings_of(const array_options<T>& options) {
        return {options.num_local, options.route,     options.expected_requests,
                options.combine,   options.transport, options.reproducible,
                options.name};
    }
    array_changes writes(std::span<const count_t> indices, std::span<const T> values,
                         std::vector<ranked<T>>& with_ranks) const {
        const auto predefined = writes_.operation->combines_at_owner()
                                    ? predefined_operation{}
                                    : predefined_for<T, replace>();
        const void* travelling = values.data();
        if (writes_.carries_rank) {
            for (const T& value : values) with_ranks.push_back({value, engine().comm().rank()});
            travelling = with_ranks.data();
        }
        return {indices, static_cast<const std::byte*>(travelling), writes_.operation.get(),
                predefined};
    }

    std::shared_ptr<array_engine> engine_;
    write_rule writes_;
    change_queue queued_writes_;
    change_queue queued_updates_;
    read_queue queued_reads_;
};

}  // namespace crossdock
