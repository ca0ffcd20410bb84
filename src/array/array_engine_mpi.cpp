#include "crossdock/detail/array/array_engine_mpi.hpp"

#include <fmt/format.h>

#include <limits>
#include <new>
#include <utility>

#include "../base/collective_mpi.hpp"
#include "../base/environment_mpi.hpp"
#include "../base/throw_error.hpp"
#include "../base/watchdog_mpi.hpp"
#include "../context/named_context_mpi.hpp"
#include "../context/object_records_mpi.hpp"
#include "../model/machine_mpi.hpp"
#include "array_index.hpp"
#include "batch_routes.hpp"
#include "batch_run_mpi.hpp"
#include "batch_transport_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "study/array_window_mpi.hpp"

namespace crossdock {

namespace {

request_size size_of_request(count_t num_entries, std::size_t item_bytes) {
    const auto index_bytes = with_index_type(num_entries, [](auto index) { return sizeof index; });
    return {static_cast<count_t>(index_bytes), static_cast<count_t>(item_bytes)};
}

void list_settings(named_values& values, const context& where, count_t num_entries,
                   const array_settings& settings, std::size_t item_bytes) {
    const auto& combine = settings.combine;
    values.add("number of entries", num_entries)
        .add("bytes of an entry", item_bytes)
        .add("num_local given", settings.num_local.has_value())
        .add("route", settings.route)
        .add("expected_requests", settings.expected_requests)
        .add("combining", to_string(combine.strategy))
        .add("combining at the source", combine.locally)
        .add("combining on the way", combine.on_the_way)
        .add("transport", static_cast<int>(settings.transport))
        .add("reproducible", settings.reproducible);
    add_context(values, where);
}

void check_parts(count_t num_entries, const array_settings& settings) {
    if (num_entries < 0)
        throw error(errc::invalid_argument,
                    fmt::format("num_entries is {}; the minimum is 0", num_entries));
    if (settings.num_local.value_or(0) < 0)
        throw error(errc::invalid_argument,
                    fmt::format("num_local is {}; the minimum is 0", *settings.num_local));
    if (settings.reproducible && settings.transport == array_transport::rma)
        throw error(errc::invalid_argument,
                    "MPI orders the changes of the transport rma, so they are not reproducible: "
                    "name another transport");
}

block_partition parts_of_sizes(count_t num_entries, const std::vector<count_t>& sizes) {
    auto owners = block_partition::from_sizes(sizes);
    if (owners.num_entries() != num_entries) {
        throw error(errc::size_mismatch,
                    fmt::format("num_local of all ranks adds up to {}, but the array has {} "
                                "entries; both must be equal",
                                owners.num_entries(), num_entries));
    }
    return owners;
}

// For the time of a batch.
class busy_mark {
  public:
    explicit busy_mark(bool& is_busy) : is_busy_(is_busy) { is_busy_ = true; }
    ~busy_mark() { is_busy_ = false; }
    busy_mark(const busy_mark&) = delete;
    busy_mark& operator=(const busy_mark&) = delete;

  private:
    bool& is_busy_;
};

}  // namespace

struct array_engine::implementation {
    implementation(const context& w, const block_partition& owners, const array_settings& s,
                   std::size_t bytes, const std::source_location& place)
        : where(w),
          name(object_name(s.name, place)),
          routings(w.topology(), owners, w.rank(),
                   s.transport == array_transport::routed ? s.route : "direct", s.expected_requests,
                   size_of_request(owners.num_entries(), bytes), w.machine()),
          settings(s),
          item_bytes(bytes) {
        const auto num_local = static_cast<std::size_t>(owners.size(w.rank()));
        const bool fits = num_local <= std::numeric_limits<std::size_t>::max() / item_bytes;
        entries.reset(fits ? new (std::nothrow) std::byte[num_local * item_bytes]() : nullptr);
        if (!entries)
            throw_error_of(w.rank(), errc::out_of_memory,
                           "rank {} has no memory for its {} entries of {} bytes; take more ranks "
                           "or fewer entries",
                           w.rank(), num_local, item_bytes);
    }

    // Two sets of tags in turn. A rank may be one batch ahead of another and never two: to be done
    // with the requests of one it must have heard, in one way or another, from all ranks.
    std::unique_ptr<batch_transport> next_transport() {
        const auto& routing = routings.choose_next();
        const int set = static_cast<int>(num_batches++ % 2);
        return with_reserve([&] {
            return settings.transport == array_transport::plain
                       ? make_alltoallv_transport(where.comm(), routing, &memory)
                       : make_routed_transport(where.comm(), routing,
                                               tags.first() + set * tags_of_batch(), &memory);
        });
    }

    // All is waiting: `array_statistics` has the seconds of phases.
    void note_batch() {
        if (!watch) return;
        auto& object = watch->object();
        object.why = settings.route == automatic_route ? "estimated" : "given";
        with_reserve([&] { object.route = routings.latest().r->name(); });
        const auto size = size_of_request(routings.latest().owners.num_entries(), item_bytes);
        const count_t request_bytes = size.index_bytes + size.item_bytes;
        const auto& sent = last.total().sent;
        watch->change(activity::waiting);
        watch->note_started();
        watch->finish({sent.messages, sent.items * request_bytes, sent.inter_region_messages,
                       sent.inter_region_items * request_bytes});
    }

    int tags_of_batch() const { return 2 * static_cast<int>(routings.max_stages()); }

    batch_setup setup() {
        return {where.comm(),  routings.latest(), settings.combine,
                entries.get(), item_bytes,        &memory};
    }

    context where;
    std::string name;
    pooled_resource memory;
    batch_routes routings;
    array_settings settings;
    std::size_t item_bytes;
    std::shared_ptr<std::byte[]> entries;
    tag_block tags;
    std::uint64_t num_batches = 0;
    std::unique_ptr<array_window> window;
    array_statistics last;
    std::unique_ptr<exchange_watch> watch;  // null: nothing is measured
    int num_active = 0;
    bool is_in_batch = false;
    bool is_closed = false;
};

array_engine::array_engine(const context& where, count_t num_entries,
                           const array_settings& settings, std::size_t item_bytes,
                           const std::source_location& place) {
    const auto& comm = where.comm();
    const collective_call now("making a distributed array", comm);
    const auto list = [&](named_values& values) {
        list_settings(values, where, num_entries, settings, item_bytes);
    };
    std::vector<count_t> sizes;
    on_all_or_none(
        comm,
        [&] {
            check_sizes(where);
            check_parts(num_entries, settings);
            if (settings.num_local) sizes.resize(static_cast<std::size_t>(comm.num_ranks()));
        },
        with_reserve([&] { return equal_arguments("a distributed array", list); }));
    if (settings.num_local) {
        run_collective(comm, [&](MPI_Request* request) {
            return MPI_Iallgather(&*settings.num_local, 1, MPI_INT64_T, sizes.data(), 1,
                                  MPI_INT64_T, comm.get(), request);
        });
    }
    comm.resource<environment>();  // blocks here once, as the machine does
    where.machine();
    state_ = on_all_or_none(comm, [&] {
        const auto owners = settings.num_local
                                ? parts_of_sizes(num_entries, sizes)
                                : block_partition::blocks(num_entries, comm.num_ranks());
        auto effective = settings;
        effective.route = asked_untried_route(where, settings.route);
        if (settings.transport == array_transport::plain)
            effective.combine = {combining::none, false, false};
        if (settings.reproducible) {
            effective.route = "direct";
            const auto strategy = effective.combine.strategy;
            effective.combine = {strategy == combining::none ? combining::sort : strategy, true,
                                 true};
        }
        return std::make_unique<implementation>(where, owners, effective, item_bytes, place);
    });
    state_->tags = comm.reserve_tags(2 * state_->tags_of_batch());
    state_->watch =
        comm.resource<object_records>().new_watch("distributed array", settings.name, place);
}

array_engine::~array_engine() = default;

const context& array_engine::where() const noexcept { return state_->where; }
const block_partition& array_engine::owners() const noexcept {
    return state_->routings.latest().owners;
}
const std::string& array_engine::route() const noexcept {
    return state_->routings.latest().r->name();
}
std::byte* array_engine::entries() const noexcept { return state_->entries.get(); }
std::size_t array_engine::item_bytes() const noexcept { return state_->item_bytes; }
const array_statistics& array_engine::statistics() const noexcept { return state_->last; }
void array_engine::require_no_batch() const {
    require_state(!state_->is_in_batch,
                  "a request during a batch: it must wait until the batch has returned");
}
void array_engine::require_open() const {
    require_no_batch();
    if (state_->is_closed) throw error(errc::invalid_state, "the distributed array is closed");
    comm().require_open();
}
void array_engine::note_lost(std::size_t num_requests) const noexcept {
    comm().note_lost("distributed array", state_->name, "step", static_cast<count_t>(num_requests));
}
void array_engine::add_active(int change) noexcept { state_->num_active += change; }

std::optional<error> array_engine::length_fault(std::size_t num_indices,
                                                std::size_t num_values) const {
    if (num_indices == num_values) return std::nullopt;
    const rank_t rank = comm().rank();
    return error(errc::size_mismatch,
                 fmt::format("rank {} has {} indices and {} values; give one value for each index",
                             rank, num_indices, num_values),
                 rank);
}

std::optional<error> array_engine::state_fault() const {
    if (state_->num_active == 0) return std::nullopt;
    const rank_t rank = comm().rank();
    return error(errc::invalid_state,
                 fmt::format("rank {} has {} active prepared batches; wait for them first", rank,
                             state_->num_active),
                 rank);
}

// What has failed may leave messages that nobody receives.
template <class Batch>
auto array_engine::keeping_tags_on_error(Batch&& batch) {
    try {
        return batch();
    } catch (...) {
        state_->tags.keep();
        throw;
    }
}

void array_engine::run(const array_batch& batch) {
    require_open();
    const watched_start now(state_->watch.get());
    const collective_call collective("a batch of a distributed array", comm());
    const busy_mark mark(state_->is_in_batch);
    memory_reserve::keep();
    auto checked = with_reserve([&] { return batch; });
    if (!checked.fault) checked.fault = with_reserve([&] { return state_fault(); });
    // Open MPI 4.1 makes no window of one rank, which needs none.
    if (state_->settings.transport == array_transport::rma && comm().num_ranks() > 1)
        return run_rma(checked);
    const auto transport = state_->next_transport();
    auto result =
        keeping_tags_on_error([&] { return run_batch(state_->setup(), checked, *transport); });
    state_->last = std::move(result.statistics);
    state_->note_batch();
    state_->routings.learn(result.most_requests);
}

void array_engine::run_rma(const array_batch& batch) {
    auto& window = state_->window;
    if (!window) {
        // Making a window blocks, and others may wait for what this rank forwards until they come
        // here.
        auto made = on_all_or_none(comm(), [&] {
            return std::make_unique<array_window>(comm(), owners(), state_->entries,
                                                  state_->item_bytes);
        });
        on_all_or_none(comm(), [&] { made->open(); });
        window = std::move(made);
    }
    on_all_or_none(
        comm(), [&] { window->check(batch); }, with_reserve([&] { return vote_of(batch); }),
        what_differs);
    window->run(batch);
    state_->last = {};
    state_->last.requests = static_cast<count_t>(batch.writes.indices.size() +
                                                 batch.updates.indices.size() + batch.reads.size());
    state_->note_batch();
}

neighbor_exchange array_engine::prepare(std::span<const count_t> indices,
                                        std::vector<count_t>* kept) {
    require_open();
    const collective_call now("preparing a batch", comm());
    memory_reserve::keep();
    std::optional<error> fault;
    try {
        if (kept != nullptr) kept->assign(indices.begin(), indices.end());
    } catch (...) {
        fault = current_error();
    }
    const auto transport = state_->next_transport();
    auto compiled = keeping_tags_on_error(
        [&] { return plan_requests(state_->setup(), indices, fault, *transport); });
    const auto options = with_reserve([&] { return exchange_options(); });
    return {state_->where,
            with_reserve([&] { return std::make_shared<const plan>(std::move(compiled)); }),
            options};
}

neighbor_options array_engine::exchange_options() const {
    neighbor_options options;
    options.route = route();
    options.item_bytes = state_->item_bytes;
    options.name = state_->settings.name.empty() ? "prepared batches" : state_->settings.name;
    return options;
}

void array_engine::close() {
    if (std::exchange(state_->is_closed, true)) return;
    if (!state_->window || !comm().is_open()) return;  // that has freed the windows
    const collective_call now("closing a distributed array", comm());
    comm().wait_for_all();
    state_->window->close();
}

}  // namespace crossdock
