#include "src/array/held_requests.hpp"

#include <gtest/gtest.h>

#include "src/array/request_layout.hpp"

namespace crossdock::held_requests_test {
namespace {

using index_list = std::vector<std::uint32_t>;

// Rank 0 of four with two entries each. In stage 0 it keeps what is for ranks 0 and 2, and sends
// what is for ranks 1 and 3 to rank 1.
class HeldRequests : public testing::Test {
  protected:
    held_requests<std::uint32_t> make(const request_traits& kind, std::size_t number) const {
        return {routing, kind, number, std::pmr::new_delete_resource()};
    }

    batch_route routing{"locality", topology::from_string("cyclic:2x2"),
                        block_partition::blocks(8, 4), 0};
};

index_list as_vector(std::span<const std::uint32_t> indices) {
    return {indices.begin(), indices.end()};
}

std::vector<int> ints_at(const std::byte* values, std::size_t count) {
    std::vector<int> result(count);
    if (count > 0) std::memcpy(result.data(), values, count * sizeof(int));
    return result;
}

const std::byte* bytes(const std::vector<int>& values) {
    return reinterpret_cast<const std::byte*>(values.data());
}

TEST_F(HeldRequests, CombinesIndicesAndValuesAndDividesThem) {
    const auto operation = make_update_operation<int>(sum());
    const request_traits updates{{}, &operation, 0};
    const index_list own{7, 0, 5, 2, 7, 0};
    const std::vector<int> values{1, 10, 100, 1000, 10000, 100000};
    auto hop = make(updates, 0);

    hop.take({{own, {}, bytes(values), false}});

    EXPECT_EQ(hop.num_taken(), 6);
    EXPECT_EQ(as_vector(hop.held().indices()), (index_list{0, 2, 5, 7}));
    EXPECT_EQ(ints_at(hop.values(), 4), (std::vector<int>{100010, 1000, 100, 10001}));

    ASSERT_EQ(hop.num_requests(0), 2);
    const request_layout<std::uint32_t> message(updates, 2);
    const raw_buffer buffer(message.num_bytes());
    hop.pack(0, buffer.data());
    const auto sent = message.decode(buffer.data(), true);
    EXPECT_EQ(as_vector(sent.indices), (index_list{2, 7}));
    EXPECT_EQ(ints_at(sent.values, 2), (std::vector<int>{1000, 10001}));

    const auto stayed = hop.stay();
    EXPECT_TRUE(stayed.is_sorted);
    EXPECT_EQ(as_vector(stayed.indices), (index_list{0, 5}));
    EXPECT_EQ(ints_at(stayed.values, 2), (std::vector<int>{100010, 100}));
}

// Replies come to what stayed in two ranges and from rank 1, and go to the requests of two lists.
TEST_F(HeldRequests, SplitsRepliesAsItsListsWereCombined) {
    for (const auto& one : registered_combining()) {
        SCOPED_TRACE(one.name);
        const request_traits reads{{one.strategy, true, true}, nullptr, sizeof(int)};
        const std::vector<index_list> lists{{0, 2, 5}, {5, 7, 2}};
        auto hop = make(reads, 0);
        hop.take({{lists[0], {}, nullptr, false}, {lists[1], {}, nullptr, false}});
        EXPECT_EQ(hop.num_taken(), 6);
        const auto num_sent = hop.num_requests(0);
        const auto stayed = hop.stay();
        const request_layout<std::uint32_t> request(reads, num_sent);
        const raw_buffer sent(request.num_bytes());
        hop.pack(0, sent.data());
        const auto asked = request.decode(sent.data(), false);

        // The reply to a request is ten times its index; with return slots, in reverse order.
        const reply_layout reply(reads, num_sent);
        const raw_buffer replies(reply.num_bytes());
        std::vector<position_t> slots(asked.return_slots.rbegin(), asked.return_slots.rend());
        reply.encode_return_slots(slots, replies.data());
        for (std::size_t k = 0; k < num_sent; ++k) {
            const int value =
                10 * static_cast<int>(asked.indices[slots.empty() ? k : num_sent - 1 - k]);
            std::memcpy(replies.data() + reply.values_begin() + k * sizeof(int), &value,
                        sizeof(int));
        }
        hop.take_stayed_replies([&](std::byte* to) {
            for (const auto index : stayed.indices) {
                const int value = 10 * static_cast<int>(index);
                std::memcpy(to, &value, sizeof(int));
                to += sizeof(int);
            }
        });
        hop.take_replies(0, replies.data());

        for (std::size_t l = 0; l < lists.size(); ++l) {
            const raw_buffer out(3 * sizeof(int));
            hop.copy_replies(l, out.data());
            std::vector<int> expected;
            for (const auto index : lists[l]) expected.push_back(10 * static_cast<int>(index));
            EXPECT_EQ(ints_at(out.data(), 3), expected);
        }
    }
}

TEST_F(HeldRequests, LeavesReadsAsTheyComeAtTheOwner) {
    const request_traits reads{{}, nullptr, sizeof(int)};
    const index_list own{1}, of_others{1, 0};
    auto hop = make(reads, 2);

    hop.take({{own, {}, nullptr, true}, {of_others, {}, nullptr, true}});

    EXPECT_EQ(hop.num_taken(), 3);
    EXPECT_EQ(hop.held().size(), 0);
    EXPECT_EQ(as_vector(hop.lists()[1].indices), of_others);
}

}  // namespace
}  // namespace crossdock::held_requests_test
