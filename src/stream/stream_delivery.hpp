// Takes the chunks that came for a worker, and handles, forwards or shares out what is in them.
#pragma once

#include <cstdint>
#include <vector>

#include "bucket_by_worker.hpp"
#include "filling_buffers.hpp"
#include "worker_state.hpp"

namespace crossdock {

// A chunk that came is
//
// | for                  | and then                                                            |
// |----------------------|---------------------------------------------------------------------|
// | a later phase        | set aside until this worker's drain has ended as well               |
// | this worker alone    | handled                                                             |
// | several workers      | sorted by worker (`bucket_by_worker`) and put into the inboxes of   |
// |                      | the others; each handles its share                                  |
// | other endpoints, too | likewise, and what travels on is pushed again                       |
//
// Urgent chunks overtake others.
//
// Invariant: whoever handles the last share of a chunk gives the chunk back; no chunk of this phase
// is held back beyond `receive_all()`.
class stream_delivery {
  public:
    // All are kept.
    stream_delivery(worker_state& state, stream_worker& worker, filling_buffers& onward)
        : state_(state), worker_(worker), onward_(onward) {}

    // Handles all that has come. Returns how many items.
    count_t receive_all();
    // With true, items that come from now on are copied, and handled by `handle_kept()`.
    void set_keeping(bool keeps) noexcept { keeps_ = keeps; }
    bool has_kept() const noexcept { return !kept_.empty(); }
    // Handles what has been kept. Returns how many items.
    count_t handle_kept();
    // Whether something of a later phase has come.
    bool has_later() const noexcept { return !later_.empty(); }

  private:
    // A copy of a share that came while no handler may run.
    struct kept_share {
        stream_arrivals arrivals;
        std::vector<chunk_line> items;  // as aligned as those of a chunk
        std::vector<std::uint32_t> sources;
    };

    count_t receive(chunk_ref ref);
    count_t share_out(chunk_ref ref);
    std::uint32_t bucket_of(std::uint32_t tag) const;
    static std::int64_t take_sample(const chunk& c, std::uint32_t position, std::uint32_t& gone);
    count_t handle_share(chunk_ref ref);
    count_t handle(chunk_ref ref, std::uint32_t first, std::uint32_t last);
    void read_record_sources(const chunk& c, std::uint32_t first, std::uint32_t last);
    void run_handler(const stream_arrivals& arrivals);
    void keep(const stream_arrivals& arrivals);
    void release(chunk_ref ref);
    void add_latencies(const chunk& c, std::uint32_t gone);

    worker_state& state_;
    stream_worker& worker_;
    filling_buffers& onward_;  // for what travels on
    std::vector<chunk_ref> arrived_;
    std::vector<chunk_ref> later_;
    std::vector<kept_share> kept_;
    bool keeps_ = false;
    bucket_by_worker buckets_;
    std::vector<std::uint32_t> record_sources_;
};

}  // namespace crossdock
