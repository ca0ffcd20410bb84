// One process of a stream: what its workers share. Without MPI; a transport brings chunks to others.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "crossdock/stream/stream_layout.hpp"
#include "crossdock/stream/stream_options.hpp"
#include "crossdock/stream/stream_worker.hpp"
#include "crossdock/stream/termination.hpp"
#include "stream_chunk.hpp"
#include "stream_transport.hpp"

namespace crossdock {

// Buffers of a worker that `options` leave to the library.
std::uint32_t chunks_per_worker(const stream_layout& layout, const stream_options& options,
                                int num_channels);

// What the memory of each process of a stream must hold.
chunk_memory::sizes chunk_memory_sizes(const stream_layout& layout, const stream_options& options,
                                       int num_channels, bool has_others);

// The parts of a chunk of such a stream.
chunk_layout stream_chunk_layout(const stream_layout& layout, const stream_options& options,
                                 std::span<const stream_channel> channels);

class stream_engine {
  public:
    // Everything passed by reference is kept. `driver`: the only thread that may use the transport.
    // `turn`: whether an engine drives, of several that must not at once; kept.
    stream_engine(rank_t rank, const stream_layout& layout, const stream_options& options,
                  stream_sink& sink, chunk_memory memory, stream_transport& transport,
                  std::optional<std::thread::id> driver, std::atomic<bool>* turn = nullptr);

    rank_t rank() const noexcept { return rank_; }
    const stream_layout& layout() const noexcept { return layout_; }
    const stream_options& options() const noexcept { return options_; }
    stream_sink& sink() const noexcept { return sink_; }
    const chunk_memory& memory() const noexcept { return memory_; }
    const chunk_layout& shape() const noexcept { return memory_.shape(); }

    stream_worker& worker(int number) { return *workers_[static_cast<std::size_t>(number)]; }

    // Who keeps the fill of buffers that several workers share.
    int shared_holder() const noexcept { return layout_.is_node() ? 0 : memory_.here(); }

    bool is_urgent(chunk_ref ref) const noexcept {
        return shape().channel(memory_.at(ref).channel()).is_urgent;
    }

    // Brings a closed chunk on its way. Gives the bytes sent by MPI, or 0.
    std::size_t hand_over(chunk_ref ref, int endpoint);
    // Puts a chunk whose shares are in order into the inboxes of all but `except`, a number in the
    // endpoint. `readers` is set. `process` is that of an endpoint that is one.
    void put_shares(chunk_ref ref, int process, int except);
    // The process of this node and its worker that have the number in an endpoint.
    worker_id local_worker(int number_at_endpoint) const noexcept;

    // Moves what the transport brings. By any thread; does nothing if another one is at it.
    // With `makes_progress`, what the process sends beside the stream leaves, too.
    void drive(bool makes_progress = false);
    // For a thread that waits in many turns: progress now and then, as it takes a call of MPI that finds
    // nothing.
    void drive_in(unsigned turn) { drive(turn % turns_between_progress == 0); }

    // A worker has begun to drain.
    void add_draining() noexcept { num_draining_.fetch_add(1, std::memory_order_acq_rel); }
    // Times that all has come to rest.
    std::uint32_t num_phases() const noexcept {
        return num_phases_.load(std::memory_order_acquire);
    }

    // A handler of this process, or of another one, has thrown: nothing is handled any more.
    void fail(rank_t rank) noexcept;
    bool has_failed() const noexcept { return failed_.load(std::memory_order_relaxed) != 0; }
    // The drain that has ended last has found a failure: of the phase before, never of the next one.
    bool has_ended() const noexcept { return has_ended_.load(std::memory_order_relaxed); }
    rank_t failed_rank() const noexcept {
        return static_cast<rank_t>(failed_.load(std::memory_order_relaxed)) - 1;
    }

    // Nothing waits in a buffer and nothing has been pushed since all last came to rest.
    bool is_at_rest() const;

    // Refuses all pushes from now on. While no worker is at work.
    void close() noexcept;

    // A clock that all ranks share, as well as it could be set.
    std::int64_t now() const noexcept {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
                   .count() +
               clock_offset_;
    }
    void set_clock_offset(std::int64_t nanoseconds) noexcept { clock_offset_ = nanoseconds; }

  private:
    static constexpr unsigned turns_between_progress = 256;

    bool shares_memory_with(rank_t rank) const;
    int local_process(rank_t rank) const;
    rank_t receiver_at(int endpoint) const;
    void enter(int process, int endpoint, chunk_ref ref);
    void send_waiting();
    void take_arrived();
    void take_in_order(chunk_ref ref);
    void move_waves();
    bool all_are_quiet() const;

    rank_t rank_;
    const stream_layout& layout_;
    const stream_options& options_;
    stream_sink& sink_;
    chunk_memory memory_;
    stream_transport& transport_;
    std::optional<std::thread::id> driver_;
    std::int64_t clock_offset_ = 0;
    std::vector<std::unique_ptr<stream_worker>> workers_;

    std::atomic<chunk_ref> to_send_{no_chunk};
    std::atomic<bool> own_turn_{false};
    std::atomic<bool>& is_driven_;
    std::atomic<int> num_draining_{0};
    std::atomic<std::uint32_t> num_phases_{0};
    std::atomic<std::int64_t> failed_{0};
    std::atomic<bool> has_ended_{false};

    // Only of the thread that drives.
    stream_transport::events events_;
    std::vector<chunk_ref> refs_;
    termination_detector detector_;
    bool is_wave_under_way_ = false;
    std::chrono::steady_clock::time_point last_wave_{};
    std::vector<std::uint32_t> next_to_send_;    // per rank and urgency, where order is kept
    std::vector<std::uint32_t> next_to_take_;    // likewise
    std::vector<std::vector<chunk_ref>> early_;  // arrived before their turn, likewise
};

}  // namespace crossdock
