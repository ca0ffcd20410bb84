#include "worker_state.hpp"

namespace crossdock {

worker_state::worker_state(stream_engine& its_engine, int number_in_process)
    : engine(its_engine),
      id{engine.rank(), number_in_process},
      number(
          static_cast<std::uint32_t>(engine.rank() * layout().num_workers() + number_in_process)),
      number_at_endpoint(number_in_process) {
    if (!layout().is_node()) return;
    number_at_endpoint += layout().nodes().local_rank(engine.rank()) * layout().num_workers();
}

void worker_state::set_head(const chunk& c, int channel, std::size_t index) const noexcept {
    const stream_layout::buffer_end& end = end_of(index);
    chunk_head& head = c.head();
    head.channel = static_cast<std::uint32_t>(channel);
    head.phase = phase;
    head.stage = static_cast<std::uint32_t>(end.stage);
    head.source = number;
    head.worker = end.worker;
    head.is_grouped = 0;
    head.num_samples.store(0, std::memory_order_relaxed);
}

void worker_state::fail() {
    if (!failure) failure = std::current_exception();
    engine.fail(id.rank);
}

}  // namespace crossdock
