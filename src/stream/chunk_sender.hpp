// Sends closed chunks.
#pragma once

#include <cstddef>

#include "bucket_by_worker.hpp"
#include "chunk_pool.hpp"
#include "worker_state.hpp"

namespace crossdock {

// Hands the closed chunks of a worker over to its engine, counts them, and with the scheme `wsp`
// puts their items into the order of the workers they are for. Buffers that wait beyond the bound
// are sent as soon as there are chunks for them.
class chunk_sender {
  public:
    // Both are kept.
    chunk_sender(worker_state& state, chunk_pool& pool) : state_(state), pool_(pool) {}

    void send(chunk_ref ref, std::size_t index, flush_cause cause);
    void send_waiting() {
        if (pool_.has_waiting()) send_ready();
    }
    // Whether a new buffer finds a chunk, after what waits.
    bool find_free() {
        send_waiting();
        return pool_.has_free();
    }

  private:
    void send_ready();
    void group(const chunk& c);

    worker_state& state_;
    chunk_pool& pool_;
    bucket_by_worker
        buckets_;  // not that of `stream_delivery`: while it is at work, a full buffer may leave
};

}  // namespace crossdock
