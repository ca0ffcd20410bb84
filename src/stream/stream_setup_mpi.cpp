#include "stream_setup_mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "../base/collective_mpi.hpp"
#include "../context/named_context_mpi.hpp"
#include "../topology/nodes_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/stream/stream_layout.hpp"
#include "scheme.hpp"

namespace crossdock {

namespace {

constexpr count_t most_items = 1 << 20;
constexpr count_t most_bytes_of_records = 1 << 30;
constexpr count_t most_items_that_combine = 65535;  // positions take two bytes
constexpr int num_pings = 32;

void list_options(named_values& values, const context& where,
                  std::span<const stream_channel> channels, const stream_options& options) {
    values.add("workers", options.workers)
        .add("scheme", to_string(options.scheme))
        .add("max_age_seconds", options.max_age_seconds.value_or(0))
        .add("route", options.route)
        .add("buffer_items", options.buffer_items)
        .add("max_buffers", options.max_buffers)
        .add("priorities", options.priorities)
        .add("flush_on_idle", options.flush_on_idle)
        .add("ordered", options.ordered)
        .add("with_source", options.with_source)
        .add("shared_memory", options.shared_memory)
        .add("progress_thread", options.progress_thread)
        .add("communication_thread", options.communication_thread)
        .add("latency_sample_interval", options.latency_sample_interval);
    add_context(values, where);
    for (const stream_channel& c : channels) {
        values.add("bytes of an item", c.item_bytes)
            .add("items of a buffer", c.capacity)
            .add("urgent", c.is_urgent)
            .add("combines", c.combines);
    }
}

[[noreturn]] void refuse(const std::string& text) { throw error(errc::invalid_argument, text); }

void check_capacity(count_t capacity, const stream_channel& channel) {
    const count_t most = channel.item_bytes == 0 ? most_bytes_of_records
                         : channel.combines      ? most_items_that_combine
                                                 : most_items;
    if (capacity >= 1 && capacity <= most) return;
    refuse(fmt::format("a buffer of {} {}{}; there must be 1 to {}", capacity,
                       channel.item_bytes == 0 ? "bytes" : "items",
                       channel.combines ? " that combine" : "", most));
}

void check_numbers(const stream_options& options, rank_t num_ranks) {
    if (options.workers < 1)
        refuse(fmt::format("a process of {} workers; the minimum is 1", options.workers));
    if (count_t{options.workers} * num_ranks > std::numeric_limits<int>::max())
        refuse(fmt::format("{} ranks of {} workers are more than {} workers", num_ranks,
                           options.workers, std::numeric_limits<int>::max()));
    if (options.buffer_items < 0)
        refuse(fmt::format("a buffer of {} items; the minimum is 1, or 0 for 64 KiB of them",
                           options.buffer_items));
    if (options.max_buffers < 0)
        refuse(fmt::format("at most {} buffers; the minimum is 0", options.max_buffers));
    if (options.priorities != 1 && options.priorities != 2)
        refuse(fmt::format("{} priorities; there must be 1 or 2", options.priorities));
    if (options.max_age_seconds && !(*options.max_age_seconds > 0))
        refuse(fmt::format("a maximal age of {} seconds; it must be more than 0",
                           *options.max_age_seconds));
    if (options.latency_sample_interval < 0)
        refuse(fmt::format("a latency sample every {} pushes; the minimum is 0",
                           options.latency_sample_interval));
}

const char* name_of(int support) {
    switch (support) {
        case MPI_THREAD_SINGLE: return "MPI_THREAD_SINGLE";
        case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
        case MPI_THREAD_SERIALIZED: return "MPI_THREAD_SERIALIZED";
        default: return "MPI_THREAD_MULTIPLE";
    }
}

void check_threads(const stream_options& options) {
    const int support = thread_support();
    const auto require = [&](int least, const std::string& who) {
        if (support < least)
            refuse(fmt::format("{} needs {}, but MPI was initialised with {}", who, name_of(least),
                               name_of(support)));
    };
    if (options.workers > 1)
        require(MPI_THREAD_FUNNELED, fmt::format("a process of {} workers", options.workers));
    if (options.progress_thread) require(MPI_THREAD_SERIALIZED, "a progress thread");
    if (options.communication_thread) require(MPI_THREAD_FUNNELED, "a communication thread");
    int is_main = 0;
    CROSSDOCK_MPI(MPI_Is_thread_main(&is_main));
    if (support == MPI_THREAD_FUNNELED && !is_main)
        refuse("with MPI_THREAD_FUNNELED the main thread must make the stream");
}

// Processes that a worker of this one fills buffers for.
count_t num_endpoints(const topology& nodes, const stream_options& options, rank_t here) {
    const stream_layout layout(nodes, options.route, stream_scheme::wps, options.workers, here);
    return layout.num_partners();
}

// Of the channel with the largest buffers. Items of any size are taken to be of 16 bytes.
stream_shape shape_of(count_t num_endpoints, std::span<const stream_channel> channels,
                      const stream_options& options) {
    stream_shape largest{num_endpoints, options.workers, 1, 1};
    for (const stream_channel& c : channels) {
        stream_shape shape{num_endpoints, options.workers, c.capacity,
                           static_cast<count_t>(c.item_bytes)};
        if (c.item_bytes == 0) {
            shape.item_bytes = static_cast<count_t>(stream_record::room(16));
            shape.buffer_items = std::max<count_t>(c.capacity / shape.item_bytes, 1);
        }
        const auto bytes_of = [](const stream_shape& s) { return s.buffer_items * s.item_bytes; };
        if (bytes_of(shape) > bytes_of(largest)) largest = shape;
    }
    return largest;
}

std::int64_t clock_nanoseconds() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void answer_pings(const communicator& comm, rank_t from, int tag) {
    for (int i = 0; i < num_pings; ++i) {
        insist([&] {
            return MPI_Recv(nullptr, 0, MPI_BYTE, from, tag, comm.get(), MPI_STATUS_IGNORE);
        });
        const std::int64_t now = clock_nanoseconds();
        insist([&] { return MPI_Send(&now, 1, MPI_INT64_T, from, tag, comm.get()); });
    }
}

// The quickest round trip tells most: rank 0 has answered half-way through, or nearly so.
std::int64_t offset_by_pings(const communicator& comm, int tag) {
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    std::int64_t offset = 0;
    for (int i = 0; i < num_pings; ++i) {
        std::int64_t answer = 0;
        const std::int64_t start = clock_nanoseconds();
        insist([&] { return MPI_Send(nullptr, 0, MPI_BYTE, 0, tag, comm.get()); });
        insist([&] {
            return MPI_Recv(&answer, 1, MPI_INT64_T, 0, tag, comm.get(), MPI_STATUS_IGNORE);
        });
        const std::int64_t elapsed = clock_nanoseconds() - start;
        if (elapsed >= shortest) continue;
        shortest = elapsed;
        offset = answer - (start + elapsed / 2);
    }
    return offset;
}

}  // namespace

int thread_support() {
    int support = MPI_THREAD_SINGLE;
    CROSSDOCK_MPI(MPI_Query_thread(&support));
    return support;
}

void check_stream(const context& where, std::span<const stream_channel> channels,
                  const stream_options& options) {
    const auto list = [&](named_values& values) { list_options(values, where, channels, options); };
    on_all_or_none(
        where.comm(),
        [&] {
            check_numbers(options, where.num_ranks());
            for (const stream_channel& c : channels) check_capacity(c.capacity, c);
            check_sizes(where);
            if (options.ordered && fills_together(options.scheme))
                refuse(fmt::format("ordered items need the scheme ww, wps or wsp, not {}",
                                   to_string(options.scheme)));
            check_threads(options);
        },
        with_reserve([&] { return equal_arguments("a stream", list); }));
}

topology stream_nodes(const context& where) {
    nodes_of(where.comm());  // blocks here once
    return with_reserve([&] { return nodes_of(where.comm(), where.nodes()); });
}

stream_scheme agreed_scheme(const context& where, const topology& nodes,
                            std::span<const stream_channel> channels,
                            const stream_options& options) {
    if (options.scheme != stream_scheme::automatic) return options.scheme;
    const auto& comm = where.comm();
    // On some routes the ranks differ in their number of partners.
    count_t most_endpoints =
        on_all_or_none(comm, [&] { return num_endpoints(nodes, options, comm.rank()); });
    allreduce(comm, &most_endpoints, 1, MPI_INT64_T, MPI_MAX);
    const auto& model = where.machine();
    const stream_scheme chosen = with_reserve(
        [&] { return choose_stream_scheme(shape_of(most_endpoints, channels, options), model); });
    return options.ordered && fills_together(chosen) ? stream_scheme::wps : chosen;
}

std::int64_t measure_clock_offset(const communicator& comm, const topology& nodes, int tag) {
    const region_t home = nodes.region_of(0);
    if (comm.rank() != 0) {
        // Processes of a machine have one clock.
        return nodes.region_of(comm.rank()) == home ? 0 : offset_by_pings(comm, tag);
    }
    for (rank_t rank = 1; rank < comm.num_ranks(); ++rank) {
        if (nodes.region_of(rank) != home) answer_pings(comm, rank, tag);
    }
    return 0;
}

}  // namespace crossdock
