// What a worker does when a push is not just a store: begins, fills and sends buffers, and receives.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "bucket_by_worker.hpp"
#include "crossdock/stream/stream_worker.hpp"
#include "line_allocator.hpp"
#include "stream_chunk.hpp"
#include "stream_engine.hpp"

namespace crossdock {

// A worker collects so much for a buffer that it shares before it takes room there.
inline constexpr std::size_t staged_bytes = 512;

class alignas(line_pair_bytes) worker_buffers {
  public:
    worker_buffers(stream_engine& engine, stream_worker& worker, int number);

    worker_id id() const noexcept { return id_; }

    // The rest of a push: the item lies where the cursor was.
    void after_push(stream_cursor& open);
    void push_record(std::size_t index, std::uint32_t tag, std::span<const std::byte> item);
    bool has_room(std::size_t index);

    count_t progress();
    void flush();
    void flush(worker_id to);
    void set_buffer_items(worker_id to, count_t num_items);

    void start_drain();
    bool test_drain();
    bool is_draining() const noexcept { return is_draining_; }
    void close() noexcept;

    stream_statistics statistics() const;

    // For other threads: items that have left this worker, and those handled whose consequences
    // have left it as well.
    std::int64_t sent() const noexcept { return sent_.load(std::memory_order_acquire); }
    std::int64_t published_handled() const noexcept {
        return published_handled_.load(std::memory_order_acquire);
    }
    bool is_quiet() const noexcept { return is_quiet_.load(std::memory_order_relaxed); }
    bool is_at_rest() const noexcept;

  private:
    enum class filling_kind : std::uint8_t {
        closed,    // the cursor has room for one item in scratch_
        own,       // a chunk of this worker's
        overflow,  // likewise, but beyond the bound, in memory of the process
        staging,   // a few items that will go into a shared buffer together
    };
    // A chunk as a shared buffer, once.
    struct shared_chunk {
        chunk_ref ref;
        std::uint32_t serial;

        friend bool operator==(const shared_chunk&, const shared_chunk&) = default;
    };
    // A buffer, apart from what pushes need of it.
    struct filling {
        filling_kind kind = filling_kind::closed;
        chunk_ref ref = no_chunk;
        std::byte* memory = nullptr;  // of the chunk, or of the staged items
        std::uint32_t serial = 0;     // how many buffers had begun
        std::int64_t since = 0;       // it has begun
        bool is_urgent = false;       // and in the list of those that leave at the next progress()
        std::uint32_t num_records = 0;
        std::uint32_t num_forwarded = 0;
        std::uint32_t sample_position = no_sample;  // of the item that is to carry the time
        std::uint32_t staged_sample = 0;            // of a staged one that does
        std::int64_t sample_nanoseconds = 0;        // which is 0 if there is none
        shared_chunk filled{};                      // noted last in begun_shared_
    };
    // A buffer that has begun, in the order of beginning; out of date once another serial is there.
    struct begun_buffer {
        std::size_t index;
        std::uint32_t serial;
        std::int64_t since;
    };
    // A shared buffer with items of this worker, since the first of them was staged; out of date once
    // it has left.
    struct begun_shared {
        std::size_t index;
        shared_chunk filled;
        std::int64_t since;
        bool is_own;  // in memory of this worker
    };
    // Beyond the bound, and closed but for what is in `spilled_`.
    struct waiting_chunk {
        std::byte* memory;
        std::size_t index;
        flush_cause cause;
    };
    // A share that came while no handler may run.
    struct kept_share {
        int channel;
        count_t num_items;
        std::uint32_t source;
        bool has_sources;
        std::size_t num_bytes;
        std::vector<chunk_line> items;  // as aligned as those of a chunk
        std::vector<std::uint32_t> sources;
    };
    struct item_on_the_way {
        std::span<const std::byte> bytes;
        std::uint32_t tag;
        std::uint32_t source;
        std::int64_t sample_nanoseconds;  // when it was pushed, if it carries the time, or 0
    };
    static constexpr std::uint32_t no_sample = ~std::uint32_t{0};

    const stream_options& options() const noexcept { return engine_.options(); }
    const chunk_memory& memory() const noexcept { return engine_.memory(); }
    const chunk_layout& shape() const noexcept { return engine_.shape(); }
    const stream_layout& layout() const noexcept { return engine_.layout(); }

    std::size_t num_cursors() const noexcept { return cursors_.size(); }
    std::size_t index_of(const stream_cursor& open) const noexcept {
        return static_cast<std::size_t>(&open - cursors_.data());
    }
    int channel_of(std::size_t index) const noexcept {
        return static_cast<int>(index / layout().buffers().size());
    }
    const stream_layout::buffer_end& end_of(std::size_t index) const noexcept {
        return layout().buffers()[index % layout().buffers().size()];
    }
    std::size_t index_for(int channel, worker_id to) const;

    // Filling.
    void set_refusing(bool is_refusing) noexcept;
    void require_open() const;
    void require_room();
    bool finds_room(std::size_t index);
    stream_cursor closed_cursor(int channel) noexcept;
    void reset_cursor(std::size_t index);
    void set_cursor(std::size_t index, std::byte* items, std::byte* tags, std::uint32_t* sources,
                    std::uint32_t units);
    void begin(std::size_t index);
    void begin_with_scratch(std::size_t index);
    void begin_chunk(const chunk& c, std::size_t index);
    std::uint32_t fill(std::size_t index) const;
    std::uint32_t num_items(std::size_t index) const;
    void plan_sample(std::size_t index);
    void take_sample(std::size_t index);
    void give_sample_back(std::size_t index);
    void postpone_sample(std::size_t index);
    void mark(std::size_t index, std::uint32_t position, std::int64_t nanoseconds);
    std::uint32_t room_of(std::size_t index) const;
    void append(std::size_t index, const item_on_the_way& item);
    bool combine_on_the_way(stream_cursor& open, const item_on_the_way& item);
    void fail();
    void append_record(std::size_t index, const item_on_the_way& item, bool is_forwarded);
    void forward(int channel, int stage, int endpoint, const item_on_the_way& item);
    std::int64_t now_if_needed() const;

    // Leaving.
    void leave(std::size_t index, flush_cause cause);
    void leave_all(flush_cause cause);
    void leave_urgent();
    void leave_old();
    void leave_oldest();
    void count_sent(std::size_t index);
    void send(chunk_ref ref, std::size_t index, flush_cause cause);
    void send_waiting();
    void deposit(std::size_t index);
    bool begin_shared(std::size_t index);
    void note_shared(std::size_t index, const chunk& c);
    void spill(std::size_t index, std::uint32_t from);
    void copy_staged(std::size_t index, std::uint32_t from, const chunk& c, std::uint32_t at,
                     std::uint32_t units);
    void close_shared(std::size_t index, chunk_ref expected, flush_cause cause);
    void commit(chunk_ref ref, std::size_t index, std::uint32_t change);
    std::atomic<std::uint64_t>& shared(std::size_t index) const;
    std::uint64_t num_drains(std::uint32_t num_phases) const noexcept;
    bool may_close_shared() const noexcept;
    bool others_drain() const noexcept;
    void leave_shared(flush_cause cause);
    bool is_up_to_date(const begun_buffer& b) const noexcept;
    bool is_up_to_date(const begun_shared& b) const noexcept;
    template <class Begun>
    void forget_old(std::deque<Begun>& begun);

    // Room.
    void fetch_free();
    bool find_free();
    chunk_ref take_free();
    std::byte* take_overflow();
    void give_overflow_back() noexcept;
    void relieve();
    bool has_all_open();

    // Receiving.
    void begin_inside() noexcept;
    void end_inside() noexcept;
    count_t receive_all();
    count_t receive(chunk_ref ref);
    count_t divide(chunk_ref ref);
    count_t handle_share(chunk_ref ref);
    count_t handle(chunk_ref ref, std::uint32_t first, std::uint32_t last);
    void run_handler(const stream_arrivals& arrivals);
    void keep(const stream_arrivals& arrivals);
    count_t handle_kept();
    void release(chunk_ref ref);
    void add_latencies(const chunk& c, std::uint32_t gone);
    void when_idle();
    count_t peak_buffers() const noexcept;

    stream_engine& engine_;
    stream_worker& worker_;
    push_state& push_;
    worker_id id_;
    int number_at_endpoint_;

    line_vector<stream_cursor> cursors_;
    line_vector<stream_cursor> refused_;         // all closed
    std::vector<stream_cursor*> first_cursors_;  // per rank, in channel 0
    std::vector<stream_cursor*> first_refused_;
    line_vector<filling> fillings_;
    std::vector<std::uint32_t> limits_;  // units of a full buffer
    std::vector<waiting_items> waiting_items_;
    std::vector<std::uint16_t> positions_;
    line_vector<std::byte> scratch_;
    std::uint32_t scratch_source_ = 0;
    line_vector<std::byte> staging_;
    std::size_t staging_stride_ = 0;
    std::uint32_t serial_ = 0;
    std::deque<begun_buffer> begun_;
    std::deque<begun_shared> begun_shared_;
    std::vector<std::size_t> urgent_;

    std::vector<chunk_ref> free_;
    count_t num_filling_ = 0;
    std::uint32_t num_open_ = 0;  // chunks of this worker that are being filled by it alone
    std::deque<waiting_chunk> overflow_;
    std::vector<std::byte*> spilled_;  // of each shared buffer, the last one there; still open
    std::vector<std::byte*> free_overflow_;
    struct aligned_delete {
        void operator()(std::byte* memory) const noexcept;
    };
    std::vector<std::unique_ptr<std::byte, aligned_delete>> overflow_memory_;

    std::vector<chunk_ref> arrived_;
    std::vector<chunk_ref> later_;  // of a later phase
    std::vector<kept_share> kept_;
    bucket_by_worker divider_;
    bucket_by_worker leaving_divider_;  // while the other one is at work, a full buffer may leave
    std::vector<std::uint32_t> record_sources_;

    unsigned num_turns_ = 0;    // of waiting
    bool is_inside_ = false;    // receiving: pushes come from handlers
    bool keeps_ = false;        // what comes, for no handler may run
    bool is_promised_ = false;  // that the next push does not wait
    bool is_draining_ = false;
    bool is_closed_ = false;
    bool has_ended_ = false;  // by a failure
    std::uint32_t phase_ = 0;
    std::int64_t sent_before_ = 0;  // this phase
    count_t until_sample_ = 0;
    std::exception_ptr failure_;

    std::int64_t handled_ = 0;  // or combined on the way
    std::atomic<std::int64_t> sent_{0};
    std::atomic<std::int64_t> published_handled_{0};
    std::atomic<bool> is_quiet_{false};
    stream_statistics statistics_;
};

template <class Begun>
void worker_buffers::forget_old(std::deque<Begun>& begun) {
    std::erase_if(begun, [&](const Begun& b) { return !is_up_to_date(b); });
}

}  // namespace crossdock
