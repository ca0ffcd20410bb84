#include "src/stream/bucket_by_worker.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <vector>

#include "chunk_blocks.hpp"

namespace crossdock::bucket_by_worker_test {
namespace {

TEST(BucketByWorker, OfItemsThatAllTravelOnNothingIsLeft) {
    const std::vector<stream_channel> channels{{8, 4}};
    const chunk_layout shape(channels, 2, 4, 0);
    const test::block_ptr memory = test::make_block(shape.stride());
    const chunk c(memory.get(), shape);
    new (&c.state()) chunk_state{};
    new (&c.head()) chunk_head{};
    for (std::uint32_t i = 0; i < 4; ++i) {
        const std::uint64_t item = 10 + i;
        const std::uint32_t tag = 20 + i;
        std::memcpy(c.items() + 8 * i, &item, 8);
        std::memcpy(c.open_tags() + 4 * i, &tag, 4);
    }
    c.close(4);
    bucket_by_worker divider;
    std::vector<std::uint32_t> tags;

    const int only = divider.divide(
        c, shape, [](std::uint32_t) { return bucket_by_worker::elsewhere; },
        [&](std::uint32_t, std::span<const std::byte>, std::uint32_t tag, std::uint32_t) {
            tags.push_back(tag);
        });

    EXPECT_EQ(only, -1);
    EXPECT_EQ(tags, (std::vector<std::uint32_t>{20, 21, 22, 23}));
    EXPECT_EQ(c.head().items, 0U);
    EXPECT_EQ(c.head().units, 0U);
}

}  // namespace
}  // namespace crossdock::bucket_by_worker_test
