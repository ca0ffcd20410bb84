#include "src/executor/exchange_layout.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "src/executor/part_order.hpp"
#include "src/executor/reference_resolver.hpp"

namespace crossdock::exchange_layout_test {
namespace {

constexpr int stage = 0;

graph_message message(rank_t peer, count_t first_item, count_t num_items) {
    graph_message result;
    result.peer = peer;
    result.stage = stage;
    result.first_item = first_item;
    result.num_items = num_items;
    return result;
}

graph_message shared(graph_message m) {
    m.is_shared = true;
    return m;
}

graph_message split(graph_message m, int num_stripes) {
    m.num_stripes = num_stripes;
    return m;
}

graph_message in_place(graph_message m, count_t index) {
    m.in_place_index = index;
    return m;
}

// Rank 5 of "2x4", whose domain is ranks 4 to 7.
class ExchangeLayout : public testing::Test {
  protected:
    const topology nodes = topology::from_string("2x4");
    const memory_domain domain{topology::from_string("2x4"), 5};
    const stripe_rule stripes{nodes, 1};
    const buffer_number here = domain.here();
    task_graph work;

    void receive(const graph_message& m) {
        work.incoming.push_back(m);
        work.num_arrived += m.num_items;
    }
    void send(const graph_message& m) {
        work.outgoing.push_back(m);
        work.num_departing += m.num_items;
    }
    exchange_layout layout(count_t max_part_items = 100) const {
        return {work, domain, max_part_items, &stripes};
    }
};

TEST_F(ExchangeLayout, HasSlotsOfArrivedItemsBeforeThoseOfDepartingItems) {
    receive(message(0, 0, 7));
    send(message(1, 0, 5));
    const auto l = layout();

    EXPECT_EQ(l.num_slots(), 12);
    EXPECT_EQ(l.slot_of(arrived_item(6)), slot_number(6));
    EXPECT_EQ(l.slot_of(departing_item(0)), slot_number(7));
    EXPECT_EQ(l.departing_at(slot_number(11)), departing_item(4));
}

TEST_F(ExchangeLayout, CutsLongMessagesIntoParts) {
    receive(message(0, 0, 2));
    receive(message(3, 2, 7));
    const auto l = layout(3);

    ASSERT_EQ(l.incoming().size(), 4U);
    const auto& [of, receiver, last] = l.incoming()[3];
    EXPECT_EQ(of, incoming_number(1));
    EXPECT_EQ(receiver, here);
    EXPECT_EQ(last.source, 3);
    EXPECT_EQ(last.destination, 5);
    EXPECT_EQ(last.first_item, 6);
    EXPECT_EQ(last.part.num_items, 1);
    EXPECT_EQ(last.part.slot, slot_number(8));
    EXPECT_EQ(last.part.section, section_number(3));
    EXPECT_EQ(l.num_sections(), 4);
    EXPECT_FALSE(l.has_message_sections());
}

TEST_F(ExchangeLayout, HasNoSectionForAMessageThatIsReceivedInPlace) {
    receive(in_place(message(0, 0, 4), 20));
    const auto l = layout(3);

    ASSERT_EQ(l.incoming().size(), 2U);
    EXPECT_EQ(l.incoming()[1].received.part.array_index, 23);
    EXPECT_EQ(l.incoming()[1].received.part.section, no_section);
    EXPECT_EQ(l.num_sections(), 0);
}

TEST_F(ExchangeLayout, NumbersTheSectionsThatThisRankReceivesFirst) {
    receive(split(message(0, 0, 4), 2));
    receive(split(message(1, 4, 2), 2));
    send(shared(message(6, 0, 3)));
    const auto l = layout();

    std::vector<section_number> sections;
    std::vector<buffer_number> receivers;
    std::vector<rank_t> peers;
    for (const auto& [of, receiver, received] : l.incoming()) {
        sections.push_back(received.part.section);
        receivers.push_back(receiver);
        peers.push_back(received.part.peer);
    }
    EXPECT_EQ(sections, (std::vector{section_number(0), section_number(2), section_number(1),
                                     section_number(3)}));
    EXPECT_EQ(receivers, (std::vector{here, here + 1, here, here + 1}));
    EXPECT_EQ(peers, (std::vector<rank_t>{0, 1, 1, 2}));
    EXPECT_EQ(l.num_received_sections(), 2);
    EXPECT_EQ(l.section_of(outgoing_number(0)), section_number(4));
    EXPECT_TRUE(l.has_message_sections());
}

TEST_F(ExchangeLayout, HasAnArrivalCounterForEachPartThatOthersSendOrFill) {
    send(message(0, 0, 3));
    send(split(message(1, 3, 4), 2));
    auto l = layout();
    const outgoing_part_number first = l.first_part_of(outgoing_number(1));

    ASSERT_EQ(l.outgoing().size(), 3U);
    EXPECT_EQ(first, outgoing_part_number(1));
    EXPECT_EQ(l.outgoing()[first].sender, here);
    EXPECT_EQ(l.outgoing()[first + 1].sender, here + 1);
    EXPECT_EQ(l.outgoing()[first].sent.part.counter, no_counter);
    EXPECT_EQ(l.outgoing()[first + 1].sent.part.counter, counter_number(0));

    EXPECT_EQ(l.counter_of(first), counter_number(1));
    EXPECT_EQ(l.counter_of(first), counter_number(1));
    EXPECT_EQ(l.counter_of(first + 1), counter_number(0));
    EXPECT_EQ(l.num_counters(), 2);
}

item_reference lies_in(int buffer, int section, count_t slot) {
    return {buffer_number(buffer), section_number(section), false, slot_number(slot)};
}

TEST(ReferenceResolver, FindsEachItemWhereItsRunLies) {
    const std::vector<graph_message> incoming{message(1, 0, 5), message(2, 5, 2)};
    reference_resolver where(incoming);
    where.add(incoming_number(1), arrived_item(5), {lies_in(2, 9, 70), 2});
    where.add(incoming_number(0), arrived_item(0), {lies_in(1, 4, 30), 3});
    where.add(incoming_number(0), arrived_item(3), {lies_in(3, 0, 8), 2});

    const auto at = [&](count_t item) {
        return where.find(arrived_item(item)).at(arrived_item(item));
    };
    EXPECT_EQ(at(6), lies_in(2, 9, 71));
    EXPECT_EQ(at(2), lies_in(1, 4, 32));
    EXPECT_EQ(at(3), lies_in(3, 0, 8));
    EXPECT_EQ(at(4), lies_in(3, 0, 9));
    EXPECT_EQ(at(0), lies_in(1, 4, 30));
    EXPECT_EQ(where.find(arrived_item(1)).end, arrived_item(3));
}

message_part stripe_of(rank_t source, count_t first_item, rank_t peer) {
    message_part result{source, 9, first_item, {}};
    result.part.peer = peer;
    result.part.is_stripe = true;
    return result;
}

TEST(PartOrder, IsThatOfTheMessagesWhereverAStripeIsSentFrom) {
    index_vector<outgoing_part_number, outgoing_part> own;
    own.push_back({buffer_number(0), stripe_of(4, 0, 8)});
    own.push_back({buffer_number(1), stripe_of(4, 5, 9)});
    own.push_back({buffer_number(0), stripe_of(4, 10, 8)});
    shared_memory_schedule work;

    const auto number_of = order_sends(work, own, {stripe_of(3, 5, 8), stripe_of(3, 5, 7)});

    std::vector<rank_t> peers;
    std::vector<bool> are_after_previous;
    for (const auto& part : work.sends) {
        peers.push_back(part.peer);
        are_after_previous.push_back(part.is_after_previous);
    }
    EXPECT_EQ(peers, (std::vector<rank_t>{7, 8, 8, 8}));
    EXPECT_EQ(are_after_previous, (std::vector<bool>{false, false, true, true}));
    EXPECT_EQ(number_of[outgoing_part_number(0)], send_number(2));
    EXPECT_EQ(number_of[outgoing_part_number(2)], send_number(3));
}

TEST(PartOrder, PutsReceivesInSectionsBeforeThoseInPlace) {
    message_part first_in_place{0, 9, 0, {}};
    first_in_place.part.is_in_place = true;
    shared_memory_schedule work;

    order_receives(work, {first_in_place, stripe_of(4, 10, 8), stripe_of(4, 0, 8)});

    EXPECT_EQ(work.num_section_receives, 2);
    EXPECT_TRUE(work.receives[receive_number(2)].is_in_place);
}

}  // namespace
}  // namespace crossdock::exchange_layout_test
