#include "src/executor/shared_memory_schedule.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>
#include <string>

#include "crossdock/plan.hpp"
#include "src/executor/schedule_wire.hpp"
#include "support/arrivals.hpp"
#include "support/patterns.hpp"
#include "support/routes.hpp"
#include "support/schedules.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::shared_memory_schedule_test {
namespace {

using test::schedule_world;
using test::schedules;

constexpr count_t no_limit = std::numeric_limits<int>::max();

// Sums of `rough` depend on the order of their terms, those of `whole` do not.
struct two_values {
    double whole;
    double rough;
    friend bool operator==(const two_values&, const two_values&) = default;
};

constexpr two_values untouched{-1, -1};

two_values value_of(rank_t rank, count_t index, int exchange) {
    const double whole = 1 + exchange * 1000 + rank * 100 + static_cast<double>(index);
    return {whole, (rank % 3 == 0 ? 1e9 : 1.0) / whole};
}

std::vector<two_values> values_of(rank_t rank, count_t num_values, int exchange) {
    std::vector<two_values> values;
    for (count_t i = 0; i < num_values; ++i) values.push_back(value_of(rank, i, exchange));
    return values;
}

void add(std::byte* to, const std::byte* from, const copy_list& list) {
    auto sum = [](const two_values& a, const two_values& b) {
        return two_values{a.whole + b.whole, a.rough + b.rough};
    };
    combine_items(reinterpret_cast<two_values*>(to), reinterpret_cast<const two_values*>(from),
                  list, sum);
}

// The outputs of all ranks of a number of exchanges: outputs[exchange][rank].
using all_outputs = std::vector<std::vector<std::vector<two_values>>>;

// Runs exchanges in a random order of events. One rank may get as far ahead of the others as the
// protocol permits.
class drawn_run {
  public:
    drawn_run(const schedules& work, const topology& nodes, all_outputs inputs, all_outputs outputs,
              std::uint64_t seed)
        : world_(work, nodes, sizeof(two_values)),
          inputs_(std::move(inputs)),
          outputs_(std::move(outputs)),
          num_done_(work.size()),
          random_(seed) {}

    // Empty if ranks wait for each other forever.
    all_outputs run() {
        std::size_t num_left = num_done_.size();
        int num_steps = 0;
        while (num_left > 0) {
            if (++num_steps > 1'000'000) return {};
            if (random_() % 4 == 0) favoured_ = random_() % num_done_.size();
            if (step(favoured_)) --num_left;
        }
        return std::move(outputs_);
    }

  private:
    // True if the rank has done its last exchange.
    bool step(std::size_t r) {
        if (num_done_[r] == inputs_.size()) return false;
        auto& rank = world_.rank(static_cast<rank_t>(r));
        auto& input = inputs_[num_done_[r]][r];
        auto& output = outputs_[num_done_[r]][r];
        if (!rank.is_active()) {
            rank.start(reinterpret_cast<const std::byte*>(input.data()),
                       reinterpret_cast<std::byte*>(output.data()), &add);
            return false;
        }
        if (!rank.test(static_cast<int>(random_() % 3))) return false;
        std::fill(input.begin(), input.end(), untouched);  // nobody reads it any more
        return ++num_done_[r] == inputs_.size();
    }

    schedule_world world_;
    all_outputs inputs_;
    all_outputs outputs_;
    std::vector<std::size_t> num_done_;  // exchanges, by rank
    std::mt19937_64 random_;
    std::size_t favoured_ = 0;
};

struct division {
    topology nodes;
    count_t max_part_items;
    count_t items_per_stripe = 0;
};

topology alone(rank_t num_ranks) { return topology::from_string(std::to_string(num_ranks) + "x1"); }

std::vector<topology> divisions_into_nodes(rank_t num_ranks) {
    std::vector<region_t> pairs, alternating, first_alone, uneven;
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        pairs.push_back(rank / 2);
        alternating.push_back(rank % 2);
        first_alone.push_back(rank == 0 ? 0 : 1);
        uneven.push_back(rank % 4 == 3 ? 1 : rank / 4 * 2);
    }
    std::vector<topology> result{topology::one_region(num_ranks), alone(num_ranks)};
    for (const auto& regions : {pairs, alternating, first_alone, uneven})
        result.push_back(topology::from_regions(regions));
    return result;
}

// All divisions, with parts of every length, and with and without stripes.
std::vector<division> all_divisions(rank_t num_ranks) {
    std::vector<division> result;
    for (const auto& nodes : divisions_into_nodes(num_ranks)) {
        for (const count_t max_part_items : {count_t{1}, count_t{3}, no_limit}) {
            for (const count_t items_per_stripe : {0, 1, 2})
                result.push_back({nodes, max_part_items, items_per_stripe});
        }
    }
    return result;
}

class Schedules : public testing::TestWithParam<rank_t> {
  protected:
    static constexpr int num_exchanges = 4;

    const rank_t num_ranks = GetParam();

    // Exchanges[e][rank], with as many values as the rank has items or slots.
    all_outputs values(const std::vector<pattern>& patterns, count_t pattern::*num) const {
        all_outputs result;
        for (int e = 0; e < num_exchanges; ++e) {
            auto& all = result.emplace_back();
            for (const auto& p : patterns) all.push_back(values_of(p.rank, p.*num, e));
        }
        return result;
    }

    all_outputs forward(const std::vector<plan>& plans, const std::vector<pattern>& patterns,
                        const division& d) {
        auto slots = values(patterns, &pattern::num_slots);
        for (auto& all : slots) {
            for (auto& array : all) std::fill(array.begin(), array.end(), untouched);
        }
        const auto work = test::build_schedules(plans, &forward_task_graph, d.nodes,
                                                d.max_part_items, d.items_per_stripe);
        return drawn_run(work, d.nodes, values(patterns, &pattern::num_items), slots, ++seed_)
            .run();
    }

    all_outputs reverse(const std::vector<plan>& plans, const std::vector<pattern>& patterns,
                        const division& d) {
        const auto work = test::build_schedules(plans, &reverse_task_graph, d.nodes,
                                                d.max_part_items, d.items_per_stripe);
        return drawn_run(work, d.nodes, values(patterns, &pattern::num_slots),
                         values(patterns, &pattern::num_items), ++seed_)
            .run();
    }

    all_outputs expected_slots(const std::vector<pattern>& patterns) const {
        all_outputs result;
        for (int e = 0; e < num_exchanges; ++e) {
            auto& all = result.emplace_back();
            for (const auto& p : patterns) {
                auto& slots = all.emplace_back(static_cast<std::size_t>(p.num_slots), untouched);
                for (const auto& a : test::arrivals(patterns, p.rank))
                    slots[static_cast<std::size_t>(a.slot)] = value_of(a.source, a.item, e);
            }
        }
        return result;
    }

    void expect_whole_sums(const all_outputs& items, const std::vector<pattern>& patterns) const {
        ASSERT_EQ(items.size(), std::size_t{num_exchanges});
        auto expected = values(patterns, &pattern::num_items);
        for (int e = 0; e < num_exchanges; ++e) {
            const auto exchange = static_cast<std::size_t>(e);
            for (const auto& p : patterns) {
                for (const auto& a : test::arrivals(patterns, p.rank)) {
                    expected[exchange][static_cast<std::size_t>(a.source)]
                            [static_cast<std::size_t>(a.item)]
                                .whole += value_of(p.rank, a.slot, e).whole;
                }
            }
            for (std::size_t rank = 0; rank < patterns.size(); ++rank) {
                for (std::size_t i = 0; i < expected[exchange][rank].size(); ++i) {
                    ASSERT_EQ(items[exchange][rank][i].whole, expected[exchange][rank][i].whole);
                }
            }
        }
    }

  private:
    std::uint64_t seed_ = 0;
};

// Each plan is run with three of the divisions, so that every route and pattern is run with them
// all.
TEST_P(Schedules, BringEveryItemAndEverySumHoweverRanksShareMemory) {
    const auto divisions = all_divisions(num_ranks);
    std::size_t next = 0;
    for (const auto& regions : test::conformance_topologies(num_ranks)) {
        for (const auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
            const auto expected = expected_slots(patterns);
            for (const auto& route : test::conformance_routes()) {
                const auto plans = compile(regions, patterns, *make_route(route, regions));
                const auto reference = reverse(plans, patterns, {alone(num_ranks), no_limit});
                ASSERT_NO_FATAL_FAILURE(expect_whole_sums(reference, patterns));
                for (int i = 0; i < 3; ++i) {
                    const auto& d = divisions[next++ % divisions.size()];
                    SCOPED_TRACE(route + "/" + name + "/" + regions.to_string() + ", nodes " +
                                 d.nodes.to_string() + ", parts of " +
                                 std::to_string(d.max_part_items) + ", stripes of " +
                                 std::to_string(d.items_per_stripe));

                    ASSERT_EQ(forward(plans, patterns, d), expected);
                    ASSERT_EQ(reverse(plans, patterns, d), reference);
                }
            }
        }
    }
}

// Runs of five items each. A message then consists of runs of several ranks, and of some runs only
// a part is delivered where they arrive.
TEST_P(Schedules, BringRunsThatAreDividedOnTheWay) {
    std::mt19937 random(static_cast<unsigned>(num_ranks));
    const auto any_rank = [&] {
        return static_cast<rank_t>(random() % static_cast<unsigned>(num_ranks));
    };
    const auto divisions = all_divisions(num_ranks);
    for (int round = 0; round < 40; ++round) {
        test::pattern_builder builder(num_ranks);
        for (int run = 0; run < 3 * num_ranks; ++run) {
            const rank_t source = any_rank();
            const rank_t destination = any_rank();
            const count_t first = 5 * static_cast<count_t>(random() % 3);
            for (count_t item = 0; item < 5; ++item)
                builder.send(source, first + item, destination);
        }
        const auto patterns = builder.take();
        const auto regions = test::conformance_topologies(num_ranks);
        const auto& where = regions[random() % regions.size()];
        const auto plans = compile(where, patterns, *make_route("three_step", where));
        const auto& d = divisions[random() % divisions.size()];
        SCOPED_TRACE(
            fmt::format("round {}, {}, nodes {}", round, where.to_string(), d.nodes.to_string()));

        ASSERT_EQ(forward(plans, patterns, d), expected_slots(patterns));
    }
}

// Rank 1 forwards items of ranks 2 and 3 in one message. What rank 4 needs of it begins in the
// middle of rank 2's items and ends in the middle of rank 3's.
TEST_P(Schedules, BringWhatBeginsInTheMiddleOfAnothersItems) {
    if (num_ranks != 8) return;
    test::pattern_builder builder(num_ranks);
    for (count_t item = 0; item < 5; ++item) builder.send(2, item, 5);
    for (count_t item = 5; item < 10; ++item) builder.send(2, item, 4);
    for (count_t item = 0; item < 5; ++item) builder.send(3, item, 4);
    for (count_t item = 5; item < 10; ++item) builder.send(3, item, 6);
    const auto patterns = builder.take();
    const auto regions = topology::from_string("2x4");
    const auto plans = compile(regions, patterns, *make_route("three_step", regions));

    EXPECT_EQ(forward(plans, patterns, {topology::one_region(8), no_limit}),
              expected_slots(patterns));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Schedules, testing::Values(1, 2, 5, 8),
                         [](const auto& test) { return std::to_string(test.param) + "ranks"; });

// ------------------------------------------------------------------------ small ones, by hand

std::string text_of(const shared_memory_schedule& c, const schedule_step& step) {
    auto text = fmt::format(
        " {} {}:", step.combining < 0 ? "copy" : "combine",
        step.from_buffer == no_buffer ? "input" : std::to_string(step.from_buffer.value()));
    test::for_each_index(
        c, step, [&](count_t from, count_t to) { text += fmt::format(" {}>{}", from, to); });
    return text;
}

std::string text_of(const task_target& target) {
    const int buffer = target.buffer().value();
    switch (target.purpose()) {
        case task_purpose::own_part:
            return fmt::format("part {} of {}", target.part().value(), buffer);
        case task_purpose::foreign_part:
            return fmt::format("arrival counter {} of {}", target.counter().value(), buffer);
        case task_purpose::section:
            return fmt::format("section {} of {}", target.section().value(), buffer);
        default: return "output";
    }
}

std::string text_of(const shared_memory_schedule& c, const schedule_task& task) {
    auto text = text_of(task.target);
    for (const auto& [buffer, section] : c.awaited_by(task))
        text += fmt::format(", awaits {} of {}", section.value(), buffer.value());
    text += ":";
    for (const auto& step : c.steps_of(task)) text += text_of(c, step);
    return text;
}

// Sections and arrival counters are "n of the buffer b".
std::vector<std::string> text_of(const shared_memory_schedule& c) {
    std::vector<std::string> lines;
    for (const auto& part : c.receives) {
        lines.push_back(fmt::format("receive {} from {}", part.num_items, part.peer) +
                        (part.is_in_place
                             ? fmt::format(" to slot {}", part.array_index)
                             : fmt::format(" to {} of {} as section {}", part.slot.value(),
                                           part.buffer.value(), part.section.value())));
    }
    for (const auto& part : c.sends) {
        lines.push_back(fmt::format("send {} to {}", part.num_items, part.peer) +
                        (part.is_in_place ? fmt::format(" from item {}", part.array_index)
                                          : fmt::format(" from {} of {}", part.slot.value(),
                                                        part.buffer.value())) +
                        (part.counter == no_counter
                             ? ""
                             : fmt::format(", filled by {} at arrival counter {}",
                                           part.num_contributors, part.counter.value())));
    }
    for (const auto& task : c.tasks) lines.push_back(text_of(c, task));
    return lines;
}

using lines = std::vector<std::string>;

std::vector<lines> text_of(const std::vector<pattern>& patterns, const char* route,
                           test::make_task_graph way, count_t items_per_stripe = 0) {
    const auto nodes = topology::from_string("2x2");
    std::vector<lines> all;
    for (const auto& one :
         test::build_schedules(compile(nodes, patterns, *make_route(route, nodes)), way, nodes,
                               no_limit, items_per_stripe)) {
        all.push_back(text_of(*one));
    }
    return all;
}

// Rank 0 sends its items a b: a to ranks 2 and 3, b to 3. Rank 1 sends its item c to 3.
std::vector<pattern> three_items() {
    test::pattern_builder builder(4);
    builder.send(0, 0, 2);
    builder.send(0, 0, 3);
    builder.send(0, 1, 3);
    builder.send(1, 0, 3);
    return builder.take();
}

TEST(SharedMemorySchedule, RanksWriteIntoThePartThatAnotherSends) {
    const auto ranks = text_of(three_items(), "three_step", &forward_task_graph);

    EXPECT_EQ(ranks[0], (lines{"send 3 to 2 from 1 of 0, filled by 2 at arrival counter 0",
                               "part 0 of 0: copy input: 0>1 1>2"}));
    EXPECT_EQ(ranks[1], (lines{"arrival counter 0 of 0: copy input: 0>3"}));
    EXPECT_EQ(ranks[2], (lines{"receive 3 from 0 to 0 of 0 as section 0",
                               "output, awaits 0 of 0: copy 0: 0>0"}));
    EXPECT_EQ(ranks[3], (lines{"output, awaits 0 of 0: copy 0: 0>0 1>1 2>2"}));
}

TEST(SharedMemorySchedule, ReverseCombinesInSectionsBeforePartsAreSent) {
    const auto ranks = text_of(three_items(), "three_step", &reverse_task_graph);

    EXPECT_EQ(ranks[0], (lines{"receive 3 from 2 to 0 of 0 as section 0",
                               "output, awaits 0 of 0: combine 0: 0>0 1>1"}));
    EXPECT_EQ(ranks[1], (lines{"output, awaits 0 of 0: combine 0: 2>0"}));
    EXPECT_EQ(ranks[2], (lines{"send 3 to 0 from 3 of 0, filled by 2 at arrival counter 0",
                               "part 0 of 0, awaits 0 of 1: copy input: 0>3 combine 1: 0>3"}));
    EXPECT_EQ(ranks[3], (lines{"arrival counter 0 of 0: copy input: 1>4 2>5",
                               "section 0 of 1: copy input: 0>0"}));
}

TEST(SharedMemorySchedule, RanksOfOneDomainReadEachOthersItemsWithoutAMessage) {
    test::pattern_builder builder(2);
    builder.send(0, 2, 1);
    builder.send(0, 0, 1);
    const auto nodes = topology::one_region(2);
    const auto work =
        test::build_schedules(compile(nodes, builder.take(), *make_route("direct", nodes)),
                              &forward_task_graph, nodes, 1);

    EXPECT_EQ(text_of(*work[0]), (lines{"section 0 of 0: copy input: 0>0 2>1"}));
    EXPECT_EQ(text_of(*work[1]), (lines{"output, awaits 0 of 0: copy 0: 0>1 1>0"}));
    EXPECT_EQ(work[0]->readers, std::vector{buffer_number(1)});
    EXPECT_EQ(work[1]->owners, std::vector{buffer_number(0)});
    EXPECT_TRUE(work[0]->owners.empty());
    EXPECT_TRUE(work[1]->readers.empty());
}

TEST(SharedMemorySchedule, InOneStageThePlacesOfMessagesSaySoMuchAsReferencesAndRequests) {
    for (const rank_t num_ranks : {2, 5, 9}) {
        const auto nodes = topology::one_region(num_ranks);
        for (auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
            for (const bool is_forward : {true, false}) {
                const auto plans = compile(nodes, patterns, *make_route("direct", nodes), {false});
                const auto build = [&](bool by_places) {
                    return test::build_schedules(
                        plans, is_forward ? &forward_task_graph : &reverse_task_graph, nodes,
                        no_limit, 0, by_places);
                };
                const auto asked = build(false);
                const auto placed = build(true);
                for (std::size_t rank = 0; rank < asked.size(); ++rank) {
                    ASSERT_EQ(text_of(*placed[rank]), text_of(*asked[rank])) << name;
                    ASSERT_EQ(placed[rank]->readers, asked[rank]->readers) << name;
                    ASSERT_EQ(placed[rank]->owners, asked[rank]->owners) << name;
                }
            }
        }
    }
}

errc code_of(const std::function<void(shared_memory_schedule_builder&)>& call, rank_t rank) {
    test::pattern_builder builder(2);
    builder.send(0, 0, 1);
    const auto nodes = topology::one_region(2);
    const auto plans = compile(nodes, builder.take(), *make_route("direct", nodes));
    const memory_domain domain(nodes, rank);
    shared_memory_schedule_builder one(
        forward_task_graph(plans[static_cast<std::size_t>(rank)], domain), domain, no_limit);
    return test::thrown_by([&] { call(one); }).code();
}

TEST(SharedMemorySchedule, IsNotBuiltOfMessagesThatNoRankOfTheDomainSends) {
    // Asks for the item that rank 0 would send, before rank 0 has announced it.
    access_request early;
    early.writes = {{counter_number(0), no_buffer, {{slot_number(0), slot_number(0), 1}}}};
    const std::vector<word_message> asked{{1, encode(early)}};

    EXPECT_EQ(code_of([](auto& one) { one.receive_references(0, {}); }, 1), errc::internal);
    EXPECT_EQ(code_of([&](auto& one) { one.receive_access_requests(asked); }, 0), errc::internal);
    const std::vector<std::array<std::int64_t, 2>> no_places(2, {-1, -1});
    EXPECT_EQ(code_of([&](auto& one) { one.receive_places(no_places); }, 1), errc::internal);
}

TEST(SharedMemorySchedule, OthersCarryStripesFromAndToTheBlocksOfAMessagesRanks) {
    test::pattern_builder builder(4);
    for (const count_t item : {0, 1, 2, 3}) builder.send(0, item, 2);

    const auto ranks = text_of(builder.take(), "direct", &forward_task_graph, 2);

    EXPECT_EQ(ranks[0], (lines{"send 2 to 2 from 0 of 0", "part 0 of 0: copy input: 0>0 1>1",
                               "arrival counter 0 of 0: copy input: 2>2 3>3"}));
    EXPECT_EQ(ranks[1], (lines{"send 2 to 3 from 2 of 0, filled by 1 at arrival counter 0"}));
    EXPECT_EQ(ranks[2], (lines{"receive 2 from 0 to 0 of 0 as section 0",
                               "output, awaits 0 of 0: copy 0: 0>0 1>1",
                               "output, awaits 1 of 0: copy 0: 2>2 3>3"}));
    EXPECT_EQ(ranks[3], (lines{"receive 2 from 1 to 2 of 0 as section 1"}));
}

}  // namespace
}  // namespace crossdock::shared_memory_schedule_test
