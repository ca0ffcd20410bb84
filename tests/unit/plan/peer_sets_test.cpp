#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "crossdock/plan.hpp"
#include "src/plan/place_ranks.hpp"
#include "src/plan/planning_rounds.hpp"
#include "support/patterns.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::peer_sets_test {
namespace {

struct first_compilation {
    std::vector<plan> plans;
    std::vector<peer_sets> peers;
};

first_compilation compile_and_keep_peers(const topology& regions, const route& r,
                                         const std::vector<pattern>& patterns,
                                         const compile_options& options) {
    std::vector<plan_compiler> ranks;
    for (const auto& p : patterns) ranks.emplace_back(regions, p, r, options).keep_peers();
    run_planning_rounds(ranks, [](int, const auto&) {});
    first_compilation result{finish_all(ranks), {}};
    for (const auto& rank : ranks) result.peers.push_back(rank.peers());
    return result;
}

// Every rank hears from exactly the peers that the peers are.
std::vector<plan> compile_along(const std::vector<peer_sets>& peers, const topology& regions,
                                const route& r, const std::vector<pattern>& patterns,
                                const compile_options& options) {
    std::vector<plan_compiler> ranks;
    for (std::size_t p = 0; p < patterns.size(); ++p)
        ranks.emplace_back(regions, patterns[p], r, options, peers[p]);
    run_planning_rounds(ranks, [&](int stage, const auto& inboxes) {
        for (std::size_t p = 0; p < inboxes.size(); ++p) {
            std::vector<rank_t> sources;
            for (const auto& message : inboxes[p]) sources.push_back(message.peer);
            EXPECT_EQ(sources, peers[p].stages[static_cast<std::size_t>(stage)].sources);
        }
    });
    return finish_all(ranks);
}

// Other items between the same neighbors, none between some of them.
std::vector<pattern> with_other_items(const std::vector<pattern>& patterns, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    test::pattern_builder builder(static_cast<rank_t>(patterns.size()));
    for (const auto& p : patterns) {
        for (const rank_t destination : p.sends.ranks) {
            for (auto n = random() % 4; n > 0; --n)
                builder.send(p.rank, static_cast<count_t>(random() % 12), destination);
        }
    }
    return builder.take();
}

class PeerSets : public testing::TestWithParam<std::string> {
  protected:
    template <class Check>
    void for_all_cases(Check check) {
        for (const rank_t num_ranks : {1, 3, 8, 13}) {
            for (const auto& regions : test::conformance_topologies(num_ranks)) {
                const auto r = make_route(GetParam(), regions);
                for (const auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
                    for (const bool deduplicate : {true, false}) {
                        SCOPED_TRACE(regions.to_string() + " " + name);
                        check(regions, *r, patterns, compile_options{deduplicate});
                    }
                }
            }
        }
    }
};

TEST_P(PeerSets, KeepingItDoesNotChangeThePlan) {
    for_all_cases(
        [](const auto& regions, const auto& r, const auto& patterns, const auto& options) {
            const auto placed = r.wants_places() ? place_ranks(patterns, r, options) : nullptr;
            const route& taken = placed ? *placed : r;
            EXPECT_EQ(compile_and_keep_peers(regions, taken, patterns, options).plans,
                      compile(regions, patterns, r, options));
        });
}

TEST_P(PeerSets, TheSamePatternGetsTheSamePlan) {
    for_all_cases(
        [](const auto& regions, const auto& r, const auto& patterns, const auto& options) {
            const auto first = compile_and_keep_peers(regions, r, patterns, options);
            EXPECT_EQ(compile_along(first.peers, regions, r, patterns, options), first.plans);
        });
}

TEST_P(PeerSets, OtherItemsOfTheSameNeighborsArriveExactlyOnce) {
    for_all_cases(
        [](const auto& regions, const auto& r, const auto& patterns, const auto& options) {
            const auto first = compile_and_keep_peers(regions, r, patterns, options);
            for (const std::uint64_t seed : {1u, 2u}) {
                const auto changed = with_other_items(patterns, seed);
                EXPECT_NO_THROW(
                    verify(compile_along(first.peers, regions, r, changed, options), changed));
            }
        });
}

TEST_P(PeerSets, OtherItemsInTheSameNumbersGetThePlanCompiledFromTheStart) {
    const auto regions = topology::from_string("2x4");
    const auto r = make_route(GetParam(), regions);
    auto patterns = test::all_to_all_pattern(8);
    const auto first = compile_and_keep_peers(regions, *r, patterns, {});
    for (auto& p : patterns) std::ranges::reverse(p.sends.indices);

    EXPECT_EQ(compile_along(first.peers, regions, *r, patterns, {}),
              compile(regions, patterns, *r));
}

TEST_P(PeerSets, ANewNeighborIsRefused) {
    const auto regions = topology::from_string("2x4");
    const auto r = make_route(GetParam(), regions);
    const auto first = compile_and_keep_peers(regions, *r, test::ring_pattern(8), {});
    const auto changed = test::all_to_all_pattern(8);

    const error fault =
        test::thrown_by([&] { plan_compiler(regions, changed[3], *r, {}, first.peers[3]); });

    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_EQ(fault.rank(), 3);
    EXPECT_STREQ(fault.what(),
                 "rank 3 sends to rank 0, which was none of its neighbors when the first "
                 "plan was compiled");
}

INSTANTIATE_TEST_SUITE_P(Routes, PeerSets, testing::ValuesIn(test::conformance_routes()),
                         [](const auto& instance) { return test::test_name(instance.param); });

}  // namespace
}  // namespace crossdock::peer_sets_test
