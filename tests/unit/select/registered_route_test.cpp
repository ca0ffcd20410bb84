#include <gtest/gtest.h>

#include "crossdock/plan.hpp"
#include "crossdock/route_choice.hpp"
#include "support/machines.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::registered_route_test {
namespace {

// As `two_step`, but through the last rank of the destination's region, which alone gets messages from
// other regions.
class portal_route final : public route {
  public:
    static std::unique_ptr<route> make(std::string_view, const topology& regions) {
        return std::unique_ptr<route>(new portal_route("portal", regions));
    }

    // No other test has such regions.
    static std::vector<std::string> candidates(const topology& regions, bool shares_cores) {
        if (regions.to_string() != "2x7" || !shares_cores) return {};
        return {"portal"};
    }

    cost_trace trace() const override { return cost_trace::counterparts; }
    int num_stages() const override { return 2; }
    count_t max_messages_per_rank() const override { return regions().num_ranks() - 1; }

    rank_t next_hop(rank_t here, rank_t destination, int stage,
                    const leader_table&) const override {
        const region_t region = regions().region_of(destination);
        if (stage == 1 || regions().region_of(here) == region) return destination;
        return portal_of(region);
    }

    stage_partners partners(rank_t here, int stage) const override {
        stage_partners all;
        const region_t region = regions().region_of(here);
        const bool is_portal = portal_of(region) == here;
        for (rank_t other = 0; other < regions().num_ranks(); ++other) {
            const region_t its = regions().region_of(other);
            const bool is_inside = its == region;
            if (other == here) continue;
            const bool its_portal = portal_of(its) == other;
            if (stage == 0 ? is_inside || its_portal : is_inside && is_portal)
                all.destinations.push_back(other);
            if (stage == 0 ? is_inside || is_portal : is_inside && its_portal)
                all.sources.push_back(other);
        }
        return all;
    }

  private:
    using route::route;

    rank_t portal_of(region_t region) const {
        return regions().rank_at(region, regions().region_size(region) - 1);
    }
};

const route_description portal{"portal", "portal", "through the last rank of a region",
                               &portal_route::make, &portal_route::candidates};

// Every rank sends its item to all ranks of the other region.
std::vector<pattern> to_the_other_region() {
    test::pattern_builder builder(14);
    for (rank_t source = 0; source < 14; ++source) {
        for (rank_t k = 0; k < 7; ++k) builder.send(source, 0, source < 7 ? 7 + k : k);
    }
    return builder.take();
}

// All ranks on one core, on which only sending costs anything: 1 us between regions, 4 us inside.
machine dear_inside() {
    auto m = test::uniform_machine(0, 0, 0);
    for (auto& level : m.levels) level.send_overhead_seconds = 4e-6;
    m.levels[static_cast<std::size_t>(locality_level::network)].send_overhead_seconds = 1e-6;
    m.num_cores = 1;
    return m;
}

TEST(RegisterRoute, MakesItByNameAndChoosesItWhereItIsCheapest) {
    register_route(portal);
    const auto regions = topology::from_string("2x7");
    const auto patterns = to_the_other_region();
    const auto m = dear_inside();

    const auto choice = choose_route(rank_layout(regions), patterns, m, {{8, false}});

    // Each of 14 ranks sends to the other region once, and two portals to six others inside.
    EXPECT_EQ(choice.route(), "portal");
    EXPECT_NEAR(choice.candidates.front().seconds, (14 * 1 + 2 * 6 * 4) * 1e-6, 1e-12);
    const auto plans = compile(regions, patterns, *make_route("portal", regions));
    verify(plans, patterns);
    EXPECT_NEAR(price(rank_layout(regions), plans, m, {8, false}).seconds,
                (14 * 1 + 2 * 6 * 4) * 1e-6, 1e-12);
}

TEST(RegisterRoute, SaysItselfWhereItIsACandidate) {
    const auto last = [](const char* regions, const machine& m) {
        return candidate_routes(topology::from_string(regions), m).back();
    };
    EXPECT_EQ(last("2x7", dear_inside()), "portal");
    EXPECT_NE(last("2x7", default_machine()), "portal");
    EXPECT_NE(last("2x4", dear_inside()), "portal");
}

TEST(RegisterRoute, RefusesANameThatIsTakenAndWhatCannotBeMade) {
    for (const auto& wrong :
         {route_description{"direct", "direct", "", &portal_route::make, nullptr},
          route_description{"none", "none", "", nullptr, nullptr}}) {
        EXPECT_EQ(test::thrown_by([&] { register_route(wrong); }).code(), errc::invalid_argument);
    }
}

}  // namespace
}  // namespace crossdock::registered_route_test
