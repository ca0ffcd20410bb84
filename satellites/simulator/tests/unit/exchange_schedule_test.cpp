#include "crossdock/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "crossdock/simulate.hpp"
#include "satellites/simulator/src/exchange_schedule.hpp"
#include "support/machines.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::exchange_schedule_test {
namespace {

using messages_of_all = std::vector<std::vector<sized_message>>;

constexpr picoseconds ns = 1000;

messages_of_all random_messages(rank_t num_ranks, bool has_one_size) {
    std::mt19937_64 random(1);
    const auto below = [&](rank_t limit) {
        return static_cast<rank_t>(random() % static_cast<std::uint64_t>(limit));
    };
    messages_of_all messages(static_cast<std::size_t>(num_ranks));
    for (auto& list : messages) {
        for (rank_t count = below(6); count > 0; --count)
            list.push_back({below(num_ranks), has_one_size ? 24 : below(100)});
    }
    return messages;
}

// What is sent with tags that are counted.
std::vector<exchange_traffic> traffic_of(const topology& regions, const schedule& s) {
    std::vector<exchange_traffic> sent(static_cast<std::size_t>(s.num_ranks()));
    for (rank_t rank = 0; rank < s.num_ranks(); ++rank) {
        auto& here = sent[static_cast<std::size_t>(rank)];
        for (const auto& what : s.operations_of(rank)) {
            if (what.kind != operation_kind::send || !is_counted(what.tag)) continue;
            ++here.messages;
            here.message_bytes += what.message_bytes;
            if (regions.region_of(rank) == regions.region_of(what.peer)) continue;
            ++here.inter_region_messages;
            here.inter_region_message_bytes += what.message_bytes;
        }
    }
    return sent;
}

TEST(ScheduleOfExchange, SendsWhatIsCounted) {
    for (const char* text : {"1x1", "2x4", "3,5,1,2", "cyclic:4x4"}) {
        const auto regions = topology::from_string(text);
        for (const char* name :
             {"personalized", "nonblocking", "rma", "rma_fence", "locality_personalized",
              "locality_nonblocking", "locality_rma", "reduce_scatter", "shared_memory",
              "routed:direct", "routed:grid:2", "routed:three_step"}) {
            const auto algorithm = parse_exchange_algorithm(name);
            const auto messages =
                random_messages(regions.num_ranks(), takes_one_size_only(algorithm.method));
            for (const count_t limit : {count_t{40}, count_t{1000}}) {
                const auto s = schedule_of_exchange(regions, messages, algorithm, limit);

                EXPECT_EQ(traffic_of(regions, s),
                          count_exchange(regions, messages, algorithm, limit))
                    << text << ' ' << name;
                const auto outcome =
                    simulate(rank_layout(regions), s, test::uniform_machine(1, 10, 1));
                EXPECT_EQ(outcome.slowest > 0, regions.num_ranks() > 1) << text << ' ' << name;
            }
        }
    }
}

// o = 100 and L = 1000: a message takes 1200, its bytes nothing; and 10 for what a search passes.
std::vector<picoseconds> finish(const char* regions_text, const messages_of_all& messages,
                                const char* algorithm) {
    const auto regions = topology::from_string(regions_text);
    const auto s = schedule_of_exchange(regions, messages, parse_exchange_algorithm(algorithm));
    auto m = test::uniform_machine(100, 1000, 0);
    m.matching_seconds = 10e-9;
    return simulate(rank_layout(regions), s, m).finish;
}

picoseconds slowest(const char* regions_text, const messages_of_all& messages,
                    const char* algorithm) {
    return std::ranges::max(finish(regions_text, messages, algorithm));
}

std::vector<picoseconds> finish_of(const char* regions_text, const messages_of_all& messages,
                                   const char* algorithm, const exchange_variant& variant) {
    const auto regions = topology::from_string(regions_text);
    const auto s = schedule_of_variant(regions, messages, parse_exchange_algorithm(algorithm),
                                       variant, 1000, default_machine());
    return simulate(rank_layout(regions), s, test::uniform_machine(100, 1000, 0)).finish;
}

TEST(ScheduleOfExchange, PersonalizedSendsAndReducesMeanwhileInLogarithmicallyManyRounds) {
    const messages_of_all messages{{{3, 8}}, {}, {}, {}};

    // Rank 0 is 100 later in the reduction, which ends for 3 at 2500; what it sent is there by then.
    EXPECT_EQ(slowest("4x1", messages, "personalized"), (100 + 2 * 1200 + 100) * ns);
}

TEST(ScheduleOfExchange, NoMessageSearchesThePostedReceivesOfOthers) {
    // Messages come to rank 0 in the order of their sources, or in the other one.
    const messages_of_all ordered{{}, {{0, 8}}, {{0, 8}}, {{0, 8}}};
    const messages_of_all reversed{{}, {{2, 8}, {3, 8}, {0, 8}}, {{1, 8}, {0, 8}}, {{0, 8}}};

    for (const char* algorithm : {"personalized", "nonblocking"}) {
        const auto none = test::uniform_machine(100, 1000, 0);
        for (const auto& messages : {ordered, reversed}) {
            const auto regions = topology::from_string("4x1");
            const auto s =
                schedule_of_exchange(regions, messages, parse_exchange_algorithm(algorithm));
            EXPECT_EQ(finish("4x1", messages, algorithm),
                      simulate(rank_layout(regions), s, none).finish)
                << algorithm;
        }
    }
}

TEST(ScheduleOfExchange, AReductionThatIsLatePassesTheMessagesThatNobodyHasLookedFor) {
    const messages_of_all messages{std::vector<sized_message>(20, {1, 8}), {{0, 8}}};

    // Rank 0 sends until 2100, last for the reduction, for which it finds a message behind that of rank 1 until 2210.
    // Rank 1 has waited for its own since 200, which comes at 3100, and finds twenty others then.
    EXPECT_EQ(finish("2x1", messages, "personalized"),
              (std::vector<picoseconds>{2310 * ns, (3200 + 20 * 100) * ns}));
}

TEST(ScheduleOfExchange, RanksBeyondAPowerOfTwoAreHelpedBeforeAndAfter) {
    const messages_of_all nothing(6);

    // Ranks 1 and 3 take part for 0 and 2 from 1200 on. Ranks 4 and 5 are earlier, so that in one of the
    // two rounds only the core's time is lost, 100 on either side.
    EXPECT_EQ(slowest("6x1", nothing, "nonblocking"), (3 * 1200 + 200) * ns);
    EXPECT_EQ(slowest("6x1", nothing, "reduce_scatter"), (3 * 1200 + 200) * ns);
}

TEST(ScheduleOfExchange, ALongReductionTakesTwiceAsManyRounds) {
    // 251 + 6 words are more than 2048 bytes, and 250 + 6 are not; known numbers need 6.
    EXPECT_EQ(slowest("251x1", messages_of_all(251), "personalized"), (1 + 7 + 7 + 1) * 1200 * ns);
    EXPECT_EQ(slowest("250x1", messages_of_all(250), "personalized"), (1 + 7 + 1) * 1200 * ns);
    EXPECT_EQ(std::ranges::max(finish_of("251x1", messages_of_all(251), "personalized",
                                         {.knows_num_sources = true})),
              (1 + 7 + 1) * 1200 * ns);
}

TEST(ScheduleOfExchange, WaitsForAnswersAndPartners) {
    const messages_of_all messages{{{1, 8}}, {}};

    // There, back, and one round of the reduction.
    EXPECT_EQ(slowest("2x1", messages, "nonblocking"), 3 * 1200 * ns);
    // Asked and answered, put and acknowledged, and one round of the reduction.
    EXPECT_EQ(slowest("2x1", messages, "rma"), 5 * 1200 * ns);
    EXPECT_EQ(slowest("4x1", messages_of_all(4), "routed:hypercube"), 2 * 1200 * ns);
}

TEST(ScheduleOfExchange, RmaWithFencesAgreesFirstAndAnswersNothing) {
    const messages_of_all messages{{{1, 8}}, {}};

    // The agreement and the barrier. Rank 0 puts until 2500 and is late in the second fence, in which 1 takes the put.
    EXPECT_EQ(finish("2x1", messages, "rma_fence"),
              (std::vector<picoseconds>{3 * 1200 * ns, (3 * 1200 + 100) * ns}));
    EXPECT_EQ(slowest("2x1", {{}, {}}, "rma_fence"), 1200 * ns);
}

TEST(ScheduleOfExchange, RmaByRegionPutsBundlesAndThenGoesOnInside) {
    // Agreement and barrier take two rounds each, until 4800. Rank 0 puts one bundle for 2 and 3, which 2 takes 100
    // before the first round of the second fence is over for it at 6100, and 3 waits for 2 in the second one. Then the
    // members of a region send each other a bundle.
    EXPECT_EQ(finish("2x2", {{{2, 8}, {3, 8}}, {}, {}, {}}, "locality_rma"),
              (std::vector<picoseconds>{8400 * ns, 8400 * ns, 8500 * ns, 8400 * ns}));
}

TEST(ScheduleOfVariant, APersonalizedExchangeInsideSendsToThoseWithMessagesOnly) {
    // Rank 0 sends a bundle to 3, which goes on to 4 alone; on a route all six send to two others.
    const auto regions = topology::from_string("2x3");
    const messages_of_all messages{{{4, 8}}, {}, {}, {}, {}, {}};
    const auto inside = [&](bool is_personalized) {
        const auto s = schedule_of_variant(
            regions, messages, parse_exchange_algorithm("locality_personalized"),
            {.is_personalized_inside = is_personalized}, 1000, default_machine());
        count_t num_messages = 0;
        for (const auto& sent : traffic_of(regions, s)) num_messages += sent.messages;
        return num_messages - 1;
    };

    EXPECT_EQ(inside(true), 1);
    EXPECT_EQ(inside(false), 2 * 3 * 2);
}

TEST(ScheduleOfVariant, APersonalizedExchangeInsideReducesAmongTheMembers) {
    // Two rounds of all four ranks, and one of the members of each region, where nothing is sent.
    EXPECT_EQ(finish_of("2x2", messages_of_all(4), "locality_nonblocking",
                        {.is_personalized_inside = true}),
              std::vector<picoseconds>(4, 3 * 1200 * ns));
    // Of three ranks 1 is asked for help until 1200, finds what 2 has sent, and answers until 2600; twice, as they are
    // the members of the region, too.
    EXPECT_EQ(std::ranges::max(finish_of("1x3", messages_of_all(3), "locality_nonblocking",
                                         {.is_personalized_inside = true})),
              2 * 2600 * ns);
}

TEST(ScheduleOfExchange, RefusesWhatTheCountRefuses) {
    const auto regions = topology::from_string("2x1");
    const auto schedule_for = [&](const messages_of_all& messages, const char* algorithm) {
        const auto fault = test::thrown_by([&] {
            return schedule_of_exchange(regions, messages, parse_exchange_algorithm(algorithm));
        });
        return fault.code();
    };

    EXPECT_EQ(schedule_for({{}}, "nonblocking"), errc::size_mismatch);
    EXPECT_EQ(schedule_for({{{2, 8}}, {}}, "nonblocking"), errc::rank_out_of_range);
    EXPECT_EQ(schedule_for({{{1, 8}}, {{0, 4}}}, "rma"), errc::invalid_argument);
}

}  // namespace
}  // namespace crossdock::exchange_schedule_test
