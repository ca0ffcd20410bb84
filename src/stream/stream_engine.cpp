#include "stream_engine.hpp"

#include <algorithm>

#include "crossdock/detail/base/memory_reserve.hpp"
#include "worker_buffers.hpp"

namespace crossdock {

namespace {

constexpr std::uint32_t chunks_on_their_way = 32;  // of a worker
constexpr std::uint32_t chunks_to_receive = 32;
constexpr auto time_between_waves = std::chrono::milliseconds(1);

std::size_t endpoint_of_order(rank_t rank, bool is_urgent) {
    return 2 * static_cast<std::size_t>(rank) + (is_urgent ? 1 : 0);
}

}  // namespace

std::uint32_t chunks_per_worker(const stream_layout& layout, const stream_options& options,
                                int num_channels) {
    if (options.max_buffers > 0) return static_cast<std::uint32_t>(options.max_buffers);
    const auto filled = static_cast<std::uint32_t>(layout.buffers().size()) *
                        static_cast<std::uint32_t>(num_channels);
    return filled + chunks_on_their_way;
}

chunk_memory::sizes chunk_memory_sizes(const stream_layout& layout, const stream_options& options,
                                       int num_channels, bool has_others) {
    const auto buffers = static_cast<std::uint32_t>(layout.buffers().size());
    return {
        layout.num_workers(), chunks_per_worker(layout, options, num_channels),
        has_others ? chunks_to_receive : 0,
        fills_together(layout.scheme()) ? buffers * static_cast<std::uint32_t>(num_channels) : 0};
}

chunk_layout stream_chunk_layout(const stream_layout& layout, const stream_options& options,
                                 std::span<const stream_channel> channels) {
    // A buffer carries the source of each item if workers share it, or if it holds forwarded items.
    // Without tags neither is the case.
    const bool has_many_sources =
        layout.tag_bytes() > 0 && (fills_together(layout.scheme()) || !layout.has_one_hop());
    return {channels, layout.max_group_size(), layout.tag_bytes(),
            options.with_source && has_many_sources ? 4 : 0};
}

stream_engine::stream_engine(rank_t rank, const stream_layout& layout,
                             const stream_options& options, stream_sink& sink, chunk_memory memory,
                             stream_transport& transport, std::optional<std::thread::id> driver,
                             std::atomic<bool>* turn)
    : rank_(rank),
      layout_(layout),
      options_(options),
      sink_(sink),
      memory_(std::move(memory)),
      transport_(transport),
      driver_(driver),
      is_driven_(turn != nullptr ? *turn : own_turn_) {
    for (int w = 0; w < layout.num_workers(); ++w) {
        workers_.push_back(std::make_unique<worker_buffers>(*this, w));
    }
    if (options.ordered) {
        const std::size_t endpoints = endpoint_of_order(layout.num_ranks(), false);
        next_to_send_.resize(endpoints);
        next_to_take_.resize(endpoints);
        early_.resize(endpoints);
    }
}

stream_engine::~stream_engine() = default;

stream_worker& stream_engine::worker(int number) {
    return *workers_[static_cast<std::size_t>(number)];
}

bool stream_engine::shares_memory_with(rank_t rank) const {
    if (!options_.shared_memory) return rank == rank_;
    return layout_.nodes().region_of(rank) == layout_.nodes().region_of(rank_);
}

int stream_engine::local_process(rank_t rank) const {
    return options_.shared_memory ? layout_.nodes().local_rank(rank) : 0;
}

// The process that messages of this one to an endpoint go to. Of a node it is one of its processes,
// chosen by the number of this one in its own node, so that all get about as many.
rank_t stream_engine::receiver_at(int endpoint) const {
    if (!layout_.is_node()) return endpoint;
    const topology& nodes = layout_.nodes();
    return nodes.rank_at(endpoint, nodes.local_rank(rank_) % nodes.region_size(endpoint));
}

worker_id stream_engine::local_worker(int number_at_endpoint) const noexcept {
    const int workers = layout_.num_workers();
    if (!layout_.is_node()) return {memory_.here(), number_at_endpoint};
    return {number_at_endpoint / workers, number_at_endpoint % workers};
}

std::size_t stream_engine::hand_over(chunk_ref ref, int endpoint) {
    const rank_t to =
        layout_.is_node() && endpoint == layout_.here() ? rank_ : receiver_at(endpoint);
    if (shares_memory_with(to)) {
        enter(local_process(to), endpoint, ref);
        return 0;
    }
    const chunk c = memory_.at(ref);
    const std::size_t num_bytes = c.message().size();
    chunk_state& state = c.state();
    state.destination = to;
    push_front(to_send_, state.next, ref);
    return num_bytes;
}

// Puts a chunk into the inbox of the worker it is for, of all workers it has shares for, or of one
// that will put it into order.
void stream_engine::enter(int process, int endpoint, chunk_ref ref) {
    const chunk c = memory_.at(ref);
    const chunk_head& head = c.head();
    const bool is_urgent = shape().channel(c.channel()).is_urgent;
    if (head.is_grouped != 0) {
        put_shares(ref, process, -1);
        return;
    }
    const auto divider =
        static_cast<int>(head.source % static_cast<unsigned>(layout_.num_workers()));
    const int worker = head.worker >= 0                    ? head.worker
                       : layout_.group_size(endpoint) == 1 ? 0
                                                           : divider;
    c.state().readers.store(1, std::memory_order_relaxed);
    memory_.put(process, worker, is_urgent, ref);
}

void stream_engine::put_shares(chunk_ref ref, int process, int except) {
    const chunk c = memory_.at(ref);
    const std::uint32_t* const offsets = c.offsets();
    const bool is_urgent = shape().channel(c.channel()).is_urgent;
    const int group = shape().group_size();
    int num_shares = 0;
    for (int i = 0; i < group; ++i) num_shares += offsets[i + 1] > offsets[i] ? 1 : 0;
    c.state().readers.store(static_cast<std::uint32_t>(num_shares), std::memory_order_relaxed);
    // Once the last one is put, the chunk may be free and in use again: it is not read any more.
    int left = num_shares - (except >= 0 && offsets[except + 1] > offsets[except] ? 1 : 0);
    for (int i = 0; left > 0; ++i) {
        if (i == except || offsets[i + 1] == offsets[i]) continue;
        --left;
        const worker_id to = local_worker(i);
        memory_.put(layout_.is_node() ? to.rank : process, to.worker, is_urgent, ref);
    }
}

void stream_engine::drive(bool makes_progress) {
    if (driver_ && *driver_ != std::this_thread::get_id()) return;
    if (is_driven_.exchange(true, std::memory_order_acquire)) return;
    try {
        send_waiting();
        take_arrived();
        move_waves();
        if (makes_progress) transport_.progress();
    } catch (...) {
        if (options_.communication_thread) note_failed_drive();
        is_driven_.store(false, std::memory_order_release);
        throw;
    }
    is_driven_.store(false, std::memory_order_release);
}

void stream_engine::drive_for_worker(unsigned turn) {
    if (!options_.communication_thread) return drive_in(turn);
    if (driver_ == std::this_thread::get_id()) [[unlikely]]
        throw error(errc::invalid_state, "the communication thread uses no port of its stream");
    if (has_failed_drive_.load(std::memory_order_acquire)) [[unlikely]]
        std::rethrow_exception(failure_of_drive_);
}

// The first failure is kept.
void stream_engine::note_failed_drive() noexcept {
    if (has_failed_drive_.load(std::memory_order_relaxed)) return;
    failure_of_drive_ = std::current_exception();
    has_failed_drive_.store(true, std::memory_order_release);
}

void stream_engine::send_waiting() {
    if (to_send_.load(std::memory_order_relaxed) == no_chunk) return;
    refs_.clear();
    for (chunk_ref ref = to_send_.exchange(no_chunk, std::memory_order_acquire); ref != no_chunk;
         ref = memory_.at(ref).state().next) {
        append_with_reserve(refs_, ref);
    }
    for (auto at = refs_.rbegin(); at != refs_.rend(); ++at) {
        const chunk c = memory_.at(*at);
        const bool is_urgent = shape().channel(c.channel()).is_urgent;
        const rank_t to = c.state().destination;
        if (options_.ordered) c.head().sequence = next_to_send_[endpoint_of_order(to, is_urgent)]++;
        transport_.send(*at, c.message(), to, is_urgent);
    }
}

void stream_engine::take_arrived() {
    events_.sent.clear();
    events_.arrived.clear();
    transport_.poll(events_);
    for (const chunk_ref ref : events_.sent) memory_.give_back(ref);
    for (const chunk_ref ref : events_.arrived) {
        if (options_.ordered) {
            take_in_order(ref);
        } else {
            enter(memory_.here(), layout_.here(), ref);
        }
    }
    refs_.clear();
    memory_.take_free(static_cast<std::uint32_t>(layout_.num_workers()), refs_);
    for (const chunk_ref ref : refs_) transport_.receive(ref, memory_.at(ref).message_room());
}

// MPI may complete the later one of two messages of one sender first.
void stream_engine::take_in_order(chunk_ref ref) {
    const chunk c = memory_.at(ref);
    const rank_t from =
        static_cast<rank_t>(c.head().source / static_cast<unsigned>(layout_.num_workers()));
    const std::size_t endpoint = endpoint_of_order(from, shape().channel(c.channel()).is_urgent);
    std::vector<chunk_ref>& early = early_[endpoint];
    append_with_reserve(early, ref);
    for (bool is_found = true; is_found;) {
        const auto next = std::find_if(early.begin(), early.end(), [&](chunk_ref r) {
            return memory_.at(r).head().sequence == next_to_take_[endpoint];
        });
        is_found = next != early.end();
        if (is_found) {
            ++next_to_take_[endpoint];
            const chunk_ref found = *next;
            early.erase(next);
            enter(memory_.here(), layout_.here(), found);
        }
    }
}

void stream_engine::move_waves() {
    if (is_wave_under_way_) {
        const auto sums = transport_.test_wave();
        if (!sums) return;
        is_wave_under_way_ = false;
        last_wave_ = std::chrono::steady_clock::now();
        if (sums->failed != 0) fail(static_cast<rank_t>(sums->failed - 1));
        if (detector_.add_wave(sums->sent, sums->handled)) {
            if (sums->failed != 0) has_ended_.store(true, std::memory_order_relaxed);
            num_draining_.store(0, std::memory_order_relaxed);
            num_phases_.fetch_add(1, std::memory_order_release);
            return;
        }
    }
    if (num_draining_.load(std::memory_order_acquire) != layout_.num_workers()) return;
    if (!all_are_quiet() && std::chrono::steady_clock::now() - last_wave_ < time_between_waves) {
        return;
    }
    wave_sums own;
    own.failed = failed_.load(std::memory_order_relaxed);
    for (const auto& w : workers_) own.handled += w->published_handled();
    for (const auto& w : workers_) own.sent += w->sent();
    transport_.start_wave(own);
    is_wave_under_way_ = true;
}

bool stream_engine::all_are_quiet() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& w) { return w->is_quiet(); });
}

bool stream_engine::is_at_rest() const {
    return num_draining_.load(std::memory_order_relaxed) == 0 &&
           std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& w) { return w->is_at_rest(); });
}

void stream_engine::close() noexcept {
    for (const auto& w : workers_) w->close();
}

void stream_engine::fail(rank_t rank) noexcept {
    const std::int64_t mark = std::int64_t{rank} + 1;
    std::int64_t known = failed_.load(std::memory_order_relaxed);
    while (known < mark && !failed_.compare_exchange_weak(known, mark)) {
    }
}

}  // namespace crossdock
