#include "src/stream/stream_delivery.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support.hpp"

namespace crossdock::stream_delivery_test {
namespace {

using test::stream_world;

// Remembers what travels on.
class recorder final : public item_forwarder {
  public:
    struct call {
        int channel;
        int stage;
        int endpoint;
        std::uint64_t value;
        std::uint32_t tag;

        friend bool operator==(const call&, const call&) = default;
    };
    std::vector<call> calls;

    void forward(int channel, int stage, int endpoint, const forwarded_item& item) override {
        std::uint64_t value = 0;
        std::memcpy(&value, item.bytes.data(), sizeof value);
        calls.push_back({channel, stage, endpoint, value, item.tag});
    }
};

// Workers push; what comes for one of them is taken by a delivery of the test's own.
class StreamDelivery : public testing::Test {
  protected:
    stream_world& start(const char* nodes, stream_options options,
                        std::vector<stream_channel> channels) {
        world_ = std::make_unique<stream_world>(topology::from_string(nodes), std::move(options),
                                                std::move(channels));
        world_->sink.on_arrival = [this](stream_worker&, const stream_arrivals& arrivals) {
            for (count_t i = 0; i < arrivals.num_items; ++i) {
                std::uint64_t value = 0;
                std::memcpy(&value, arrivals.items + 8 * i, sizeof value);
                handled_.push_back(value);
            }
        };
        return *world_;
    }
    static stream_options options_of(stream_scheme scheme, int workers) {
        stream_options result;
        result.scheme = scheme;
        result.workers = workers;
        return result;
    }
    void send(stream_worker& from, worker_id to, const std::vector<std::uint64_t>& values,
              int channel = 0) {
        for (const std::uint64_t value : values) from.push_item(channel, to, value);
        from.flush();
    }

    std::unique_ptr<stream_world> world_;
    recorder forwarded_;
    std::vector<std::uint64_t> handled_;
};

TEST_F(StreamDelivery, HandlesWhatIsForItsWorkerAndGivesTheChunkBack) {
    stream_options options = options_of(stream_scheme::ww, 1);
    options.max_buffers = 1;
    stream_world& world = start("1x1", options, {{8, 4}});
    worker_state state(world.engine(0), 0);
    stream_delivery here(state, world.worker(0), forwarded_);
    send(world.worker(0), {0, 0}, {1, 2, 3});

    EXPECT_EQ(here.receive_all(), 3);
    EXPECT_EQ(here.receive_all(), 0);

    EXPECT_EQ(handled_, (std::vector<std::uint64_t>{1, 2, 3}));
    EXPECT_EQ(state.statistics.handled, 3);
    EXPECT_EQ(state.statistics.hops, 3);
    EXPECT_EQ(state.handled, 3);
    EXPECT_TRUE(world.worker(0).has_room(0, {0, 0}));
}

TEST_F(StreamDelivery, SharesOutWhatIsForSeveralWorkers) {
    stream_world& world = start("1x1", options_of(stream_scheme::wps, 2), {{8, 4}});
    worker_state state(world.engine(0), 0);
    stream_delivery here(state, world.worker(0), forwarded_);
    world.worker(0).push_item(0, {0, 0}, std::uint64_t{1});
    world.worker(0).push_item(0, {0, 1}, std::uint64_t{2});
    world.worker(0).push_item(0, {0, 0}, std::uint64_t{3});
    world.worker(0).flush();

    EXPECT_EQ(here.receive_all(), 2);
    EXPECT_EQ(handled_, (std::vector<std::uint64_t>{1, 3}));

    EXPECT_EQ(world.worker(1).progress(), 1);
    EXPECT_EQ(handled_, (std::vector<std::uint64_t>{1, 3, 2}));
}

TEST_F(StreamDelivery, SetsAsideWhatIsOfALaterPhase) {
    stream_world& world = start("1x1", options_of(stream_scheme::ww, 1), {{8, 4}});
    worker_state state(world.engine(0), 0);
    stream_delivery here(state, world.worker(0), forwarded_);
    test::drain(world.worker(0));
    send(world.worker(0), {0, 0}, {1});

    EXPECT_EQ(here.receive_all(), 0);
    EXPECT_TRUE(here.has_later());
    state.phase = 1;
    EXPECT_EQ(here.receive_all(), 1);

    EXPECT_FALSE(here.has_later());
    EXPECT_EQ(handled_, (std::vector<std::uint64_t>{1}));
}

TEST_F(StreamDelivery, KeepsWhatComesWhileNoHandlerMayRun) {
    stream_world& world = start("1x1", options_of(stream_scheme::ww, 1), {{8, 4}});
    worker_state state(world.engine(0), 0);
    stream_delivery here(state, world.worker(0), forwarded_);
    send(world.worker(0), {0, 0}, {1, 2});

    here.set_keeping(true);
    EXPECT_EQ(here.receive_all(), 2);
    EXPECT_TRUE(handled_.empty());
    EXPECT_EQ(state.handled, 0);
    here.set_keeping(false);
    EXPECT_TRUE(here.has_kept());
    EXPECT_EQ(here.handle_kept(), 2);

    EXPECT_FALSE(here.has_kept());
    EXPECT_EQ(handled_, (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(state.handled, 2);
}

TEST_F(StreamDelivery, HandlesUrgentItemsFirst) {
    stream_world& world =
        start("1x1", options_of(stream_scheme::ww, 1), {{8, 4}, {8, 4, true, false}});
    worker_state state(world.engine(0), 0);
    stream_delivery here(state, world.worker(0), forwarded_);
    send(world.worker(0), {0, 0}, {1}, 0);
    send(world.worker(0), {0, 0}, {2}, 1);

    EXPECT_EQ(here.receive_all(), 2);

    EXPECT_EQ(handled_, (std::vector<std::uint64_t>{2, 1}));
}

TEST_F(StreamDelivery, ForwardsWhatTravelsOn) {
    stream_options options = options_of(stream_scheme::wps, 1);
    options.route = "grid:2";
    stream_world& world = start("1x4", options, {{8, 4}});
    send(world.worker(0), {3, 0}, {7, 8});
    send(world.worker(0), {1, 0}, {9});
    send(world.worker(0), {2, 0}, {10});

    for (rank_t rank = 1; rank < 3; ++rank) {
        worker_state state(world.engine(rank), 0);
        stream_delivery there(state, world.worker(rank), forwarded_);
        there.receive_all();
    }

    EXPECT_EQ(forwarded_.calls, (std::vector<recorder::call>{{0, 1, 3, 7, 3}, {0, 1, 3, 8, 3}}));
    EXPECT_EQ(handled_, (std::vector<std::uint64_t>{9, 10}));
}

TEST_F(StreamDelivery, NotesTheFailureOfAHandlerAndHandlesNothingAfterIt) {
    stream_world& world = start("1x1", options_of(stream_scheme::ww, 1), {{8, 4}});
    worker_state state(world.engine(0), 0);
    stream_delivery here(state, world.worker(0), forwarded_);
    int num_calls = 0;
    world.sink.on_arrival = [&](stream_worker&, const stream_arrivals&) {
        ++num_calls;
        throw error(errc::invalid_argument, "no handler");
    };
    send(world.worker(0), {0, 0}, {1});
    send(world.worker(0), {0, 0}, {2});

    here.receive_all();

    EXPECT_TRUE(world.engine(0).has_failed());
    EXPECT_TRUE(state.failure != nullptr);
    EXPECT_EQ(num_calls, 1);
    EXPECT_EQ(state.handled, 2);  // or the drain would wait for it
}

}  // namespace
}  // namespace crossdock::stream_delivery_test
