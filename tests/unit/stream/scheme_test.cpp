#include "src/stream/scheme.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "chunk_blocks.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::scheme_test {
namespace {

using test::all_schemes;

// What the bounds are about: items dealt out to buffers, `most` or `least` messages over all ways.
message_bounds bounds_by_trying(count_t num_items, count_t buffer_items, count_t num_buffers) {
    if (num_buffers == 0) return {0, num_items == 0 ? 0 : -1};
    if (num_buffers == 1) {
        const count_t messages = (num_items + buffer_items - 1) / buffer_items;
        return {messages, messages};
    }
    message_bounds result{num_items, 0};
    for (count_t first = 0; first <= num_items; ++first) {
        const count_t messages = (first + buffer_items - 1) / buffer_items;
        const message_bounds rest =
            bounds_by_trying(num_items - first, buffer_items, num_buffers - 1);
        result.least = std::min(result.least, messages + rest.least);
        result.most = std::max(result.most, messages + rest.most);
    }
    return result;
}

machine with_copies_of(double seconds_per_item) {
    auto m = default_machine();
    m.copy_seconds_per_item = seconds_per_item;
    return m;
}

TEST(Scheme, NamesAreReadInAnyCase) {
    EXPECT_EQ(stream_scheme_from_string("auto"), stream_scheme::automatic);
    EXPECT_EQ(stream_scheme_from_string("WPs"), stream_scheme::wps);
    std::vector<std::string> names{to_string(stream_scheme::automatic)};
    for (const stream_scheme scheme : all_schemes) {
        names.emplace_back(to_string(scheme));
        EXPECT_EQ(stream_scheme_from_string(names.back()), scheme);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"auto", "ww", "wps", "wsp", "pp", "node"}));
}

TEST(Scheme, UnknownNamesAreRefused) {
    for (const char* const name : {"", "pw", "wps ", "automatic"}) {
        EXPECT_EQ(test::thrown_by([&] { stream_scheme_from_string(name); }).code(),
                  errc::invalid_argument);
    }
}

TEST(Scheme, OnlyPpAndNodeFillTogether) {
    std::vector<bool> together;
    for (const stream_scheme scheme : all_schemes) together.push_back(fills_together(scheme));

    EXPECT_EQ(together, (std::vector<bool>{false, false, false, true, true}));
}

TEST(Scheme, AProcessBuffersWhatTheStudySays) {
    constexpr count_t g = 1024;
    constexpr count_t N = 64;
    constexpr int t = 8;

    // Of t workers: g N t each, g N each, and g N together.
    EXPECT_EQ(max_buffered_items(stream_scheme::ww, g, N, t), g * N * t * t);
    EXPECT_EQ(max_buffered_items(stream_scheme::wps, g, N, t), g * N * t);
    EXPECT_EQ(max_buffered_items(stream_scheme::wsp, g, N, t), g * N * t);
    EXPECT_EQ(max_buffered_items(stream_scheme::pp, g, N, t), g * N);
    EXPECT_EQ(max_buffered_items(stream_scheme::node, g, N, t), g * N);
}

TEST(Scheme, BufferedItemsOfManyEndpointsDoNotOverflow) {
    EXPECT_EQ(max_buffered_items(stream_scheme::ww, count_t{1} << 20, 1 << 17, 64),
              count_t{1} << 49);
}

TEST(Scheme, MessagesAreBetweenFullOnesAndOnePartialOneForEachBuffer) {
    const auto bounds = [](stream_scheme scheme, count_t items, count_t g) {
        const message_bounds found = stream_message_bounds(scheme, items, g, 4, 3);
        return std::array{found.least, found.most};
    };
    using least_and_most = std::array<count_t, 2>;

    // z/g and z/g + N t, z/g + N; fewer items than buffers are at most a message each.
    EXPECT_EQ(bounds(stream_scheme::ww, 1000, 10), (least_and_most{100, 112}));
    EXPECT_EQ(bounds(stream_scheme::wps, 1001, 10), (least_and_most{101, 104}));
    EXPECT_EQ(bounds(stream_scheme::wps, 999, 10), (least_and_most{100, 103}));
    EXPECT_EQ(bounds(stream_scheme::ww, 5, 10), (least_and_most{1, 5}));
    EXPECT_EQ(bounds(stream_scheme::ww, 13, 100), (least_and_most{1, 12}));
    for (const stream_scheme scheme :
         {stream_scheme::wps, stream_scheme::wsp, stream_scheme::pp, stream_scheme::node}) {
        EXPECT_EQ(bounds(scheme, 1000, 10), (least_and_most{100, 104})) << to_string(scheme);
        EXPECT_EQ(bounds(scheme, 0, 10), (least_and_most{0, 0})) << to_string(scheme);
    }
}

TEST(Scheme, NoWayToDealItemsOutLeavesTheBounds) {
    for (count_t items = 0; items <= 12; ++items) {
        for (count_t g = 1; g <= 4; ++g) {
            for (count_t endpoints = 1; endpoints <= 4; ++endpoints) {
                const message_bounds tried = bounds_by_trying(items, g, endpoints);

                const message_bounds stated =
                    stream_message_bounds(stream_scheme::pp, items, g, endpoints, 2);

                EXPECT_EQ(stated.least, tried.least) << items << ' ' << g << ' ' << endpoints;
                EXPECT_GE(stated.most, tried.most) << items << ' ' << g << ' ' << endpoints;
            }
        }
    }
}

TEST(Scheme, OneWorkerToAProcessChoosesWw) {
    EXPECT_EQ(choose_stream_scheme({100000, 1, 1 << 17, 8}), stream_scheme::ww);
}

TEST(Scheme, SeveralWorkersHaveABufferForEachOtherUpToAMebibyte) {
    constexpr count_t buffer_items = (64 << 10) / 8;

    EXPECT_EQ(choose_stream_scheme({8, 2, buffer_items, 8}), stream_scheme::ww);  // 1 MiB exactly
    EXPECT_EQ(choose_stream_scheme({17, 1, buffer_items, 8}), stream_scheme::ww);
    EXPECT_EQ(choose_stream_scheme({9, 2, buffer_items, 8}), stream_scheme::wps);
}

TEST(Scheme, SeveralWorkersShareTheirBuffersAbove16MebibytesOfAProcess) {
    constexpr count_t buffer_items = (16 << 10) / 8;

    EXPECT_EQ(choose_stream_scheme({128, 8, buffer_items, 8}),
              stream_scheme::wps);  // 16 MiB exactly
    EXPECT_EQ(choose_stream_scheme({129, 8, buffer_items, 8}), stream_scheme::pp);
    EXPECT_EQ(choose_stream_scheme({1, 2, (16 << 20) / 8, 8}), stream_scheme::pp);
}

// Putting an item of 8 bytes into order takes 1.8 ns; g = 64, two overheads are 360 ns, and 5.6 for
// an item.
TEST(Scheme, SmallBuffersToManyWorkersCostMoreInMessagesThanInOrder) {
    EXPECT_EQ(choose_stream_scheme({4, 2, 8192, 8}), stream_scheme::ww);
    EXPECT_EQ(choose_stream_scheme({4, 2, 64, 8}), stream_scheme::wps);
    EXPECT_EQ(choose_stream_scheme({4, 2, 64, 8}, with_copies_of(10e-9)), stream_scheme::ww);
}

}  // namespace
}  // namespace crossdock::scheme_test
