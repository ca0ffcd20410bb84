#include "src/stream/chunk_pool.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "chunk_blocks.hpp"

namespace crossdock::chunk_pool_test {
namespace {

// Two workers of two chunks each.
class ChunkPool : public testing::Test {
  protected:
    const std::vector<stream_channel> channels_{{8, 10}};
    const chunk_layout shape_{channels_, 2, 2, 0};
    test::shared_node node_{shape_, {2, 2, 0, 0}, 1};
    const chunk_memory& memory_ = node_.processes[0];
    chunk_pool pool_{memory_, 1};
};

TEST_F(ChunkPool, WhatWaitsComesBeforeANewBuffer) {
    pool_.take();
    const chunk_ref ref = pool_.take();
    std::byte* const overflow = pool_.take_overflow();
    pool_.wait({overflow, 7, flush_cause::full});

    EXPECT_FALSE(pool_.take_ready().has_value());
    memory_.give_back(ref);
    EXPECT_FALSE(pool_.has_free());
    const auto ready = pool_.take_ready();

    ASSERT_TRUE(ready.has_value());
    EXPECT_EQ(ready->into, ref);
    EXPECT_EQ(ready->from.memory, overflow);
    EXPECT_EQ(ready->from.index, 7U);
    EXPECT_EQ(ready->from.cause, flush_cause::full);
    EXPECT_FALSE(pool_.has_waiting());
}

TEST_F(ChunkPool, WhatHasWaitedLongestIsReadyFirst) {
    std::byte* const first = pool_.take_overflow();
    std::byte* const second = pool_.take_overflow();
    pool_.wait({first, 0, flush_cause::full});
    pool_.wait({second, 0, flush_cause::full});

    EXPECT_EQ(pool_.last_waiting(0), second);
    EXPECT_EQ(pool_.take_ready()->from.memory, first);
    EXPECT_EQ(pool_.last_waiting(0), second);
    EXPECT_EQ(pool_.take_ready()->from.memory, second);
    EXPECT_EQ(pool_.last_waiting(0), nullptr);
    EXPECT_EQ(pool_.last_waiting(99), nullptr);
}

TEST_F(ChunkPool, MemoryBeyondTheBoundIsAChunkAndUsedAgain) {
    std::byte* const overflow = pool_.take_overflow();
    const chunk c(overflow, shape_);

    EXPECT_EQ(c.num_samples(), 0U);
    EXPECT_EQ(c.message_room().size(), shape_.stride() - shape_.head_at());
    EXPECT_NE(pool_.take_overflow(), overflow);
    pool_.reuse(overflow);
    EXPECT_EQ(pool_.take_overflow(), overflow);
}

}  // namespace
}  // namespace crossdock::chunk_pool_test
