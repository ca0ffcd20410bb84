// Corners of filling, leaving and receiving that a whole workload seldom meets.
#include "src/stream/worker_buffers.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::worker_buffers_test {
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

class BufferOfSeveralWorkers : public WorkerBuffers {
  protected:
    // Worker 0 begins a shared buffer and does nothing more; worker 1 puts items into it.
    stream_worker& start_shared(stream_options options) {
        stream_world& world = start("1x1", options);
        push(world.worker(0), {0, 1}, num_staged);
        push(world.worker(1), {0, 1}, num_staged + 1);
        return world.worker(1);
    }
    // Worker 0 divides what it has begun.
    count_t num_handled_by(stream_worker& worker) {
        world_->worker(0).progress();
        return worker.progress();
    }
    static stream_options kept_back() {
        stream_options result = options_of(stream_scheme::pp, 2, 1000);
        result.flush_on_idle = false;
        return result;
    }
};

TEST_F(BufferOfSeveralWorkers, LeavesWhenAnyWhoFilledItAsks) {
    stream_worker& other = start_shared(kept_back());

    other.flush();

    EXPECT_EQ(other.statistics().messages_of(flush_cause::request), 1);
    EXPECT_EQ(num_handled_by(other), 2 * num_staged + 1);
}

TEST_F(BufferOfSeveralWorkers, LeavesWhenAnyWhoFilledItIsIdle) {
    stream_options options = kept_back();
    options.flush_on_idle = true;
    stream_worker& other = start_shared(options);

    other.progress();

    EXPECT_EQ(other.statistics().messages_of(flush_cause::idle), 1);
    EXPECT_EQ(num_handled_by(other), 2 * num_staged + 1);
}

TEST_F(BufferOfSeveralWorkers, LeavesWhenItemsOfAnyWhoFilledItAreOld) {
    stream_options options = kept_back();
    options.max_age_seconds = 0.01;
    stream_world& world = start("1x1", options);
    push(world.worker(0), {0, 1}, num_staged);
    push(world.worker(1), {0, 1}, num_staged);

    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    world.worker(1).progress();

    EXPECT_EQ(world.worker(1).statistics().messages_of(flush_cause::age), 1);
    EXPECT_EQ(num_handled_by(world.worker(1)), 2 * num_staged);
}

TEST_F(BufferOfSeveralWorkers, IsAsOldAsTheItemsStagedForIt) {
    stream_options options = kept_back();
    options.workers = 1;
    options.max_age_seconds = 0.05;
    stream_worker& worker = start("1x1", options).worker(0);
    push(worker, {0, 0}, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    push(worker, {0, 0}, num_staged - 1);  // and now they take room in the buffer

    worker.progress();

    EXPECT_EQ(worker.statistics().messages_of(flush_cause::age), 1);
}

// --------------------------------------------------------------------------- pushes

TEST_F(WorkerBuffers, AKeyThatThrowsPushesNothing) {
    const stream_options options = options_of(stream_scheme::wps, 2, 8);
    stream_world& world = start("1x1", options, {{sizeof(item), 8, false, true}});
    std::vector<int> workers;
    world.sink.on_arrival = [&](stream_worker& worker, const stream_arrivals& arrivals) {
        workers.insert(workers.end(), static_cast<std::size_t>(arrivals.num_items),
                       worker.id().worker);
    };
    bool is_faulty = true;
    world.sink.key_of = [&](const std::byte*) -> std::uint64_t {
        if (is_faulty) throw error(errc::invalid_argument, "no key");
        return 0;
    };
    const auto push_to = [&](int worker) {
        world.worker(0).push_combining(
            0, {0, worker}, item{}, 0, [](const std::byte*) { return std::uint64_t{1}; },
            [](std::byte*) {});
    };

    const error heard = thrown_by([&] { push_to(1); });
    is_faulty = false;
    push_to(0);
    drain_all();

    EXPECT_EQ(heard.code(), errc::invalid_argument);
    EXPECT_EQ(workers, (std::vector<int>{0}));
    EXPECT_EQ(world.statistics().items, 1);
}

TEST_F(WorkerBuffers, APushThatHasFoundRoomDoesNotWait) {
    for (const stream_scheme scheme : {stream_scheme::ww, stream_scheme::pp}) {
        stream_options options = options_of(scheme, 1, 1);
        options.max_buffers = 1;
        stream_world& world = start("1x2", options);  // rank 1 takes nothing

        EXPECT_TRUE(world.worker(0).has_room(0, {1, 0})) << to_string(scheme);
        push(world.worker(0), {1, 0}, 1);

        EXPECT_EQ(world.worker(0).statistics().waits, 0) << to_string(scheme);
        EXPECT_FALSE(world.worker(0).has_room(0, {1, 0})) << to_string(scheme);
    }
}

// --------------------------------------------------------------------------- arrivals

TEST_F(WorkerBuffers, UrgentItemsDoNotOvertakeEachOther) {
    stream_options options = options_of(stream_scheme::ww, 1, 1);
    options.pressure = back_pressure::block;
    stream_world& world = start("1x1", options, {{sizeof(item), 1}, {sizeof(item), 1, true}});
    std::vector<std::uint64_t> values;
    world.sink.on_arrival = [&](stream_worker& worker, const stream_arrivals& arrivals) {
        values.push_back(reinterpret_cast<const item*>(arrivals.items)->value);
        if (values.back() == 1) worker.push_item(1, {0, 0}, item{4, 0});
    };

    for (std::uint64_t value = 1; value <= 3; ++value) {
        world.worker(0).push_item(1, {0, 0}, item{value, 0});
    }
    drain_all();

    EXPECT_EQ(values, (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

TEST_F(WorkerBuffers, ItemsThatAreKeptAreAlignedAsInBuffers) {
    struct alignas(64) line {
        std::uint64_t value;
    };
    stream_options options = options_of(stream_scheme::ww, 1, 1);
    options.max_buffers = 1;
    options.pressure = back_pressure::block;
    stream_world& world = start("1x1", options, {{sizeof(line), 1}});
    std::vector<std::uint64_t> values;
    world.sink.on_arrival = [&](stream_worker&, const stream_arrivals& arrivals) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrivals.items) % alignof(line), 0);
        values.push_back(reinterpret_cast<const line*>(arrivals.items)->value);
    };

    for (std::uint64_t i = 0; i < 5; ++i) world.worker(0).push_item(0, {0, 0}, line{i});
    drain_all();

    EXPECT_EQ(values, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
}

// --------------------------------------------------------------------------- rest

TEST_F(WorkerBuffers, WhatHasLeftIsNotAtRestBeforeADrain) {
    for (const stream_scheme scheme : {stream_scheme::ww, stream_scheme::pp}) {
        stream_world& world = start("2x1", options_of(scheme, 1, num_staged + 1));

        push(world.worker(0), {1, 0}, num_staged);
        if (scheme == stream_scheme::ww) world.worker(0).flush();

        EXPECT_FALSE(world.engine(0).is_at_rest()) << to_string(scheme);
        drain_all();
        EXPECT_TRUE(world.engine(0).is_at_rest()) << to_string(scheme);
    }
}

// Others that drain already answer a worker that does not drain before it has its answer.
TEST_F(WorkerBuffers, ADrainingWorkerAnswersThroughASharedBuffer) {
    for (const bool flushes : {true, false}) {
        stream_options options = options_of(stream_scheme::pp, 2, 100);
        options.flush_on_idle = flushes;
        stream_world& world = start("2x1", options);
        int num_answers = 0;
        world.sink.on_arrival = [&](stream_worker& worker, const stream_arrivals&) {
            if (worker.id() == worker_id{0, 0}) ++num_answers;
            if (worker.id() == worker_id{1, 0}) push(worker, {0, 0}, 1);
        };
        world.worker(1).start_drain();
        world.worker(2).start_drain();

        push(world.worker(0), {1, 0}, 1);
        world.worker(0).flush();
        for (int i = 0; i < 1000 && num_answers == 0; ++i) {
            world.worker(0).progress();
            world.worker(1).test_drain();
            world.worker(2).test_drain();
            world.worker(3).progress();  // waits for something, too
            if (!flushes) world.worker(3).flush();
        }

        EXPECT_EQ(num_answers, 1);
    }
}

// --------------------------------------------------------------------------- failures

class FailingHandler : public WorkerBuffers {
  protected:
    stream_world& start_failing(const stream_options& options) {
        stream_world& world = start("1x1", options);
        world.sink.on_arrival = [](stream_worker&, const stream_arrivals&) {
            throw error(errc::invalid_argument, "no handler");
        };
        return world;
    }
};

TEST_F(FailingHandler, EndsNoDrainOfThePhaseBefore) {
    stream_world& world = start_failing(options_of(stream_scheme::ww, 2, 1));
    stream_worker& first = world.worker(0);
    stream_worker& second = world.worker(1);
    first.start_drain();
    second.start_drain();
    while (!first.test_drain()) second.progress();

    push(first, {0, 0}, 1);
    first.progress();  // fails in the next phase, before the other worker has seen the last one end

    EXPECT_TRUE(second.test_drain());
    first.start_drain();
    second.start_drain();
    const error heard = thrown_by([&] {
        while (!first.test_drain()) second.progress();
    });
    EXPECT_EQ(heard.code(), errc::invalid_argument);
    EXPECT_EQ(thrown_by([&] { second.test_drain(); }).code(), errc::handler_failed);
}

TEST_F(FailingHandler, LeavesAStreamThatDrainsNoMore) {
    stream_world& world = start_failing(options_of(stream_scheme::ww, 1, 1));
    push(world.worker(0), {0, 0}, 1);
    EXPECT_EQ(thrown_by([&] { drain_all(); }).code(), errc::invalid_argument);

    EXPECT_EQ(thrown_by([&] { world.worker(0).start_drain(); }).code(), errc::handler_failed);
    EXPECT_TRUE(world.engine(0).is_at_rest());  // and may be closed
}

TEST_F(FailingHandler, LetsNoPushWaitForAWorkerThatHasGone) {
    stream_options options = options_of(stream_scheme::ww, 2, 2);
    options.max_buffers = 1;
    options.pressure = back_pressure::block;
    stream_world& world = start_failing(options);
    push(world.worker(0), {0, 1}, 1);
    push(world.worker(1), {0, 1}, 2);
    world.worker(1).progress();  // and never again

    push(world.worker(0), {0, 1}, 1);  // fills the only buffer

    EXPECT_EQ(thrown_by([&] { push(world.worker(0), {0, 1}, 1); }).code(), errc::handler_failed);
}

}  // namespace
}  // namespace crossdock::worker_buffers_test
