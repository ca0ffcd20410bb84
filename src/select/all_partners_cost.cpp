#include "all_partners_cost.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "../base/throw_error.hpp"
#include "../route/grid_shape.hpp"
#include "crossdock/detail/base/picoseconds.hpp"
#include "crossdock/price.hpp"

namespace crossdock {

namespace {

// How many ranks and regions there are, and how they differ.
struct region_sizes {
    rank_t num_ranks;
    region_t num_regions;
    rank_t smallest;
    rank_t largest;
    bool are_blocks;  // consecutive ranks, as many in each region
};

// To and from ranks that are equally far, in one stage.
struct partner_messages {
    locality_level level;
    count_t num_sent;      // by the slowest rank
    count_t num_received;  // by the slowest rank
    double mean;           // messages that a rank sends
    double share;          // of a rank's items, in each message
};

using all_partners_stage = std::vector<partner_messages>;

struct cost_row {
    std::string route;
    std::vector<all_partners_stage> stages;
    bool is_for_shared_cores = false;
};

double share_of(count_t num_parts) { return 1.0 / static_cast<double>(num_parts); }

partner_messages to_all(locality_level level, count_t num_others, double share) {
    return {level, num_others, num_others, static_cast<double>(num_others), share};
}
partner_messages to_members(const region_sizes& all, count_t num_parts) {
    return to_all(locality_level::region, all.largest - 1, share_of(num_parts));
}

// To the counterparts in other regions: in a small region one is that of several ranks of a large
// one.
partner_messages to_counterparts(const region_sizes& all, count_t num_sent, count_t num_received,
                                 double share) {
    const count_t num_alike = (all.largest - 1) / all.smallest + 1;
    return {locality_level::network, num_sent, num_received * num_alike,
            static_cast<double>(num_sent), share};
}

cost_row direct_row(const region_sizes& all) {
    const double share = share_of(all.num_ranks);
    return {"direct",
            {{to_all(locality_level::region, all.smallest - 1, share),
              to_all(locality_level::network, all.num_ranks - all.smallest, share)}}};
}

cost_row two_step_row(const region_sizes& all) {
    const count_t num_others = all.num_regions - 1;
    return {"two_step",
            {{to_members(all, all.num_ranks),
              to_counterparts(all, num_others, num_others, share_of(all.num_regions))},
             {to_members(all, all.largest)}}};
}

// Members speak by number, as where nothing is agreed; those who speak hand out what they got.
// @param max_leaders  of a region that speak with others
cost_row three_step_row(std::string_view route, const region_sizes& all, rank_t max_leaders) {
    const count_t num_others = all.num_regions - 1;
    const rank_t fewest_leaders = std::min(max_leaders, all.smallest);
    const double speaking_share = all.largest * share_of(all.num_regions);
    auto speaking =
        to_all(locality_level::network,
               std::min<count_t>(num_others, num_others / fewest_leaders + 1), speaking_share);
    speaking.mean = static_cast<double>(num_others) * share_of(all.largest);
    const count_t num_leaders = std::min<count_t>(std::min(max_leaders, all.largest), num_others);
    auto handing_out = to_members(all, all.largest);
    handing_out.num_received = std::min<count_t>(num_leaders, handing_out.num_sent);
    handing_out.mean *= static_cast<double>(num_leaders) * share_of(all.largest);
    return {std::string(route), {{to_members(all, all.largest)}, {speaking}, {handing_out}}};
}

// Of the slowest cell in one dimension of a `block_grid`.
struct grid_stage {
    count_t num_sent;
    count_t num_received;
    rank_t
        block;  // cells that are cut into num_parts; 0 if not all such blocks are equal, or their parts
    rank_t num_parts;
};

std::vector<grid_stage> stages_of_grid(rank_t num_cells, int num_dimensions) {
    std::vector<grid_stage> stages;
    rank_t smallest = num_cells;
    rank_t largest = num_cells;
    for (const rank_t k : balanced_shape(num_cells, num_dimensions)) {
        const count_t num_siblings = std::min(k, largest) - 1;
        // The first cell of a block is next for two of each sibling that is larger by one.
        const count_t num_larger = smallest < k ? 0 : std::max(smallest % k, largest % k);
        const bool are_equal = smallest == largest && smallest % k == 0;
        stages.push_back({num_siblings, num_siblings + num_larger, are_equal ? smallest : 0, k});
        smallest /= k;
        largest = (largest - 1) / k + 1;
    }
    return stages;
}

cost_row locality_row(const region_sizes& all, int num_dimensions) {
    cost_row row{"locality:" + std::to_string(num_dimensions), {}};
    for (const auto& [num_sent, num_received, block, k] :
         stages_of_grid(all.num_regions, num_dimensions))
        row.stages.push_back({to_counterparts(all, num_sent, num_received, share_of(k))});
    row.stages.push_back({to_members(all, all.largest)});
    return row;
}

// How many of those that a rank sends to are known to be of its region.
count_t num_inside(const region_sizes& all, const grid_stage& stage) {
    if (all.num_regions == 1) return stage.num_sent;
    if (!all.are_blocks || stage.block == 0) return 0;
    if (all.largest % stage.block == 0) return stage.num_sent;
    const rank_t stride = stage.block / stage.num_parts;
    const bool is_aligned = stage.block % all.largest == 0 && all.largest % stride == 0;
    return is_aligned ? all.largest / stride - 1 : 0;
}

cost_row grid_row(const region_sizes& all, int num_dimensions) {
    cost_row row{"grid:" + std::to_string(num_dimensions), {}};
    for (const auto& stage : stages_of_grid(all.num_ranks, num_dimensions)) {
        const double share = share_of(stage.num_parts);
        const count_t num_near = num_inside(all, stage);
        auto near = to_all(locality_level::region, num_near, share);
        auto far = to_all(locality_level::network, stage.num_sent - num_near, share);
        (far.num_sent > 0 ? far : near).num_received += stage.num_received - stage.num_sent;
        row.stages.push_back({near, far});
    }
    return row;
}

int most_dimensions(rank_t num_places) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(num_places - 1)));
}

region_sizes sizes_of(const topology& regions) {
    region_sizes all{regions.num_ranks(), regions.num_regions(), regions.num_ranks(), 1, false};
    for (region_t region = 0; region < all.num_regions; ++region) {
        all.smallest = std::min(all.smallest, regions.region_size(region));
        all.largest = std::max(all.largest, regions.region_size(region));
    }
    const auto placements = regions.placements();
    all.are_blocks = placements.size() == 1 && all.smallest == all.largest &&
                     placements.front().run_length == all.largest;
    return all;
}

std::vector<cost_row> rows_on(const region_sizes& all) {
    std::vector<cost_row> rows{direct_row(all)};
    if (all.num_regions > 1 && all.largest > 1) {
        rows.push_back(two_step_row(all));
        rows.push_back(three_step_row("three_step", all, all.largest));
        rows.push_back(three_step_row("three_step:1", all, 1));
        rows.back().is_for_shared_cores = true;
        for (int n = 1; n <= most_dimensions(all.num_regions); ++n)
            rows.push_back(locality_row(all, n));
    }
    for (int n = 2; n <= most_dimensions(all.num_ranks); ++n) rows.push_back(grid_row(all, n));
    return rows;
}

struct all_partners_price {
    stage_price slowest;
    double handling;   // seconds, by the slowest rank
    double mean_work;  // seconds of a core, per rank
};

all_partners_price price_of(const all_partners_stage& stage, const region_sizes& all,
                            const machine& m, const all_partners_load& load) {
    stage_pricer slowest(m);
    stage_pricer mean(m);
    double node_bytes = 0;
    double num_handled = 0;  // items, by the slowest rank
    double mean_num_handled = 0;
    for (const auto& some : stage) {
        if (some.num_sent == 0) continue;
        const auto num_items =
            static_cast<count_t>(std::llround(some.share * static_cast<double>(load.num_items)));
        const count_t bytes = load.message_bytes + num_items * load.item_bytes;
        slowest.send(some.level, bytes, some.num_sent * num_items,
                     static_cast<double>(some.num_sent));
        slowest.receive(some.level, bytes, static_cast<double>(some.num_received));
        mean.send(some.level, bytes, std::llround(some.mean * static_cast<double>(num_items)),
                  some.mean);
        mean.receive(some.level, bytes, some.mean);
        num_handled += static_cast<double>(some.num_received * num_items);
        mean_num_handled += some.mean * static_cast<double>(num_items);
        if (some.level == locality_level::network)
            node_bytes += all.largest * some.mean * static_cast<double>(bytes);
    }
    return {slowest.price(std::llround(node_bytes)), num_handled * load.seconds_per_item,
            mean.price(0).work() + mean_num_handled * load.seconds_per_item};
}

candidate_price price_of(const cost_row& row, const region_sizes& all, const machine& m,
                         const all_partners_load& load) {
    double seconds = 0;
    double work = 0;
    stage_price sum;
    for (const auto& stage : row.stages) {
        const auto [slowest, handling, mean_work] = price_of(stage, all, m, load);
        seconds += std::max(slowest.work(), slowest.path_of_packed()) + handling;
        work += mean_work + m.time_slice_seconds;
        sum += slowest;
    }
    if (m.num_cores > 0) seconds = std::max(seconds, all.num_ranks * work / m.num_cores);
    return {row.route, to_seconds(to_picoseconds(seconds)), dominating_term(sum)};
}

}  // namespace

struct all_partners_chooser::candidates {
    region_sizes sizes;
    std::vector<cost_row> rows;
};

all_partners_chooser::all_partners_chooser(const topology& regions) {
    const auto sizes = sizes_of(regions);
    all_ = std::make_shared<candidates>(candidates{sizes, rows_on(sizes)});
}

route_choice all_partners_chooser::choose(const machine& m, const all_partners_load& load) const {
    route_choice choice;
    for (const auto& row : all_->rows) {
        if (row.is_for_shared_cores && m.num_cores == 0) continue;
        choice.candidates.push_back(price_of(row, all_->sizes, m, load));
    }
    std::stable_sort(choice.candidates.begin(), choice.candidates.end(),
                     [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    return choice;
}

double all_partners_chooser::seconds(std::string_view route, const machine& m,
                                     const all_partners_load& load) const {
    const auto found = std::find_if(all_->rows.begin(), all_->rows.end(),
                                    [&](const auto& row) { return row.route == route; });
    if (found == all_->rows.end())
        throw_error(errc::unknown_route, "the route {} is not among those priced", route);
    return price_of(*found, all_->sizes, m, load).seconds;
}

}  // namespace crossdock
