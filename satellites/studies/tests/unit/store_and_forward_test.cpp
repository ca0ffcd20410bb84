#include "satellites/studies/store_and_forward.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace crossdock::bench::store_and_forward_test {
namespace {

// Of 4 ranks, 0 sends 2 items to 3 and 1 item to 1; 1 sends 4 items to 2.
std::vector<pattern> patterns() {
    std::vector<pattern> result(4);
    for (rank_t rank = 0; rank < 4; ++rank) {
        result[static_cast<std::size_t>(rank)].rank = rank;
        result[static_cast<std::size_t>(rank)].num_ranks = 4;
    }
    const auto send = [&](std::size_t source, std::size_t destination, count_t num_items) {
        std::vector<count_t> items(static_cast<std::size_t>(num_items));
        auto& from = result[source];
        auto& to = result[destination];
        for (auto& item : items) item = from.num_items++;
        from.sends.append(static_cast<rank_t>(destination), items);
        for (auto& item : items) item = to.num_slots++;
        to.receives.append(static_cast<rank_t>(source), items);
    };
    send(0, 1, 1);
    send(0, 3, 2);
    send(1, 2, 4);
    return result;
}

// An operation as text would have it: kind, peer, tag, bytes of the message and copied, pieces, required.
using line =
    std::tuple<operation_kind, rank_t, int, count_t, count_t, count_t, std::vector<std::uint32_t>>;

std::vector<line> lines_of(const schedule& s, rank_t rank) {
    std::vector<line> result;
    const auto operations = s.operations_of(rank);
    for (std::size_t k = 0; k < operations.size(); ++k) {
        const auto& what = operations[k];
        const auto required = s.required_by(rank, k);
        result.emplace_back(what.kind, what.peer, what.tag, what.message_bytes, what.copied_bytes,
                            what.copied_items,
                            std::vector<std::uint32_t>(required.begin(), required.end()));
    }
    return result;
}

constexpr auto copy = operation_kind::copy;
constexpr auto send = operation_kind::send;
constexpr auto receive = operation_kind::receive;

class StoreAndForward : public testing::Test {
  protected:
    topology regions = topology::from_string("4x1");
    schedule work = store_and_forward(patterns(), *make_route("hypercube", regions),
                                      {.item_bytes = 8, .header_bytes = 8});
};

TEST_F(StoreAndForward, ARankPutsItsOwnSubmessagesIntoBuffersAndFormsMessages) {
    EXPECT_EQ(lines_of(work, 0), (std::vector<line>{{copy, -1, 0, 0, 40, 2, {}},
                                                    {send, 2, 0, 24, 24, 1, {0}},
                                                    {send, 1, 1, 16, 16, 1, {1}}}));
}

TEST_F(StoreAndForward, AStageWaitsForAllMessagesOfTheOneBefore) {
    // Rank 3 gets 4 items for 2, and 2 items of its own from there.
    EXPECT_EQ(lines_of(work, 3), (std::vector<line>{{receive, 1, 0, 40, 40, 1, {}},
                                                    {send, 2, 1, 40, 40, 1, {0}},
                                                    {receive, 2, 1, 24, 24, 1, {0}},
                                                    {copy, -1, 0, 0, 24, 1, {1, 2}}}));
}

TEST_F(StoreAndForward, OnOneDimensionMessagesAreThoseOfDirect) {
    const auto direct = store_and_forward(patterns(), *make_route("direct", regions), {8, 0});

    EXPECT_EQ(lines_of(direct, 1), (std::vector<line>{{copy, -1, 0, 0, 32, 1, {}},
                                                      {send, 2, 0, 32, 32, 1, {0}},
                                                      {receive, 0, 0, 8, 8, 1, {0}},
                                                      {copy, -1, 0, 0, 8, 1, {1, 2}}}));
}

}  // namespace
}  // namespace crossdock::bench::store_and_forward_test
