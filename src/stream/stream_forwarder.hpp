// Puts items that travel on into the buffers of their next hop.
#pragma once

#include <cstddef>

#include "crossdock/detail/stream/stream_worker.hpp"
#include "filling_buffers.hpp"
#include "stream_delivery.hpp"
#include "worker_state.hpp"

namespace crossdock {

// The step from `stream_delivery` to `filling_buffers` on a route of several hops. An item combines with one
// of its key that waits for the same worker, if there is one.
//
// Invariant: an item was counted as sent where it was pushed, and is not counted again. If it
// combines it counts as handled here; so items that have been sent and not handled are somewhere on
// their way.
class stream_forwarder final : public item_forwarder {
  public:
    // All are kept.
    stream_forwarder(worker_state& state, stream_worker& worker, filling_buffers& into)
        : state_(state), worker_(worker), filling_buffers_(into) {}

    void forward(int channel, int stage, int endpoint, const forwarded_item& item) override;

  private:
    void append(std::size_t index, const forwarded_item& item);
    bool combine(std::size_t index, const forwarded_item& item);

    worker_state& state_;
    stream_worker& worker_;
    filling_buffers& filling_buffers_;
};

}  // namespace crossdock
