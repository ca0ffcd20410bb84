// Corners of filling, leaving and receiving that a whole workload seldom meets.
#include "../../../src/stream/worker_buffers.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"
#include "support/thrown_by.hpp"

namespace crossdock {
namespace {

using test::stream_world;
using test::thrown_by;

struct item {
    std::uint64_t value;
    std::uint64_t unused;
};
// What a worker of `pp` or `node` collects before it takes room in a shared buffer.
constexpr int num_staged = 32;

stream_options options_of(stream_scheme scheme, int workers, count_t buffer_items) {
    stream_options result;
    result.scheme = scheme;
    result.workers = workers;
    result.buffer_items = buffer_items;
    return result;
}

// Workers of any number of processes, all used by one thread: everything happens in a known order.
class WorkerBuffers : public testing::Test {
  protected:
    stream_world& start(const char* nodes, const stream_options& options,
                        std::vector<stream_channel> channels) {
        world_ = std::make_unique<stream_world>(topology::from_string(nodes), options,
                                                std::move(channels));
        world_->sink.on_arrival = [](stream_worker&, const stream_arrivals&) {};
        return *world_;
    }
    stream_world& start(const char* nodes, const stream_options& options) {
        return start(nodes, options, {{sizeof(item), options.buffer_items}});
    }

    static void push(stream_worker& from, worker_id to, int num_items, int channel = 0) {
        for (int i = 0; i < num_items; ++i) from.push_item(channel, to, item{});
    }

    void drain_all() {
        const int num_workers = world_->num_workers();
        for (int w = 0; w < num_workers; ++w) world_->worker(w).start_drain();
        for (bool is_over = false; !is_over;) {
            is_over = true;
            for (int w = 0; w < num_workers; ++w) {
                stream_worker& worker = world_->worker(w);
                if (worker.is_draining() && !worker.test_drain()) is_over = false;
            }
        }
    }

    std::unique_ptr<stream_world> world_;
};

// --------------------------------------------------------------------------- shared buffers

TEST_F(WorkerBuffers, UrgentItemsLeaveAlsoWhereTheyHaveTakenSharedRoom) {
    const stream_options options = options_of(stream_scheme::pp, 1, 100);
    stream_worker& worker =
        start("1x1", options, {{sizeof(item), 100}, {sizeof(item), 100, true}}).worker(0);

    push(worker, {0, 0}, num_staged, 1);
    worker.progress();

    EXPECT_EQ(worker.statistics().messages_of(flush_cause::urgent), 1);
    EXPECT_EQ(worker.progress(), num_staged);
}

}  // namespace
}  // namespace crossdock
