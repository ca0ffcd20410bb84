#include "crossdock/detail/stream/stream_options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace crossdock::stream_statistics_test {
namespace {

// Every count differs from every other.
stream_statistics example(count_t first) {
    stream_statistics result;
    count_t next = first;
    for (count_t* const count :
         {&result.items, &result.combined, &result.handled, &result.forwarded, &result.hops,
          &result.messages, &result.mpi_messages, &result.mpi_bytes, &result.message_items,
          &result.overflow_buffers, &result.waits, &result.peak_buffers}) {
        *count = next++;
    }
    for (count_t& count : result.messages_by_cause) count = next++;
    result.latency.add(first);
    return result;
}

TEST(StreamStatistics, CausesHaveNames) {
    std::vector<std::string> names;
    for (int cause = 0; cause < num_flush_causes; ++cause) {
        names.emplace_back(to_string(static_cast<flush_cause>(cause)));
    }

    EXPECT_EQ(names, (std::vector<std::string>{"full", "request", "idle", "age", "pressure",
                                               "urgent", "drain"}));
}

TEST(StreamStatistics, EveryCountIsAddedUp) {
    stream_statistics sum = example(1);

    sum += example(100);

    EXPECT_EQ(sum.items, 101);
    EXPECT_EQ(sum.combined, 103);
    EXPECT_EQ(sum.handled, 105);
    EXPECT_EQ(sum.forwarded, 107);
    EXPECT_EQ(sum.hops, 109);
    EXPECT_EQ(sum.messages, 111);
    EXPECT_EQ(sum.mpi_messages, 113);
    EXPECT_EQ(sum.mpi_bytes, 115);
    EXPECT_EQ(sum.message_items, 117);
    EXPECT_EQ(sum.overflow_buffers, 119);
    EXPECT_EQ(sum.waits, 121);
    EXPECT_EQ(sum.peak_buffers, 123);
    EXPECT_EQ(sum.messages_by_cause,
              (std::array<count_t, num_flush_causes>{125, 127, 129, 131, 133, 135, 137}));
    EXPECT_EQ(sum.latency.count(), 2);
    EXPECT_EQ(sum.latency.max_nanoseconds(), 100);
}

TEST(StreamStatistics, MessagesAreAskedForByCause) {
    const stream_statistics one = example(0);

    EXPECT_EQ(one.messages_of(flush_cause::full), 12);
    EXPECT_EQ(one.messages_of(flush_cause::pressure), 16);
    EXPECT_EQ(one.messages_of(flush_cause::drain), 18);
}

TEST(StreamStatistics, MeanFillIsItemsPerMessage) {
    stream_statistics some;
    some.messages = 4;
    some.message_items = 10;

    EXPECT_EQ(some.mean_fill(), 2.5);
    EXPECT_EQ(stream_statistics{}.mean_fill(), 0);
}

}  // namespace
}  // namespace crossdock::stream_statistics_test
