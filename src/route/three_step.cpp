#include <algorithm>
#include <limits>

#include "grid_shape.hpp"
#include "members.hpp"
#include "routes.hpp"

namespace crossdock {

namespace {

// Inside the source region to the member that speaks with the destination region; across; inside the destination
// region.
//
// Between two regions goes at most one message. Which members speak is agreed inside the regions when a plan is
// compiled, so that the items each member sends and receives across are balanced (`balance`). Items for the own region
// go straight to their destination in the first stage.
//
//     "2x2", ranks 0 and 1 to ranks 2 and 3, 1 sends and 2 receives across:
//         0 -> 1      1 -> 2      2 -> 3
//         stage 0     stage 1     stage 2
//
// Regions that agreed on nothing speak by number: in region A, member B mod |A| sends to region B and receives from it.
// Of `three_step:K` at most K members of a region speak, by number the first K: fewer wait for messages from other
// nodes, and each carries more.
//
// Source: \cite bienz2019node and \cite collom2023neighbor, which shares a region's messages out over its members such
// that each has few of them if they are short, and equally many bytes if they are long. Differs: both are one measure
// (`balance_messages`); sender and receiver are chosen apart.
class three_step_route final : public route {
  public:
    three_step_route(const std::string& name, const topology& regions, rank_t max_leaders)
        : route(name, regions), max_leaders_(max_leaders) {}

    int num_stages() const override { return 3; }
    cost_trace trace() const override { return cost_trace::leaders; }
    rank_t max_leaders() const override { return max_leaders_; }

    rank_t next_hop(rank_t here, rank_t destination, int stage,
                    const leader_table& leaders) const override {
        const region_t from = regions().region_of(here);
        const region_t to = regions().region_of(destination);
        if (stage == 2 || from == to) return destination;
        const auto& agreed = stage == 0 ? leaders.senders : leaders.receivers;
        if (const auto entry = agreed.find(to); entry != agreed.end()) return entry->second;
        return stage == 0 ? leader_by_number(from, to) : leader_by_number(to, from);
    }

    stage_partners partners(rank_t here, int stage) const override {
        if (stage == 0) return partners_inside(regions(), here);
        if (stage == 1) {
            const auto leaders = spoken_with_by_number(here);
            return {leaders, leaders};
        }
        const region_t region = regions().region_of(here);
        return partners_inside(regions(), here,
                               [&](rank_t local) { return speaks_by_number(region, local); });
    }

    // Any member may receive for its region, but then its items are inside.
    std::optional<stage_partners> certain_partners(rank_t here, int stage) const override {
        if (stage != 2) return std::nullopt;
        return partners_inside(regions(), here);
    }

    count_t max_messages_per_rank() const override { return max_messages_by_region(regions()); }

  private:
    // Those of a region that may speak by number.
    rank_t num_leaders(region_t region) const {
        return std::min(max_leaders_, regions().region_size(region));
    }
    rank_t leader_by_number(region_t region, region_t other) const {
        return regions().rank_at(region, other % num_leaders(region));
    }

    // Whether a member of `region` speaks with any other by number: with region `local`, local + n, …
    // where n members speak.
    bool speaks_by_number(region_t region, rank_t local) const {
        const rank_t size = num_leaders(region);
        const rank_t first = local == region ? local + size : local;
        return local < size && first < regions().num_regions();
    }

    // The members of the other regions that `here` speaks with by number, in both directions: two
    // regions speak through one pair of members.
    std::vector<rank_t> spoken_with_by_number(rank_t here) const {
        const region_t region = regions().region_of(here);
        const rank_t local = regions().local_rank(here);
        std::vector<rank_t> leaders;
        if (!speaks_by_number(region, local)) return leaders;
        for (region_t other = local; other < regions().num_regions();
             other += num_leaders(region)) {
            if (other != region) leaders.push_back(leader_by_number(other, region));
        }
        std::ranges::sort(leaders);
        return leaders;
    }

    rank_t max_leaders_;
};

}  // namespace

std::unique_ptr<route> make_three_step(std::string_view parameters, const topology& regions) {
    const std::string name = "three_step" + std::string(parameters);
    const rank_t max_leaders = parameters.empty() ? std::numeric_limits<rank_t>::max()
                                                  : parse_positive(parameters.substr(1), name);
    if (!has_regions_of_ranks(regions)) return make_one_hop(name, regions);
    return std::make_unique<three_step_route>(name, regions, max_leaders);
}

std::vector<std::string> three_step_candidates(const topology& regions, bool shares_cores) {
    if (!has_regions_of_ranks(regions)) return {};
    std::vector<std::string> names{"three_step"};
    if (shares_cores) names.emplace_back("three_step:1");
    return names;
}

}  // namespace crossdock
