#include "src/stream/shared_buffer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "chunk_blocks.hpp"
#include "src/stream/chunk_pool.hpp"

namespace crossdock::shared_buffer_test {
namespace {

constexpr std::uint32_t capacity = 4;

// One process with chunks of four words, or of bytes of records, and a shared buffer for each.
class SharedBuffer : public testing::Test {
  protected:
    chunk_ref free_chunk(int channel = 0) {
        if (free_.empty()) memory_.take_free(0, free_);
        const chunk_ref ref = free_.back();
        free_.pop_back();
        memory_.at(ref).head().channel = static_cast<std::uint32_t>(channel);
        return ref;
    }
    // The word: which chunk is open, and how many of its units are taken.
    std::uint64_t word() const { return memory_.shared_buffer(0, 0).load(); }
    static std::uint64_t word_of(chunk_ref ref, std::uint32_t units) {
        return (std::uint64_t{ref} << 32) + units;
    }
    std::uint32_t missing(chunk_ref ref) const { return memory_.at(ref).state().missing.load(); }

    const std::vector<stream_channel> channels_{{8, capacity}, {0, 64}};
    const chunk_layout shape_{channels_, 1, 0, 0};
    test::shared_node node_{shape_, {1, 3, 0, 2}, 1};
    const chunk_memory& memory_ = node_.processes[0];
    const shared_buffer buffer_{memory_, 0, 0, capacity};
    std::vector<chunk_ref> free_;
};

TEST_F(SharedBuffer, TakesWhatMustStayTogetherWholeOrNotAtAll) {
    const chunk_ref ref = free_chunk();
    buffer_.open(ref);
    buffer_.take(3, true);

    const shared_buffer::room refused = buffer_.take(2, true);

    EXPECT_EQ(refused.ref, ref);
    EXPECT_EQ(refused.units, 0U);
    EXPECT_EQ(word(), word_of(ref, 3));
}

TEST_F(SharedBuffer, WhoFillsInLastSendsAFullOne) {
    const chunk_ref ref = free_chunk();
    buffer_.open(ref);
    const shared_buffer::room first = buffer_.take(3, false);
    const shared_buffer::room second = buffer_.take(1, false);

    EXPECT_EQ(missing(ref), 0U);
    EXPECT_EQ(buffer_.fill_in(second, 0), no_chunk);
    EXPECT_EQ(missing(ref), 1U - capacity);
    EXPECT_EQ(buffer_.fill_in(first, 0), ref);

    EXPECT_EQ(missing(ref), 0U);
    EXPECT_EQ(memory_.at(ref).head().units, capacity);
    EXPECT_EQ(memory_.at(ref).head().items, capacity);
    EXPECT_EQ(buffer_.cause_of(ref), flush_cause::full);
}

TEST_F(SharedBuffer, WhoClosesOneThatIsFilledInSendsIt) {
    const chunk_ref ref = free_chunk();
    buffer_.open(ref);
    EXPECT_EQ(buffer_.fill_in(buffer_.take(2, false), 0), no_chunk);

    EXPECT_EQ(buffer_.close(no_chunk, flush_cause::age), ref);

    EXPECT_EQ(memory_.at(ref).head().units, 2U);
    EXPECT_EQ(memory_.at(ref).head().items, 2U);
    EXPECT_EQ(buffer_.cause_of(ref), flush_cause::age);
    EXPECT_EQ(word(), 0U);
}

TEST_F(SharedBuffer, WhoFillsInAfterItWasClosedSendsIt) {
    const chunk_ref ref = free_chunk();
    buffer_.open(ref);
    const shared_buffer::room room = buffer_.take(2, false);

    EXPECT_EQ(buffer_.close(ref, flush_cause::request), no_chunk);
    EXPECT_EQ(missing(ref), 0U - 2U);
    EXPECT_EQ(buffer_.fill_in(room, 0), ref);

    EXPECT_EQ(memory_.at(ref).head().units, 2U);
    EXPECT_EQ(buffer_.cause_of(ref), flush_cause::request);
}

TEST_F(SharedBuffer, IsLeftOpenIfAnotherChunkWasMeant) {
    const chunk_ref ref = free_chunk();
    buffer_.open(ref);
    buffer_.fill_in(buffer_.take(1, false), 0);

    EXPECT_EQ(buffer_.close(free_chunk(), flush_cause::idle), no_chunk);

    EXPECT_EQ(word(), word_of(ref, 1));
}

TEST_F(SharedBuffer, WithNothingInItGivesItsChunkBack) {
    free_chunk();
    free_chunk();
    const chunk_ref ref = free_chunk();
    buffer_.open(ref);

    EXPECT_EQ(buffer_.close(no_chunk, flush_cause::idle), no_chunk);

    EXPECT_EQ(free_chunk(), ref);
    EXPECT_EQ(word(), 0U);
}

TEST_F(SharedBuffer, CountsRecordsByThoseWhoFillThemIn) {
    const shared_buffer records(memory_, 0, 1, 64);
    const chunk_ref ref = free_chunk(1);
    records.open(ref);
    records.fill_in(records.take(24, true), 1);
    records.fill_in(records.take(32, true), 2);

    EXPECT_EQ(records.close(no_chunk, flush_cause::drain), ref);

    EXPECT_EQ(memory_.at(ref).head().units, 56U);
    EXPECT_EQ(memory_.at(ref).head().items, 3U);
}

TEST_F(SharedBuffer, OpensAChunkAnewAsAnotherBuffer) {
    const chunk_ref ref = free_chunk();
    buffer_.open(ref);
    const std::uint32_t serial = memory_.at(ref).state().serial.load();
    buffer_.fill_in(buffer_.take(capacity, false), 0);

    EXPECT_TRUE(buffer_.open(ref));

    EXPECT_EQ(memory_.at(ref).state().serial.load(), serial + 1);
    EXPECT_EQ(word(), word_of(ref, 0));
    EXPECT_EQ(missing(ref), 0U);
}

// Every unit is filled in once, and every chunk is sent once, when all of it is there.
TEST(SharedBufferThreads, EachItemIsSentOnce) {
    constexpr int num_workers = 4;
    constexpr std::uint64_t items_of_each = 20000;
    const std::vector<stream_channel> channels{{8, 7}};
    const chunk_layout shape(channels, 1, 0, 0);
    test::shared_node node(shape, {num_workers, 4, 0, 1}, 1);
    const chunk_memory& memory = node.processes[0];
    const shared_buffer buffer(memory, 0, 0, 7);
    std::vector<std::atomic<int>> seen(num_workers * items_of_each);
    const auto take_apart = [&](chunk_ref ref) {
        if (ref == no_chunk) return;
        const chunk c = memory.at(ref);
        for (std::uint32_t i = 0; i < c.head().items; ++i) {
            std::uint64_t item = 0;
            std::memcpy(&item, c.items() + 8 * i, 8);
            ++seen[item];
        }
        memory.give_back(ref);
    };
    const auto work = [&](int worker) {
        chunk_pool pool(memory, worker);
        for (std::uint64_t i = 0; i < items_of_each;) {
            const auto wanted =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(i % 3 + 1, items_of_each - i));
            const shared_buffer::room room = buffer.take(wanted, false);
            if (room.ref == no_chunk) {
                const chunk_ref ref = pool.take();
                if (ref == no_chunk) continue;
                memory.at(ref).head().channel = 0;
                if (!buffer.open(ref)) pool.put_back(ref);
                continue;
            }
            for (std::uint32_t u = 0; u < room.units; ++u, ++i) {
                const std::uint64_t item = static_cast<std::uint64_t>(worker) * items_of_each + i;
                std::memcpy(memory.at(room.ref).items() + 8 * (room.first + u), &item, 8);
            }
            take_apart(buffer.fill_in(room, 0));
            if (i % 50 == 0) take_apart(buffer.close(no_chunk, flush_cause::request));
        }
        take_apart(buffer.close(no_chunk, flush_cause::request));
    };

    std::vector<std::thread> threads;
    for (int w = 0; w < num_workers; ++w) threads.emplace_back(work, w);
    for (std::thread& thread : threads) thread.join();

    for (const std::atomic<int>& times : seen) ASSERT_EQ(times.load(), 1);
    EXPECT_EQ(buffer.current(), no_chunk);
}

}  // namespace
}  // namespace crossdock::shared_buffer_test
