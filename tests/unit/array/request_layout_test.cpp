#include "src/array/request_layout.hpp"

#include <gtest/gtest.h>

#include <string>

#include "crossdock/detail/array/write_rule.hpp"
#include "crossdock/detail/base/raw_buffer.hpp"

namespace crossdock::request_layout_test {
namespace {

constexpr std::size_t alignment = alignof(std::max_align_t);

std::vector<std::size_t> positions_in(std::span<const position_range> ranges) {
    std::vector<std::size_t> result;
    for (const auto& [first, length] : ranges) {
        for (std::size_t k = 0; k < length; ++k) result.push_back(first + k);
    }
    return result;
}

// Encodes and decodes the requests at some of ten positions; nothing but the message is written.
template <class Index>
void expect_round_trip(const request_traits& kind, const std::vector<position_range>& ranges) {
    std::vector<Index> indices;
    for (Index k = 0; k < 10; ++k) indices.push_back(static_cast<Index>(~Index{0} - 3 * k));
    std::vector<std::byte> values(10 * kind.value_bytes());
    for (std::size_t b = 0; b < values.size(); ++b) values[b] = static_cast<std::byte>(b + 1);
    const auto positions = positions_in(ranges);
    const request_layout<Index> message(kind, positions.size());
    EXPECT_EQ(message.num_bytes() % alignment, 0);
    const raw_buffer buffer(message.num_bytes() + alignment);
    std::fill_n(buffer.data(), buffer.size_bytes(), std::byte{77});

    message.encode(ranges, std::span<const Index>(indices), values.data(), buffer.data());
    const auto list = message.decode(buffer.data(), true);

    EXPECT_TRUE(list.is_sorted);
    EXPECT_EQ(list.values != nullptr, kind.has_values());
    ASSERT_EQ(list.indices.size(), positions.size());
    ASSERT_EQ(list.return_slots.size(), kind.has_return_slots() ? positions.size() : 0);
    for (std::size_t k = 0; k < positions.size(); ++k) {
        EXPECT_EQ(list.indices[k], indices[positions[k]]);
        if (kind.has_return_slots()) {
            EXPECT_EQ(list.return_slots[k], positions[k]);
        }
        for (std::size_t b = 0; b < kind.value_bytes(); ++b)
            EXPECT_EQ(list.values[k * kind.value_bytes() + b],
                      values[positions[k] * kind.value_bytes() + b]);
    }
    for (std::size_t b = 0; b < alignment; ++b)
        EXPECT_EQ(buffer.data()[message.num_bytes() + b], std::byte{77});
}

TEST(RequestLayout, IsReadAsItWasWritten) {
    const auto characters = make_update_operation<char>(sum());
    const auto numbers = make_update_operation<double>(sum());
    const std::vector<std::vector<position_range>> all_ranges{
        {}, {{0, 1}}, {{3, 2}}, {{0, 10}}, {{1, 3}, {5, 1}, {8, 2}}};
    for (const auto& ranges : all_ranges) {
        for (const auto strategy : {combining::sort, combining::envelope_hash}) {
            const combining_options options{strategy, true, true};
            SCOPED_TRACE(to_string(strategy) + " " + std::to_string(ranges.size()));
            for (const auto& kind :
                 {request_traits{options, nullptr, 8}, request_traits{options, &characters, 0},
                  request_traits{options, &numbers, 0}}) {
                expect_round_trip<std::uint32_t>(kind, ranges);
                expect_round_trip<std::uint64_t>(kind, ranges);
            }
        }
    }
}

TEST(RequestLayout, PadsEveryPartToTheLargestAlignment) {
    const auto characters = make_update_operation<char>(sum());
    const request_traits reads{{combining::envelope_sort, true, true}, nullptr, 8};
    const request_traits updates{{}, &characters, 0};

    EXPECT_EQ(request_layout<std::uint32_t>(reads, 0).num_bytes(), 0);
    EXPECT_EQ(request_layout<std::uint32_t>(reads, 1).num_bytes(), 2 * alignment);
    EXPECT_EQ(request_layout<std::uint32_t>(updates, 1).num_bytes(), 2 * alignment);
    EXPECT_EQ(request_layout<std::uint64_t>(updates, alignment).num_bytes(), 9 * alignment);
}

TEST(ReplyMessage, HasReturnSlotsWhereTheRequestsHadThem) {
    const std::vector<position_t> slots{7, 0, 4};
    const request_traits in_order{{}, nullptr, 8};
    const request_traits by_slots{{combining::envelope_sort, true, true}, nullptr, 8};
    const reply_layout without(in_order, 3);
    const reply_layout with(by_slots, 3);
    const raw_buffer buffer(with.num_bytes());

    EXPECT_EQ(without.values_begin(), 0);
    EXPECT_EQ(without.num_bytes(), 24);
    EXPECT_TRUE(without.return_slots(buffer.data()).empty());

    EXPECT_EQ(with.values_begin() % alignment, 0);
    EXPECT_EQ(with.num_bytes(), with.values_begin() + 24);
    with.encode_return_slots(slots, buffer.data());
    const auto read = with.return_slots(buffer.data());
    EXPECT_EQ(std::vector<position_t>(read.begin(), read.end()), slots);
}

}  // namespace
}  // namespace crossdock::request_layout_test
