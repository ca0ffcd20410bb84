#include "src/base/exchange_watch.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace crossdock::exchange_watch_test {
namespace {

double now = 0;
double clock() noexcept { return now; }

void after(double seconds) { now += seconds; }

class ExchangeWatch : public testing::Test {
  protected:
    void start(exchange_watch& watch, double seconds) {
        watch.begin();
        after(seconds);
        watch.note_started();
        watch.leave();
    }

    // A wait that looks once, and ends with the arrival from rank 7.
    void wait(exchange_watch& watch) {
        watch.enter();
        after(4);
        {
            const watched_part packing(watch.details(), activity::packing);
            after(8);
        }
        if (watch.details()) watch.note_arrival(7);
        watch.finish({2, 16, 1, 8});
        watch.leave();
    }

    std::shared_ptr<watched_object> object = std::make_shared<watched_object>();
    exchange_watch all{object, watched_role::whole, clock};
};

TEST_F(ExchangeWatch, TracesAllSpans) {
    object->trace = std::make_shared<trace_log>();
    object->starts = 9;  // not sampled
    now = 0;
    start(all, 1);
    after(2);
    wait(all);

    using enum span_kind;
    const auto expect = [&](std::size_t at, span_kind kind, double begin, double end) {
        const auto& span = object->trace->spans().at(at);
        EXPECT_EQ(span.of, object.get()) << at;
        EXPECT_EQ(span.kind, kind) << at;
        EXPECT_EQ(span.begin, begin) << at;
        EXPECT_EQ(span.end, end) << at;
    };
    expect(0, sending, 0, 1);
    expect(1, call, 0, 1);
    expect(2, waiting, 3, 7);
    expect(3, packing, 7, 15);
    const auto last = object->trace->spans().size() - 1;
    expect(last - 1, call, 3, 15);
    expect(last, exchange, 0, 15);
}

TEST_F(ExchangeWatch, TracesHaveAnEnd) {
    trace_log log;
    for (std::size_t i = 0; i < trace_log::most + 1; ++i) log.add({});
    EXPECT_EQ(log.spans().size(), trace_log::most);
}

TEST_F(ExchangeWatch, SecondsAreThoseOfWhatARankDoes) {
    start(all, 1);
    after(2);
    all.enter();
    after(16);
    all.leave();
    after(32);
    wait(all);

    EXPECT_EQ(object->starts, 1);
    EXPECT_EQ(object->exchange_seconds, 1 + 2 + 16 + 32 + 4 + 8);
    EXPECT_EQ(object->inside_seconds, 1 + 16 + 4 + 8);
    EXPECT_EQ(object->sampled_seconds, (std::array<double, 3>{8, 1, 16 + 4}));
    EXPECT_EQ(object->awaited_seconds, (std::map<rank_t, double>{{7, 16 + 4}}));
    EXPECT_EQ(object->sent.messages, 2);
    EXPECT_EQ(object->sent.bytes, 16);
    EXPECT_EQ(object->sent.inter_region_messages, 1);
    EXPECT_EQ(object->sent.inter_region_bytes, 8);
}

TEST_F(ExchangeWatch, WhatIsWaitedIsWaitedForWhoComesNext) {
    start(all, 1);
    all.enter();
    after(2);
    all.note_arrival(3);
    after(4);
    all.note_arrival(5);
    after(8);
    all.note_arrival(3);
    all.finish({});
    all.leave();

    EXPECT_EQ(object->awaited_seconds, (std::map<rank_t, double>{{3, 10}, {5, 4}}));
}

TEST_F(ExchangeWatch, AStartThatFailsLeavesNoTrace) {
    all.begin();
    after(1);
    all.leave();
    after(2);
    start(all, 4);
    wait(all);

    EXPECT_EQ(object->starts, 1);
    EXPECT_EQ(object->exchange_seconds, 4 + 4 + 8);
}

TEST_F(ExchangeWatch, AStartThatIsRefusedIsPartOfTheExchangeUnderWay) {
    start(all, 1);
    all.begin();
    after(2);
    all.leave();
    wait(all);

    EXPECT_EQ(object->starts, 1);
    EXPECT_EQ(object->exchange_seconds, 1 + 2 + 4 + 8);
}

TEST_F(ExchangeWatch, DetailsAreMeasuredInTheFirstEightExchangesAndInEvery16th) {
    std::vector<count_t> detailed;
    for (count_t k = 0; k < 40; ++k) {
        start(all, 1);
        if (all.details()) detailed.push_back(k);
        wait(all);
    }

    EXPECT_EQ(detailed, (std::vector<count_t>{0, 1, 2, 3, 4, 5, 6, 7, 16, 32}));
    EXPECT_EQ(object->starts, 40);
    EXPECT_EQ(object->inside_seconds, 40 * (1 + 4 + 8));
    EXPECT_EQ(object->sampled_seconds, (std::array<double, 3>{10 * 8, 10, 10 * 4}));
}

TEST_F(ExchangeWatch, WhatHappensBetweenCallsIsNotMeasured) {
    start(all, 1);
    all.change(activity::packing);  // for others, in a wait of another object
    after(2);
    all.note_arrival(3);
    wait(all);

    EXPECT_EQ(object->inside_seconds, 1 + 4 + 8);
    EXPECT_EQ(object->awaited_seconds, (std::map<rank_t, double>{{7, 4}}));
}

TEST_F(ExchangeWatch, AnObjectOfTwoExchangesCountsItsOwnStartsAndTheirDetails) {
    exchange_watch outside(object, watched_role::outside, clock);
    exchange_watch part(object, watched_role::part, clock);
    EXPECT_EQ(outside.details(), nullptr);

    outside.begin();
    start(part, 1);
    outside.note_started();
    outside.leave();
    after(2);
    outside.enter();
    wait(part);
    start(part, 1);
    wait(part);
    outside.finish({});
    outside.leave();

    EXPECT_EQ(object->starts, 1);
    EXPECT_EQ(object->exchange_seconds, 2 + 2 * (1 + 4 + 8));
    EXPECT_EQ(object->inside_seconds, 2 * (1 + 4 + 8));
    EXPECT_EQ(object->sampled_seconds, (std::array<double, 3>{16, 2, 8}));
    EXPECT_EQ(object->sent.messages, 4);
}

}  // namespace
}  // namespace crossdock::exchange_watch_test
