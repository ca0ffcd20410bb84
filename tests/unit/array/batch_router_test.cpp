#include "src/array/batch_router.hpp"

#include <gtest/gtest.h>

#include "crossdock/detail/array/write_rule.hpp"

namespace crossdock::batch_router_test {
namespace {

const std::byte* bytes(const std::vector<int>& values) {
    return reinterpret_cast<const std::byte*>(values.data());
}

std::byte* bytes(std::vector<int>& values) { return reinterpret_cast<std::byte*>(values.data()); }

// Rank 0 of two sends to rank 1, which owns entries 4 to 7.
class BatchRouter : public testing::Test {
  protected:
    using requests = batch_router<std::uint32_t>;

    static batch_route routing_of(rank_t rank) {
        return {"direct", topology::one_region(2), block_partition::blocks(8, 2), rank};
    }

    // What one rank would send, packed and taken by the other.
    static raw_buffer pass(const requests& from, requests& to) {
        const auto counts = from.num_requests(0, 0);
        raw_buffer message(static_cast<std::size_t>(from.packed_bytes(counts)));
        from.pack(0, 0, counts, message.data());
        to.take(0, std::vector{counts}, std::vector<const std::byte*>{message.data()});
        return message;
    }

    batch_route at_sender = routing_of(0);
    batch_route at_owner = routing_of(1);
    requests sender{at_sender, std::pmr::new_delete_resource()};
    requests owner{at_owner, std::pmr::new_delete_resource()};
    write_rule write = make_write_rule<int>(overwrite::any, nullptr);
    request_traits writes{{}, write.operation.get(), 0};
    request_traits reads{{}, nullptr, sizeof(int)};
};

TEST_F(BatchRouter, OfAllKindsShareAMessage) {
    const auto add = make_update_operation<int>(sum());
    const request_traits updates{{}, &add, 0};
    for (auto* const one : {&sender, &owner}) {
        const bool is_sender = one == &sender;
        const auto only_sender = [&](std::vector<count_t> indices) {
            return is_sender ? indices : std::vector<count_t>();
        };
        one->start(request_type::write, writes, only_sender({6, 1}), bytes(std::vector{60, 10}));
        one->start(request_type::update, updates, only_sender({6, 5, 6}),
                   bytes(std::vector{1, 50, 2}));
        one->start(request_type::read, reads, only_sender({7, 6, 0, 4, 7}), nullptr);
    }
    EXPECT_EQ(sender.num_held(), 2 + 2 + 4);
    EXPECT_EQ(sender.num_requests(0, 0), (request_counts{1, 2, 3}));
    EXPECT_EQ(owner.num_requests(0, 0), (request_counts{0, 0, 0}));

    const auto message = pass(sender, owner);
    const auto empty_message = pass(owner, sender);
    EXPECT_EQ(owner.changing_offsets(), (std::vector<count_t>{2, 1, 2}));

    // Writes come before updates.
    std::vector<int> entries{4, 5, 6, 7};
    owner.apply(bytes(entries));
    EXPECT_EQ(entries, (std::vector<int>{4, 55, 63, 7}));

    owner.reads().read(bytes(entries));
    std::vector<int> replies(3);
    owner.reads().pack_replies(0, 0, bytes(replies));
    EXPECT_EQ(replies, (std::vector<int>{4, 63, 7}));

    array_statistics counted;
    sender.count(counted);
    EXPECT_EQ(counted.requests, 10);
    EXPECT_EQ(counted.combined_locally, 2);
    EXPECT_EQ(counted.stages[0].sent.messages, 1);
    EXPECT_EQ(counted.stages[0].sent.items, 6);
}

}  // namespace
}  // namespace crossdock::batch_router_test
