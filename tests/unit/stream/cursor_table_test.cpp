#include "src/stream/cursor_table.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace crossdock::cursor_table_test {
namespace {

// Worker 1 of rank 0 of 3, two workers each; words and records.
class CursorTable : public testing::Test {
  protected:
    static chunk_layout shape_of(bool combines, int tag_bytes, int source_bytes) {
        const std::vector<stream_channel> channels{{12, 10, false, combines}, {0, 200}};
        return {channels, 2, tag_bytes, source_bytes};
    }
    static stream_layout layout_of(stream_scheme scheme) {
        return {topology::from_string("3x1"), "direct", scheme, 2, 0};
    }
};

TEST_F(CursorTable, AllCursorsAreClosedAndShareRoomForOneItem) {
    const stream_layout layout = layout_of(stream_scheme::wps);
    const chunk_layout shape = shape_of(false, 2, 0);
    push_state push;
    cursor_table table(push, layout, shape, 1);

    ASSERT_EQ(table.size(), 6U);
    for (std::size_t i = 0; i < table.size(); ++i) {
        const int channel = table.channel_of(i);
        EXPECT_EQ(channel, i < 3 ? 0 : 1);
        EXPECT_EQ(table[i].next, table[0].next);
        EXPECT_EQ(table[i].end - table[i].next, channel == 0 ? 12 : 0);
        EXPECT_EQ(table[i].tags - table[i].next, 16);
        EXPECT_EQ(table.index_of(table[i]), i);
    }
    EXPECT_EQ(table.written_item(), table[0].next);
}

TEST_F(CursorTable, FindsTheBufferOfAWorkerAsAPushDoes) {
    for (const stream_scheme scheme : {stream_scheme::ww, stream_scheme::wps}) {
        const stream_layout layout = layout_of(scheme);
        const chunk_layout shape = shape_of(false, 2, 0);
        push_state push;
        cursor_table table(push, layout, shape, 1);
        const std::size_t own = scheme == stream_scheme::ww ? 1 : 0;

        EXPECT_EQ(table.index_for(0, {2, 1}), layout.targets()[2].buffer + own);
        EXPECT_EQ(table.index_for(1, {2, 1}),
                  layout.buffers().size() + layout.targets()[2].buffer + own);
        EXPECT_EQ(push.first_cursors[2] + own, &table[table.index_for(0, {2, 1})]);
    }
}

TEST_F(CursorTable, WhileItRefusesPushesFindClosedBuffers) {
    const stream_layout layout = layout_of(stream_scheme::wps);
    const chunk_layout shape = shape_of(false, 2, 0);
    push_state push;
    cursor_table table(push, layout, shape, 1);
    std::vector<std::byte> memory(100);
    table[0] = {memory.data(), memory.data() + 100, nullptr, nullptr};

    table.set_refusing(true);
    stream_cursor& refused = push.cursors[0];
    EXPECT_TRUE(table.is_refusing());
    EXPECT_EQ(refused.next, table.closed(0).next);
    refused.next += 12;
    table.reset_refused(refused);
    EXPECT_EQ(refused.next, table.closed(0).next);
    table.set_refusing(false);

    EXPECT_EQ(push.cursors, &table[0]);
    EXPECT_EQ(push.cursors[0].next, memory.data());
}

TEST_F(CursorTable, SaysWhatAPushNotesBesideAnItem) {
    const auto kind_of = [](int tag_bytes, int source_bytes) {
        const stream_layout layout = layout_of(stream_scheme::wps);
        const chunk_layout shape = shape_of(false, tag_bytes, source_bytes);
        push_state push;
        const cursor_table table(push, layout, shape, 1);
        return push.tags;
    };

    EXPECT_EQ(kind_of(0, 0), tag_kind::none);
    EXPECT_EQ(kind_of(2, 0), tag_kind::number);
    EXPECT_EQ(kind_of(4, 0), tag_kind::any);
    EXPECT_EQ(kind_of(0, 4), tag_kind::any);
    EXPECT_EQ(kind_of(2, 4), tag_kind::any);
}

TEST_F(CursorTable, EachBufferHasPositionsWhereItemsCombine) {
    const stream_layout layout = layout_of(stream_scheme::wps);
    const chunk_layout shape = shape_of(true, 2, 0);
    push_state push;
    cursor_table table(push, layout, shape, 1);
    std::byte item{};
    std::byte tag{};

    EXPECT_EQ(push.position_mask, 31U);  // twice the capacity, rounded up to a power of two
    EXPECT_EQ(table.waiting(1).positions - table.waiting(0).positions, 32);
    EXPECT_EQ(push.waiting[0].items, nullptr);
    table.set_waiting(0, &item, &tag);
    EXPECT_EQ(push.waiting[0].items, &item);
    EXPECT_EQ(push.waiting[0].tags, &tag);
    EXPECT_EQ(push.waiting[1].items, nullptr);
}

TEST_F(CursorTable, WithoutCombiningNothingIsLookedFor) {
    const stream_layout layout = layout_of(stream_scheme::wps);
    const chunk_layout shape = shape_of(false, 2, 0);
    push_state push;
    cursor_table table(push, layout, shape, 1);

    table.set_waiting(0, nullptr, nullptr);

    EXPECT_EQ(push.waiting, nullptr);
}

}  // namespace
}  // namespace crossdock::cursor_table_test
