#include "src/executor/schedule_wire.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "support/thrown_by.hpp"

namespace crossdock::schedule_wire_test {
namespace {

using words = std::vector<std::int64_t>;

constexpr int num_buffers = 4;
constexpr count_t longest_run = (count_t{1} << 24) - 1;

item_reference lies_in(int buffer, int section, bool is_input, count_t slot) {
    return {buffer_number(buffer), section_number(section), is_input, slot_number(slot)};
}

words encoded(const std::vector<reference_run>& runs) {
    words result;
    for (const auto& run : runs) encode(result, run);
    return result;
}

template <class Call>
errc code_of(Call call) {
    return test::thrown_by(call).code();
}

TEST(References, AreDecodedAsTheyWereEncoded) {
    const std::vector<reference_run> runs{
        {lies_in(0, 0, false, 0), 1},
        {lies_in(3, std::numeric_limits<int>::max(), true, (count_t{1} << 39) - 1), 5},
        {lies_in(2, 7, true, 12), longest_run}};

    EXPECT_EQ(decode_references(encoded(runs), num_buffers, 6 + longest_run), runs);
}

TEST(References, AreTwoWordsForARun) {
    EXPECT_EQ(encoded({{lies_in(1, 2, true, 3), 4}}),
              (words{(std::int64_t{3} << 32) | 2, (std::int64_t{3} << 24) | 4}));
}

TEST(References, ToMoreItemsThanAWordCanCountAreDecodedAsSeveralRuns) {
    const auto runs = decode_references(encoded({{lies_in(1, 2, true, 10), 2 * longest_run + 1}}),
                                        num_buffers, 2 * longest_run + 1);

    EXPECT_EQ(runs,
              (std::vector<reference_run>{{lies_in(1, 2, true, 10), longest_run},
                                          {lies_in(1, 2, true, 10 + longest_run), longest_run},
                                          {lies_in(1, 2, true, 10 + 2 * longest_run), 1}}));
}

TEST(References, ThatNoRankOfTheDomainMakesAreRejected) {
    const auto good = encoded({{lies_in(1, 2, true, 3), 4}});
    const std::vector<std::pair<words, count_t>> all{
        {{good[0]}, 4},  // ends too early
        {good, 3},
        {good, 5},
        {{}, 1},
        {{good[0], std::int64_t{3} << 24}, 0},  // of no length
        {{std::int64_t{1} << 31, good[1]}, 4},
        {{std::int64_t{num_buffers} << 33, good[1]}, 4},
        {{-1, good[1]}, 4},
        {{good[0], -1}, 4}};
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& [received, num_items] = all[i];
        EXPECT_EQ(code_of([&] { decode_references(received, num_buffers, num_items); }),
                  errc::internal)
            << i;
    }
}

constexpr buffer_number asking{3};
// Slots 100 to 119 hold what this rank has announced.
constexpr slot_range own_items{slot_number(100), 20};

message_part stripe(rank_t peer, count_t slot, section_number section, counter_number counter) {
    message_part result{8, 9, 30, {}};
    auto& part = result.part;
    part.peer = peer;
    part.stage = 2;
    part.num_items = 15;
    part.is_stripe = true;
    part.buffer = asking;
    part.slot = slot_number(slot);
    part.section = section;
    part.counter = counter;
    part.num_contributors = 4;
    return result;
}

access_request full_request() {
    access_request request;
    request.is_reader = true;
    request.writes = {
        {counter_number(5),
         no_buffer,
         {{slot_number(100), slot_number(7), 20}, {slot_number(119), slot_number(0), 1}}},
        {counter_number(0), buffer_number(2), {{slot_number(110), slot_number(1), 3}}}};
    request.sends = {stripe(6, 40, no_section, counter_number(1)),
                     stripe(7, 55, no_section, counter_number(2))};
    request.receives = {stripe(5, 70, section_number(3), no_counter)};
    request.copies = {{slot_number(101), 2}, {slot_number(105), 15}};
    return request;
}

access_request decoded(const words& received) {
    return decode_access_request(received, asking, num_buffers, own_items);
}

TEST(AccessRequest, IsDecodedAsItWasEncoded) {
    EXPECT_EQ(decoded(encode(full_request())), full_request());
    EXPECT_EQ(decoded(encode(access_request{})), access_request{});
}

TEST(AccessRequest, ThatEndsAnywhereElseIsRejected) {
    access_request request = full_request();
    request.copies.clear();
    const auto all = encode(request);

    for (std::size_t length = 0; length < all.size(); ++length) {
        const auto begin = all.begin();
        const words received(begin, begin + static_cast<std::ptrdiff_t>(length));
        EXPECT_EQ(code_of([&] { decoded(received); }), errc::internal);
    }
}

TEST(AccessRequest, WithWordsThatNoRankOfTheDomainMakesIsRejected) {
    // 0: is reader, 1: number of writes, 2: counter, 3: sender, 4: number of runs, 5: from, 6: to,
    // 7: length, 17: number of sends, 18: source of the first, 23: items of the first.
    constexpr std::int64_t large = std::int64_t{1} << 31, longest = std::int64_t{1} << 60;
    constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
    const std::vector<std::pair<std::size_t, std::int64_t>> all{
        {0, 2},       {1, -1},       {1, greatest}, {2, -1},       {2, large}, {3, num_buffers},
        {4, longest}, {5, 99},       {5, 101},      {5, greatest}, {6, -1},    {7, 0},
        {7, 21},      {17, longest}, {18, -1},      {23, 0}};
    for (const auto& [place, word] : all) {
        auto received = encode(full_request());
        received[place] = word;
        EXPECT_EQ(code_of([&] { decoded(received); }), errc::internal) << place << ' ' << word;
    }
}

}  // namespace
}  // namespace crossdock::schedule_wire_test
