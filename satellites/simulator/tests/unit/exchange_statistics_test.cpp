#include "crossdock/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "crossdock/route.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::exchange_statistics_test {
namespace {

using messages_of_all = std::vector<std::vector<sized_message>>;

// What stands in a bundle besides the messages' own bytes.
constexpr count_t head = 48;
constexpr count_t envelope = 16;

// 0 sends 8 and 4 bytes to the other region, 8 inside its own, and to itself; 3 sends nothing to 1.
const messages_of_all example{{{2, 8}, {3, 4}, {1, 8}, {0, 100}}, {}, {}, {{1, 0}}};

void expect_same(const std::vector<exchange_traffic>& expected, const char* algorithm) {
    EXPECT_EQ(
        count_exchange(topology::from_string("2x2"), example, parse_exchange_algorithm(algorithm)),
        expected)
        << algorithm;
}

TEST(CountExchange, AMessageThatTravelsDirectlyIsOneOfItsOwnBytes) {
    for (const char* algorithm : {"personalized", "nonblocking", "reduce_scatter"})
        expect_same({{3, 20, 2, 12}, {}, {}, {1, 0, 1, 0}}, algorithm);
}

TEST(CountExchange, RmaPutsTheSourceWithEveryMessage) {
    const messages_of_all messages{{{1, 8}, {2, 8}, {2, 8}, {0, 8}}, {{0, 8}}, {}, {}};

    EXPECT_EQ(
        count_exchange(topology::from_string("2x2"), messages, parse_exchange_algorithm("rma")),
        (std::vector<exchange_traffic>{{3, 3 * 16, 2, 2 * 16}, {1, 16, 0, 0}, {}, {}}));
}

TEST(CountExchange, LocalitySendsOneBundleToARegionAndOneToEveryMember) {
    // Rank 2 gets both messages for region 1 and hands one to rank 3, whose own message crosses to
    // rank 1, its counterpart and destination.
    const count_t across = head + 2 * envelope + 12;
    for (const char* algorithm : {"locality_personalized", "locality_nonblocking"}) {
        expect_same({{2, head + envelope + 8 + across, 1, across},
                     {1, head, 0, 0},
                     {1, head + envelope + 4, 0, 0},
                     {2, 2 * head + envelope, 1, head + envelope}},
                    algorithm);
    }
}

TEST(CountExchange, LocalityInsideOneRegionSendsNothingAcross) {
    const auto found = count_exchange(topology::one_region(3), messages_of_all{{{2, 5}}, {}, {}},
                                      parse_exchange_algorithm("locality_nonblocking"));

    EXPECT_EQ(found,
              (std::vector<exchange_traffic>{
                  {2, 2 * head + envelope + 5, 0, 0}, {2, 2 * head, 0, 0}, {2, 2 * head, 0, 0}}));
}

TEST(CountExchange, SharedMemorySendsOneMessageFromEveryNodeToEveryOther) {
    const auto expect = [](count_t limit, const std::vector<exchange_traffic>& expected) {
        EXPECT_EQ(count_exchange(topology::from_string("2x2"), example,
                                 {exchange_method::shared_memory, {}}, limit),
                  expected);
    };
    const count_t back = head + envelope;

    expect(
        8,
        {{1, head + 2 * envelope + 12, 1, head + 2 * envelope + 12}, {}, {1, back, 1, back}, {}});
    expect(7, {{2, 8 + head + 2 * envelope + 4, 2, 8 + head + 2 * envelope + 4},
               {},
               {1, back, 1, back},
               {}});
}

TEST(CountExchange, SharedMemoryInsideOneNodeSendsNothing) {
    const auto found = count_exchange(topology::one_region(3), messages_of_all{{{2, 5}}, {}, {}},
                                      parse_exchange_algorithm("shared_memory"), 1);

    EXPECT_EQ(found, std::vector<exchange_traffic>(3));
}

TEST(CountExchange, RoutedDirectSendsABundleToEveryRank) {
    expect_same({{3, 3 * head + 3 * envelope + 20, 2, 2 * head + 2 * envelope + 12},
                 {3, 3 * head, 2, 2 * head},
                 {3, 3 * head, 2, 2 * head},
                 {3, 3 * head + envelope, 2, 2 * head + envelope}},
                "routed:direct");
}

TEST(CountExchange, RoutedGridCarriesAMessageAtEveryHop) {
    // Stage 0 is across, between 0 and 2 and between 1 and 3; stage 1 inside, where rank 2 hands over
    // what came for 3.
    expect_same({{2, 2 * head + 3 * envelope + 20, 1, head + 2 * envelope + 12},
                 {2, 2 * head, 1, head},
                 {2, 2 * head + envelope + 4, 1, head},
                 {2, 2 * head + envelope, 1, head + envelope}},
                "routed:grid:2x2");
}

TEST(CountExchange, RoutedThreeStepGoesByNumberAsNobodyAgreesOnLeaders) {
    // Ranks 1 and 2 speak for their regions.
    expect_same({{1, head + 3 * envelope + 20, 0, 0},
                 {3, 3 * head + 2 * envelope + 12, 1, head + 2 * envelope + 12},
                 {3, 3 * head + 2 * envelope + 4, 1, head + envelope},
                 {1, head + envelope, 0, 0}},
                "routed:three_step");
}

TEST(CountExchange, ALongMessageTravelsDirectlyAndIsAnnouncedOnTheRoute) {
    const auto found = count_exchange(topology::from_string("2x2"), example,
                                      {exchange_method::routed, "grid:2x2"}, 7);

    EXPECT_EQ(found, (std::vector<exchange_traffic>{
                         {4, 16 + 2 * head + 3 * envelope + 4, 2, 8 + head + 2 * envelope + 4},
                         {2, 2 * head, 1, head},
                         {2, 2 * head + envelope + 4, 1, head},
                         {2, 2 * head + envelope, 1, head + envelope}}));
}

TEST(CountExchange, OneRankSendsNothing) {
    for (const auto& one : registered_exchange_algorithms()) {
        const bool takes_route = one.method == exchange_method::routed;
        const auto algorithm = parse_exchange_algorithm(one.name + (takes_route ? ":grid:2" : ""));

        const auto found =
            count_exchange(topology::one_region(1), messages_of_all{{{0, 8}}}, algorithm);

        EXPECT_EQ(found, std::vector<exchange_traffic>(1)) << one.name;
    }
}

TEST(CountExchange, RefusesWhatNoExchangeTakes) {
    const auto regions = topology::from_string("2x1");
    const auto refuse = [&](const messages_of_all& messages, const char* algorithm) {
        return test::thrown_by(
            [&] { count_exchange(regions, messages, parse_exchange_algorithm(algorithm)); });
    };

    EXPECT_EQ(refuse({{}}, "nonblocking").code(), errc::size_mismatch);
    EXPECT_EQ(refuse({{}, {{2, 8}}}, "nonblocking").code(), errc::rank_out_of_range);
    EXPECT_EQ(refuse({{}, {{-1, 8}}}, "routed:direct").code(), errc::rank_out_of_range);
    EXPECT_EQ(refuse({{{1, -1}}, {}}, "nonblocking").code(), errc::invalid_argument);
    EXPECT_EQ(refuse({{{1, 8}}, {{0, 4}}}, "rma").code(), errc::invalid_argument);
    EXPECT_EQ(refuse({{{0, 8}}, {{0, 4}}}, "rma").code(), errc::invalid_argument);
    EXPECT_EQ(refuse({{{0, 8}}, {{0, 4}}}, "rma_fence").code(), errc::invalid_argument);
    EXPECT_EQ(refuse({{}, {}}, "routed:sideways").code(), errc::unknown_route);
}

// What is asked of every algorithm on many ranks: rank 0 sends to all, the last rank gets from all,
// and every rank sends to a few, drawn with a fixed seed.
messages_of_all skewed_messages(rank_t num_ranks) {
    messages_of_all messages(static_cast<std::size_t>(num_ranks));
    std::mt19937_64 random(1);
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        auto& own = messages[static_cast<std::size_t>(rank)];
        messages.front().push_back({rank, 24});
        own.push_back({num_ranks - 1, 24});
        for (auto i = random() % 20; i > 0; --i) {
            own.push_back(
                {static_cast<rank_t>(random() % static_cast<std::uint64_t>(num_ranks)), 24});
        }
    }
    return messages;
}

constexpr rank_t many_ranks = 1200;

TEST(CountExchange, LocalitySendsOneMessagePerRankAndDestinationRegion) {
    const auto messages = skewed_messages(many_ranks);
    for (const auto& regions : test::conformance_topologies(many_ranks)) {
        const auto found =
            count_exchange(regions, messages, parse_exchange_algorithm("locality_personalized"));

        for (rank_t rank = 0; rank < many_ranks; ++rank) {
            std::set<region_t> destinations;
            for (const auto& message : messages[static_cast<std::size_t>(rank)])
                destinations.insert(regions.region_of(message.destination));
            destinations.erase(regions.region_of(rank));
            ASSERT_EQ(found[static_cast<std::size_t>(rank)].inter_region_messages,
                      std::ssize(destinations))
                << regions.to_string() << ' ' << rank;
        }
    }
}

TEST(CountExchange, RoutedNeverSendsMoreThanItsRoutePromises) {
    const auto messages = skewed_messages(many_ranks);
    for (const auto& regions : test::conformance_topologies(many_ranks)) {
        for (const auto& [name, bound] :
             {std::pair{"grid:35x35", 68}, std::pair{"grid:11x11x10", 29}}) {
            const auto sent =
                summarize(count_exchange(regions, messages, {exchange_method::routed, name}));

            EXPECT_EQ(sent.messages.max, bound) << name << ' ' << regions.to_string();
        }
        for (const auto& entry : registered_routes()) {
            const auto sent = summarize(
                count_exchange(regions, messages, {exchange_method::routed, entry.example}));

            EXPECT_LE(sent.messages.max,
                      make_route(entry.example, regions)->max_messages_per_rank())
                << entry.name << ' ' << regions.to_string();
        }
    }
}

TEST(SummarizeExchangeTraffic, GivesSumMaximumAndMeanOfEveryField) {
    const std::vector<exchange_traffic> per_rank{{3, 20, 2, 12}, {1, 8, 1, 8}};

    const auto found = summarize(per_rank);

    EXPECT_EQ(found,
              (exchange_traffic_summary{{4, 3, 2.0}, {28, 20, 14.0}, {3, 2, 1.5}, {20, 12, 10.0}}));
}

TEST(ReductionWords, AreThoseOfTheCollectiveThatFindsSources) {
    using method = exchange_method;
    for (const auto& one : registered_exchange_algorithms()) {
        const bool counts =
            one.method == method::personalized || one.method == method::locality_personalized;
        const bool has_none = one.method == method::shared_memory || one.method == method::routed;
        const count_t expected = counts                                 ? 1006
                                 : one.method == method::reduce_scatter ? 6000
                                 : has_none                             ? 0
                                                                        : 6;
        EXPECT_EQ(reduction_words({one.method, ""}, 1000), expected) << one.name;
    }
}

}  // namespace
}  // namespace crossdock::exchange_statistics_test
