#include "src/stream/source_buffer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "chunk_blocks.hpp"

namespace crossdock::source_buffer_test {
namespace {

constexpr std::uint32_t capacity = 10;

std::span<const std::byte> bytes_of(const std::uint64_t& item) {
    return std::as_bytes(std::span(&item, 1));
}

// A buffer of words and one of records, with tags of two bytes and sources.
class SourceBuffer : public testing::Test {
  protected:
    source_buffer make(int channel) { return {shape_, channel, open_, closed_}; }
    chunk begun(source_buffer& buffer) {
        std::vector<chunk_ref> free;
        node_.processes[0].take_free(0, free);
        const chunk c = node_.processes[0].at(free.front());
        c.head().channel = static_cast<std::uint32_t>(buffer.channel());
        c.head().num_samples = 0;
        buffer.begin(c, free.front());
        return c;
    }
    // As `stream_worker` does.
    void push(std::uint64_t item) {
        std::memcpy(open_.next, &item, sizeof item);
        open_.next += sizeof item;
        put_tag(open_, 2, true, 5, 6);
    }
    static forwarded_item forwarded(const std::uint64_t& item, std::int64_t pushed = 0) {
        return {bytes_of(item), 3, 4, pushed};
    }

    const std::vector<stream_channel> channels_{{8, capacity}, {0, 64}};
    const chunk_layout shape_{channels_, 1, 2, 4};
    test::shared_node node_{shape_, {1, 2, 0, 0}, 1};
    std::array<std::byte, 16> scratch_{};
    std::uint32_t scratch_source_ = 0;
    const stream_cursor closed_{scratch_.data(), scratch_.data() + 8, scratch_.data() + 8,
                                &scratch_source_};
    stream_cursor open_{};
};

TEST_F(SourceBuffer, ThatIsClosedHasTheCursorOfAllClosedOnes) {
    const source_buffer buffer = make(0);

    EXPECT_TRUE(buffer.is_closed());
    EXPECT_EQ(open_.next, closed_.next);
    EXPECT_EQ(open_.end, closed_.end);
    EXPECT_EQ(open_.tags, closed_.tags);
    EXPECT_EQ(open_.sources, closed_.sources);
}

TEST_F(SourceBuffer, BeginsEmptyWithRoomForAll) {
    source_buffer buffer = make(0);

    const chunk c = begun(buffer);

    EXPECT_FALSE(buffer.is_closed());
    EXPECT_FALSE(buffer.is_overflow());
    EXPECT_EQ(buffer.fill(), 0U);
    EXPECT_EQ(buffer.room(), capacity);
    EXPECT_EQ(open_.next, c.items());
    EXPECT_EQ(open_.end, c.items() + 8 * capacity);
    EXPECT_EQ(open_.tags, c.open_tags());
    EXPECT_EQ(open_.sources, c.open_sources());
}

TEST_F(SourceBuffer, IsFullAtItsLimit) {
    source_buffer buffer = make(0);
    buffer.set_limit(2);
    begun(buffer);

    push(1);
    EXPECT_FALSE(buffer.is_full());
    push(2);

    EXPECT_TRUE(buffer.is_full());
    EXPECT_EQ(buffer.num_pushed(), 2);
}

TEST_F(SourceBuffer, CountsForwardedItemsApart) {
    source_buffer buffer = make(0);
    const chunk c = begun(buffer);

    push(1);
    buffer.append(forwarded(2));

    EXPECT_EQ(buffer.num_items(), 2U);
    EXPECT_EQ(buffer.num_pushed(), 1);
    std::array<std::uint64_t, 2> items{};
    std::memcpy(items.data(), c.items(), sizeof items);
    EXPECT_EQ(items, (std::array<std::uint64_t, 2>{1, 2}));
    std::array<std::uint16_t, 2> tags{};
    std::memcpy(tags.data(), c.open_tags(), sizeof tags);
    EXPECT_EQ(tags, (std::array<std::uint16_t, 2>{5, 3}));
    EXPECT_EQ(c.open_sources()[0], 6U);
    EXPECT_EQ(c.open_sources()[1], 4U);
}

TEST_F(SourceBuffer, IsClosedAgainAfterReset) {
    source_buffer buffer = make(0);
    begun(buffer);

    buffer.reset();

    EXPECT_TRUE(buffer.is_closed());
    EXPECT_EQ(open_.next, closed_.next);
}

TEST_F(SourceBuffer, KnowsThatItIsBeyondTheBound) {
    source_buffer buffer = make(0);
    const test::block_ptr memory = test::make_block(shape_.stride());
    const chunk c(memory.get(), shape_);
    c.head().channel = 0;

    buffer.begin(c, no_chunk);

    EXPECT_TRUE(buffer.is_overflow());
    EXPECT_EQ(buffer.memory(), memory.get());
}

// --------------------------------------------------------------------------- samples

TEST_F(SourceBuffer, EndsBehindThePushThatIsASampleAndThenGoesOn) {
    source_buffer buffer = make(0);
    latency_sampler sampler(3);
    const chunk c = begun(buffer);
    buffer.plan_sample(sampler);

    push(1);
    push(2);
    EXPECT_FALSE(buffer.is_at_sample());
    push(3);
    EXPECT_TRUE(buffer.is_at_sample());
    buffer.take_sample(77);

    EXPECT_FALSE(buffer.is_at_sample());
    EXPECT_FALSE(buffer.is_full());
    EXPECT_EQ(open_.end, c.items() + 8 * capacity);
    ASSERT_EQ(c.num_samples(), 1U);
    EXPECT_EQ(c.head().sample_positions[0], 2U);
    EXPECT_EQ(c.head().sample_nanoseconds[0], 77);
}

TEST_F(SourceBuffer, AForwardedItemIsNoSampleOfThisWorker) {
    source_buffer buffer = make(0);
    latency_sampler sampler(1);
    const chunk c = begun(buffer);
    buffer.plan_sample(sampler);

    buffer.append(forwarded(1));
    EXPECT_TRUE(buffer.is_at_sample());
    buffer.postpone_sample(sampler);
    EXPECT_FALSE(buffer.is_at_sample());
    push(2);

    EXPECT_TRUE(buffer.is_at_sample());
    EXPECT_EQ(c.num_samples(), 0U);
}

TEST_F(SourceBuffer, ASampleThatFindsNoRoomIsThatOfTheNextBuffer) {
    source_buffer buffer = make(0);
    buffer.set_limit(1);
    latency_sampler sampler(1);
    begun(buffer);
    buffer.plan_sample(sampler);

    buffer.append(forwarded(1));
    buffer.postpone_sample(sampler);

    EXPECT_FALSE(buffer.is_at_sample());
    EXPECT_TRUE(buffer.is_full());
    EXPECT_EQ(sampler.plan(10), 0U);
}

TEST_F(SourceBuffer, ASampleThatTravelsKeepsItsTime) {
    source_buffer buffer = make(0);
    const chunk c = begun(buffer);

    buffer.append(forwarded(1));
    buffer.append(forwarded(2, 99));

    ASSERT_EQ(c.num_samples(), 1U);
    EXPECT_EQ(c.head().sample_positions[0], 1U);
    EXPECT_EQ(c.head().sample_nanoseconds[0], 99);
}

TEST_F(SourceBuffer, ThatLeavesEarlyCorrectsTheSampler) {
    source_buffer buffer = make(0);
    latency_sampler sampler(12);
    begun(buffer);
    buffer.plan_sample(sampler);  // of the next buffer the second

    push(1);
    buffer.correct(sampler);

    EXPECT_EQ(sampler.plan(100), 10U);
}

// --------------------------------------------------------------------------- records

TEST_F(SourceBuffer, RecordsCarryTheirSizeTagAndSource) {
    source_buffer buffer = make(1);
    const chunk c = begun(buffer);
    const std::uint64_t item = 8;

    buffer.append_record({bytes_of(item), 3, 4, 0}, false);
    buffer.append_record({{}, 5, 6, 0}, true);

    EXPECT_EQ(buffer.fill(), 24U + 16U);
    EXPECT_EQ(buffer.num_items(), 2U);
    EXPECT_EQ(buffer.num_pushed(), 1);
    EXPECT_TRUE(buffer.has_room_for(24));
    EXPECT_FALSE(buffer.has_room_for(25));
    std::array<std::uint32_t, 6> words{};
    std::memcpy(words.data(), c.items(), sizeof words);
    EXPECT_EQ(words, (std::array<std::uint32_t, 6>{8, 3, 4, 0, 8, 0}));
}

// --------------------------------------------------------------------------- staging

TEST_F(SourceBuffer, StagesUpTo512BytesOfItemsAndAllOfRecords) {
    const std::vector<stream_channel> channels{{8, 100}, {8, 5}, {1000, 100}, {0, 4096}};
    const chunk_layout shape(channels, 1, 2, 4);

    EXPECT_EQ(staged_units(shape, 0), 64U);
    EXPECT_EQ(staged_units(shape, 1), 5U);
    EXPECT_EQ(staged_units(shape, 2), 4U);
    EXPECT_EQ(staged_units(shape, 3), 4096U);
}

TEST_F(SourceBuffer, CopiesAPartOfWhatIsStagedWithTagsSourcesAndSample) {
    source_buffer buffer = make(0);
    const test::block_ptr staging = test::make_block(source_buffer::staging_bytes(shape_, 0));
    const test::block_ptr memory = test::make_block(shape_.stride());
    const chunk into(memory.get(), shape_);
    buffer.begin_staging(staging.get());
    push(1);
    buffer.append(forwarded(2, 55));
    push(3);

    buffer.copy_staged(1, 2, into, 4);

    std::array<std::uint64_t, 2> items{};
    std::memcpy(items.data(), into.items() + 4 * 8, sizeof items);
    EXPECT_EQ(items, (std::array<std::uint64_t, 2>{2, 3}));
    std::array<std::uint16_t, 2> tags{};
    std::memcpy(tags.data(), into.open_tags() + 4 * 2, sizeof tags);
    EXPECT_EQ(tags, (std::array<std::uint16_t, 2>{3, 5}));
    EXPECT_EQ(into.open_sources()[4], 4U);
    EXPECT_EQ(into.open_sources()[5], 6U);
    ASSERT_EQ(into.num_samples(), 1U);
    EXPECT_EQ(into.head().sample_positions[0], 4U);
    EXPECT_EQ(into.head().sample_nanoseconds[0], 55);
}

TEST_F(SourceBuffer, CopiesNoSampleThatIsOutsideThePart) {
    source_buffer buffer = make(0);
    const test::block_ptr staging = test::make_block(source_buffer::staging_bytes(shape_, 0));
    const test::block_ptr memory = test::make_block(shape_.stride());
    const chunk into(memory.get(), shape_);
    buffer.begin_staging(staging.get());
    buffer.append(forwarded(1, 55));
    push(2);

    buffer.copy_staged(1, 1, into, 0);

    EXPECT_EQ(into.num_samples(), 0U);
}

}  // namespace
}  // namespace crossdock::source_buffer_test
