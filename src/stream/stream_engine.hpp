// What the workers of one process of a stream share. Makes no call of MPI: a `stream_transport`
// does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "crossdock/detail/stream/stream_layout.hpp"
#include "crossdock/detail/stream/stream_options.hpp"
#include "crossdock/detail/stream/stream_worker.hpp"
#include "stream_chunk.hpp"
#include "stream_transport.hpp"
#include "termination.hpp"

namespace crossdock {

class worker_buffers;

// The chunks of a worker: as many as `options` say, or as the library chooses.
std::uint32_t chunks_per_worker(const stream_layout& layout, const stream_options& options,
                                int num_channels);

// The number of things that the memory of each process of a stream must hold.
chunk_memory::sizes chunk_memory_sizes(const stream_layout& layout, const stream_options& options,
                                       int num_channels, bool has_others);

// Where the parts of a chunk of such a stream lie.
chunk_layout stream_chunk_layout(const stream_layout& layout, const stream_options& options,
                                 std::span<const stream_channel> channels);

// Hands closed chunks over to the workers they are for: within shared memory through their inboxes,
// elsewhere through the transport. Finds out when all is at rest, and remembers failures.
//
// `drive()` moves chunks and waves of the termination detector. Any thread may call it, and one at
// a time does the work: what is marked below belongs to it.
class stream_engine {
  public:
    // Everything passed by reference is kept. `driver`: the only thread that may use the transport,
    // if there is only one. `turn`: shared by engines that must not drive at the same time; true
    // while one does.
    stream_engine(rank_t rank, const stream_layout& layout, const stream_options& options,
                  stream_sink& sink, chunk_memory memory, stream_transport& transport,
                  std::optional<std::thread::id> driver, std::atomic<bool>* turn = nullptr);

    rank_t rank() const noexcept { return rank_; }
    const stream_layout& layout() const noexcept { return layout_; }
    const stream_options& options() const noexcept { return options_; }
    stream_sink& sink() const noexcept { return sink_; }
    const chunk_memory& memory() const noexcept { return memory_; }
    const chunk_layout& shape() const noexcept { return memory_.shape(); }

    ~stream_engine();

    stream_worker& worker(int number);

    // The process that keeps the words of shared buffers.
    int shared_holder() const noexcept { return layout_.is_node() ? 0 : memory_.here(); }

    bool is_urgent(chunk_ref ref) const noexcept {
        return shape().channel(memory_.at(ref).channel()).is_urgent;
    }

    // Hands a closed chunk over to the endpoint. Returns the bytes that MPI will send, or 0.
    std::size_t hand_over(chunk_ref ref, int endpoint);
    // Puts a chunk whose items are in the order of their workers into the inboxes of all that have
    // a share, but of `except`, a number in the endpoint. Sets `readers` to the number of shares.
    // `process`: the endpoint, if endpoints are processes.
    void put_shares(chunk_ref ref, int process, int except);
    // The process of this node and its worker that have the number in an endpoint.
    worker_id local_worker(int number_at_endpoint) const noexcept;

    // Sends and receives what the transport can; does nothing if another thread is at it, or may
    // not. With `makes_progress`, MPI makes progress on other messages of the process as well.
    void drive(bool makes_progress = false);
    // For a thread that waits and calls this again and again, counting in `turn`. Makes progress on
    // other messages now and then only, as that costs a call of MPI that finds nothing.
    void drive_in(unsigned turn) { drive(turn % turns_between_progress == 0); }
    // The same for workers. With a communication thread they leave it to that, and throw what has
    // failed it: nothing would move any more. Nor would it if that thread were one of them.
    void drive_for_worker(unsigned turn = 1);

    // A worker has begun to drain.
    void add_draining() noexcept { num_draining_.fetch_add(1, std::memory_order_acq_rel); }
    // How often all has come to rest.
    std::uint32_t num_phases() const noexcept {
        return num_phases_.load(std::memory_order_acquire);
    }

    // A handler of `rank` has thrown. From now on no handler runs in this process.
    void fail(rank_t rank) noexcept;
    bool has_failed() const noexcept { return failed_.load(std::memory_order_relaxed) != 0; }
    // Whether the last drain has ended with a failure, one of the phase that it ends. Unlike
    // `has_failed()`, which may tell of a failure in the next phase already.
    bool has_ended() const noexcept { return has_ended_.load(std::memory_order_relaxed); }
    rank_t failed_rank() const noexcept {
        return static_cast<rank_t>(failed_.load(std::memory_order_relaxed)) - 1;
    }

    // Whether nothing waits in a buffer, and nothing has been pushed since the last drain.
    bool is_at_rest() const;

    // Refuses all pushes from now on. To be called while no worker is at work.
    void close() noexcept;

    // Nanoseconds of a clock that all ranks share, as exactly as `set_clock_offset` was told.
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
    void note_failed_drive() noexcept;
    bool all_are_quiet() const;

    rank_t rank_;
    const stream_layout& layout_;
    const stream_options& options_;
    stream_sink& sink_;
    chunk_memory memory_;
    stream_transport& transport_;
    std::optional<std::thread::id> driver_;
    std::int64_t clock_offset_ = 0;
    std::vector<std::unique_ptr<worker_buffers>> workers_;

    std::atomic<chunk_ref> to_send_{no_chunk};
    std::atomic<bool> own_turn_{false};
    std::atomic<bool>& is_driven_;
    std::atomic<int> num_draining_{0};
    std::atomic<std::uint32_t> num_phases_{0};
    std::atomic<std::int64_t> failed_{0};
    std::atomic<bool> has_ended_{false};
    std::atomic<bool> has_failed_drive_{false};  // of a communication thread
    std::exception_ptr failure_of_drive_;        // written before that is set

    // Used only by the thread that drives.
    stream_transport::events events_;
    std::vector<chunk_ref> refs_;
    termination_detector detector_;
    bool is_wave_under_way_ = false;
    std::chrono::steady_clock::time_point last_wave_{};
    // Per rank and urgency, if order is kept: sequence numbers, and chunks that came too early.
    std::vector<std::uint32_t> next_to_send_;
    std::vector<std::uint32_t> next_to_take_;
    std::vector<std::vector<chunk_ref>> early_;
};

}  // namespace crossdock
