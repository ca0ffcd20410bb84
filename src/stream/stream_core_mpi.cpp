#include "crossdock/detail/stream/stream_core_mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "../base/collective_mpi.hpp"
#include "../base/environment_mpi.hpp"
#include "../base/rank_fault_mpi.hpp"
#include "../base/watchdog_mpi.hpp"
#include "../context/node_memory_mpi.hpp"
#include "../context/object_records_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/route_choice.hpp"
#include "stream_engine.hpp"
#include "stream_setup_mpi.hpp"
#include "stream_transport_mpi.hpp"

namespace crossdock {

namespace {

constexpr const char* stream_kind_name = "stream";

bool has_urgent(std::span<const stream_channel> channels) {
    return std::any_of(channels.begin(), channels.end(),
                       [](const stream_channel& c) { return c.is_urgent; });
}

// The only thread that may call MPI, where there is only one.
std::optional<std::thread::id> driver() {
    if (thread_support() >= MPI_THREAD_SERIALIZED) return std::nullopt;
    return std::this_thread::get_id();
}

// Where threads may call MPI one at a time, all streams of the process take turns.
std::atomic<bool>* turn() {
    static std::atomic<bool> is_taken{false};
    return thread_support() == MPI_THREAD_SERIALIZED ? &is_taken : nullptr;
}

// Those who hand buffers over without MPI.
topology sharing_nodes(const stream_layout& layout, const stream_options& options) {
    return options.shared_memory ? layout.nodes()
                                 : topology::from_string(fmt::format("{}x1", layout.num_ranks()));
}

}  // namespace

struct stream_core::parts final : communicator_user {
    parts(const communicator& user, const topology& nodes, stream_scheme scheme,
          std::span<const stream_channel> channels, const stream_options& chosen,
          const std::source_location& place);
    ~parts();

    // Whether its end loses items, not counting what a handler's failure loses.
    bool is_unfinished() const noexcept {
        return !is_closed && engine && !engine->is_at_rest() && !engine->has_failed() &&
               comm.is_open();
    }
    std::string activity() const override;
    // What comes later is refused; `close` gives back what is left.
    void note_closed() noexcept override {
        if (engine && !is_closed) {
            note_end();
            engine->close();
        }
    }

    void open(std::span<const stream_channel> channels, stream_sink& sink);
    chunk_memory make_chunks();
    void start_helper();
    void stop_helper();
    void give_back();
    void note_begin(const context& where, const std::source_location& place);
    void note_end() noexcept;
    stream_statistics statistics();

    communicator comm;
    std::string name;
    stream_options options;
    stream_layout layout;
    chunk_layout shape;
    topology sharing;
    chunk_memory::sizes sizes;

    std::optional<communicator> own;  // for messages, and waves in an order of their own
    tag_block tags;
    std::shared_ptr<node_memory> memory;  // null where nobody shares any
    memory_piece block;
    std::optional<mpi_transport> transport;
    std::optional<stream_engine> engine;
    std::atomic<bool> may_drive{false};  // the helper: this thread has done with MPI
    std::jthread helper;
    std::exception_ptr failure_of_helper;
    bool is_closed = false;
    std::unique_ptr<exchange_watch> watch;  // null: nothing is measured
};

stream_core::parts::parts(const communicator& user, const topology& nodes, stream_scheme scheme,
                          std::span<const stream_channel> channels, const stream_options& chosen,
                          const std::source_location& place)
    : communicator_user(user),
      comm(user),
      name(object_name(chosen.name, place)),
      options(chosen),
      layout(nodes, options.route, scheme, options.workers, comm.rank()),
      shape(stream_chunk_layout(layout, options, channels)),
      sharing(sharing_nodes(layout, options)),
      sizes(chunk_memory_sizes(layout, options, static_cast<int>(channels.size()),
                               sharing.num_regions() > 1)) {
    options.scheme = scheme;
    if (options.ordered && !layout.has_one_hop()) {
        throw error(errc::invalid_argument,
                    fmt::format("ordered items need a route of one stage, but \"{}\" has {}",
                                options.route, layout.num_stages()));
    }
    if (layout.is_node() && sharing.num_regions() != nodes.num_regions()) {
        throw error(errc::invalid_argument,
                    fmt::format("the scheme node without shared memory needs nodes of one rank, "
                                "but \"{}\" has {} for {} ranks",
                                nodes.to_string(), nodes.num_regions(), nodes.num_ranks()));
    }
    checked_cast<int>(shape.stride());
    chunk_memory::block_bytes(shape, sizes);
}

stream_core::parts::~parts() {
    stop_helper();
    if (is_unfinished()) {
        const auto sum = statistics();
        comm.note_lost(stream_kind_name, name, "drain", sum.items - sum.combined - sum.handled);
    }
    if (!is_closed && transport && transport->abandon()) block.keep();
}

std::string stream_core::parts::activity() const {
    const bool is_at_rest = is_closed || !engine || engine->is_at_rest();
    return is_at_rest ? "" : "a stream, " + name + ", with items that have not been drained";
}

void stream_core::parts::open(std::span<const stream_channel> channels, stream_sink& sink) {
    own.emplace(comm.get());
    tags = own->reserve_tags(mpi_transport::num_tags + 1);
    const int first_tag = tags.first();
    chunk_memory chunks = make_chunks();
    try {
        on_all_or_none(*own, [&] { transport.emplace(*own, first_tag, has_urgent(channels)); });
    } catch (...) {
        transport.reset();  // to close it takes all ranks
        throw;
    }
    on_all_or_none(*own, [&] {
        engine.emplace(comm.rank(), layout, options, sink, std::move(chunks), *transport, driver(),
                       turn());
    });
    if (options.latency_sample_interval > 0) {
        engine->set_clock_offset(
            measure_clock_offset(*own, layout.nodes(), first_tag + mpi_transport::num_tags));
    }
    on_all_or_none(*own, [this] { start_helper(); });
    may_drive = true;
}

// Makes the memory, all chunks of it free. Throws error(errc::out_of_memory) on all ranks.
chunk_memory stream_core::parts::make_chunks() {
    if (sharing.num_regions() < sharing.num_ranks()) {
        memory = node_memory::make(*own, sharing);
        // Others look for chunks behind as many shared buffers as they have themselves.
        run_collective(*own, [&](MPI_Request* request) {
            return MPI_Iallreduce(MPI_IN_PLACE, &sizes.num_shared_buffers, 1, MPI_UINT32_T, MPI_MAX,
                                  memory->comm().get(), request);
        });
    }
    std::optional<chunk_memory> chunks;
    std::optional<error> fault;
    // Not in the attempt: others of the node wait for this rank's share.
    const auto num_bytes = with_reserve([&] { return chunk_memory::block_bytes(shape, sizes); });
    attempt(comm.rank(), fault, [&] {
        block = memory_piece(memory, num_bytes);
        chunks.emplace(shape, sizes, block.all(), memory ? sharing.local_rank(comm.rank()) : 0);
        chunks->initialize();
    });
    agree(*own, fault);
    return std::move(*chunks);
}

void stream_core::parts::start_helper() {
    if (!options.progress_thread) return;
    helper = std::jthread([this](const std::stop_token& stop) {
        try {
            for (unsigned turn = 1; !stop.stop_requested(); ++turn) {
                if (may_drive) engine->drive_in(turn);
                std::this_thread::yield();
            }
        } catch (...) {
            failure_of_helper = std::current_exception();
        }
    });
}

void stream_core::parts::stop_helper() {
    helper.request_stop();
    if (helper.joinable()) helper.join();
}

void stream_core::parts::give_back() {
    stop_helper();
    is_closed = true;
    if (engine) engine->close();
    if (transport) transport->close();
    if (memory) memory->close();
    if (own) own->close();
}

// For the report a stream is one exchange, as long as it is open.
void stream_core::parts::note_begin(const context& where, const std::source_location& place) {
    watch =
        where.comm().resource<object_records>().new_watch(stream_kind_name, options.name, place);
    if (!watch) return;
    auto& object = watch->object();
    object.why = "given";
    with_reserve([&] { object.route = options.route; });
    const watched_start now(watch.get());
    watch->note_started();
}

// What goes by MPI leaves the node, if its ranks share memory; otherwise nobody knows what does.
void stream_core::parts::note_end() noexcept {
    if (!watch) return;
    const auto sum = statistics();
    mpi_traffic sent{sum.mpi_messages, sum.mpi_bytes};
    if (options.shared_memory) {
        sent.inter_region_messages = sent.messages;
        sent.inter_region_bytes = sent.bytes;
    }
    {
        const watched_call now(watch.get());
        watch->finish(sent);
    }
    watch.reset();
}

stream_statistics stream_core::parts::statistics() {
    stream_statistics sum;
    for (int w = 0; w < options.workers; ++w) sum += engine->worker(w).statistics();
    return sum;
}

std::string stream_route(const context& where, const std::string& route) {
    auto asked = asked_untried_route(where, route);
    return asked == automatic_route ? "direct" : asked;
}

stream_core::stream_core(const context& where, std::span<const stream_channel> channels,
                         stream_sink& sink, const stream_options& given,
                         const std::source_location& place) {
    const auto& comm = where.comm();
    const collective_call now("making a stream", comm);
    check_stream(where, channels, given);
    auto options = with_reserve([&] { return given; });
    comm.resource<environment>();  // blocks here once
    options.route = with_reserve([&] { return stream_route(where, given.route); });
    const topology nodes = stream_nodes(where);
    const stream_scheme scheme = agreed_scheme(where, nodes, channels, options);
    parts_ = on_all_or_none(comm, [&] {
        return std::make_unique<parts>(comm, nodes, scheme, channels, options, place);
    });
    try {
        parts_->open(channels, sink);
    } catch (...) {
        parts_->give_back();
        throw;
    }
    parts_->note_begin(where, place);
}

stream_core::~stream_core() = default;

int stream_core::num_workers() const noexcept { return parts_->options.workers; }
stream_scheme stream_core::scheme() const noexcept { return parts_->layout.scheme(); }
const stream_layout& stream_core::layout() const noexcept { return parts_->layout; }
void stream_core::drive() {
    if (!is_open())
        throw error(errc::invalid_state, "drive() of a stream after close(); make another stream");
    parts_->engine->drive(true);
}
bool stream_core::is_unfinished() const noexcept { return parts_->is_unfinished(); }
bool stream_core::is_open() const noexcept { return !parts_->is_closed && parts_->comm.is_open(); }

stream_worker& stream_core::worker(int number) {
    if (number < 0 || number >= num_workers()) {
        throw error(errc::index_out_of_range,
                    fmt::format("worker {} is outside [0, {})", number, num_workers()),
                    parts_->comm.rank());
    }
    return parts_->engine->worker(number);
}

void stream_core::close() {
    // MPI_Finalize has closed what nobody closed before.
    if (parts_->is_closed || !parts_->own->is_open()) return;
    // Who knows less than MPI_THREAD_MULTIPLE must not call MPI beside the progress thread.
    parts_->stop_helper();
    try {
        const collective_call now("closing a stream", parts_->comm);
        on_all_or_none(*parts_->own, [this] {
            if (parts_->failure_of_helper) std::rethrow_exception(parts_->failure_of_helper);
            if (!parts_->engine->is_at_rest())
                throw error(errc::invalid_state,
                            fmt::format("items of rank {} have not been drained, so the stream "
                                        "cannot be closed",
                                        parts_->comm.rank()),
                            parts_->comm.rank());
        });
    } catch (...) {
        parts_->start_helper();
        throw;
    }
    parts_->note_end();
    parts_->give_back();
}

stream_statistics stream_core::statistics() const { return parts_->statistics(); }

}  // namespace crossdock
