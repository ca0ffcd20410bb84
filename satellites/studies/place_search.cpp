#include "place_search.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "src/route/block_grid.hpp"

namespace crossdock {

namespace {

// A rank tries so many for each member of its group, and at most so many.
constexpr count_t tries_with_a_member = 64;
constexpr count_t most_tries_of_a_rank = 2048;
constexpr count_t most_tries = count_t{1} << 22;
constexpr count_t num_sampled = 2048;
// For exchanging regions: how many links between ranks are looked at, at most.
constexpr count_t most_link_visits = count_t{1} << 26;
// The threshold begins at this many eighths of what an exchange changes on average.
constexpr int eighths_of_thresholds[] = {8, 2};

// SplitMix64 of Steele, Lea and Flood.
class random_numbers {
  public:
    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }

  private:
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    std::uint64_t state_ = 0;
};

// The items between two ranks, both ways.
struct link {
    std::size_t other;
    count_t num_items;
};

// Of each rank its links, ascending.
class link_table {
  public:
    link_table(std::size_t num_ranks, std::span<const rank_traffic> traffic) : links_(num_ranks) {
        for (const auto& [source, destination, num_items] : traffic) {
            if (source == destination || num_items == 0) continue;
            const auto a = static_cast<std::size_t>(source);
            const auto b = static_cast<std::size_t>(destination);
            links_[a].push_back({b, num_items});
            links_[b].push_back({a, num_items});
            is_empty_ = false;
        }
        for (auto& links : links_) {
            std::ranges::sort(links, {}, &link::other);
            std::vector<link> joined;
            for (const link& one : links) {
                if (joined.empty() || joined.back().other != one.other) {
                    joined.push_back(one);
                } else {
                    joined.back().num_items += one.num_items;
                }
            }
            links = std::move(joined);
        }
    }

    bool empty() const { return is_empty_; }
    std::span<const link> of(std::size_t rank) const { return links_[rank]; }

    count_t between(std::size_t a, std::size_t b) const {
        const auto links = of(a);
        const auto found = std::ranges::lower_bound(links, b, {}, &link::other);
        return found != links.end() && found->other == b ? found->num_items : 0;
    }

  private:
    bool is_empty_ = true;
    std::vector<std::vector<link>> links_;
};

// The coordinates of all places, in the dimensions that tell places apart. Those of dimension d are
// numbered from where those of d - 1 end, so that each names a column.
class coordinate_table {
  public:
    coordinate_table(std::size_t num_places, std::span<const int> shape) {
        const block_grid grid(static_cast<int>(num_places), shape);
        std::vector<std::vector<std::size_t>> of_dimension;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            std::vector<std::size_t> of_place(num_places);
            std::size_t end = 0;
            for (std::size_t place = 0; place < num_places; ++place) {
                of_place[place] = static_cast<std::size_t>(
                    grid.coordinate(static_cast<int>(place), static_cast<int>(d)));
                end = std::max(end, of_place[place] + 1);
            }
            if (end < 2) continue;
            for (auto& coordinate : of_place) coordinate += num_columns_;
            num_columns_ += end;
            of_dimension.push_back(std::move(of_place));
        }
        num_dimensions_ = of_dimension.size();
        coordinates_.reserve(num_places * num_dimensions_);
        for (std::size_t place = 0; place < num_places; ++place) {
            for (const auto& of_place : of_dimension) coordinates_.push_back(of_place[place]);
        }
    }

    std::size_t num_dimensions() const { return num_dimensions_; }
    std::size_t num_columns() const { return num_columns_; }

    const std::size_t* of(std::size_t place) const {
        return coordinates_.data() + place * num_dimensions_;
    }

    count_t num_hops(std::size_t from, std::size_t to) const {
        const auto* const a = of(from);
        const auto* const b = of(to);
        count_t result = 0;
        for (std::size_t d = 0; d < num_dimensions_; ++d) result += a[d] != b[d];
        return result;
    }

  private:
    std::size_t num_dimensions_ = 0;
    std::size_t num_columns_ = 0;
    std::vector<std::size_t> coordinates_;
};

// The ranks that may exchange places with each other, group by group.
struct rank_groups {
    std::vector<std::vector<std::size_t>> groups;
    std::vector<std::size_t> group_of;

    explicit rank_groups(const topology& regions) {
        const auto num_ranks = regions.num_ranks();
        const bool is_one = regions.num_regions() == num_ranks;
        groups.resize(is_one ? 1 : static_cast<std::size_t>(regions.num_regions()));
        for (rank_t rank = 0; rank < num_ranks; ++rank) {
            group_of.push_back(is_one ? 0 : static_cast<std::size_t>(regions.region_of(rank)));
            groups[group_of.back()].push_back(static_cast<std::size_t>(rank));
        }
    }
};

// Ranks at places, and what each has for every column: in all of a rank's dimensions together, its
// items for those that share its coordinates are the hops that are saved.
class arrangement {
  public:
    arrangement(const link_table& links, const coordinate_table& coordinates, std::size_t num_ranks)
        : links_(links),
          coordinates_(coordinates),
          places_(num_ranks),
          items_(num_ranks * coordinates.num_columns(), 0) {
        std::iota(places_.begin(), places_.end(), std::size_t{0});
        for (std::size_t rank = 0; rank < num_ranks; ++rank) {
            for (const auto& [other, num_items] : links.of(rank))
                move_items(rank, nullptr, coordinates.of(places_[other]), num_items);
        }
    }

    const std::vector<std::size_t>& places() const { return places_; }

    // By how many hops of items more there are if two ranks exchange their places.
    count_t change(std::size_t a, std::size_t b) const {
        const auto* const of_a = coordinates_.of(places_[a]);
        const auto* const of_b = coordinates_.of(places_[b]);
        const auto* const items_of_a = items_.data() + a * coordinates_.num_columns();
        const auto* const items_of_b = items_.data() + b * coordinates_.num_columns();
        count_t result = 0;
        count_t num_different = 0;
        for (std::size_t d = 0; d < coordinates_.num_dimensions(); ++d) {
            result += items_of_a[of_a[d]] - items_of_a[of_b[d]];
            result += items_of_b[of_b[d]] - items_of_b[of_a[d]];
            num_different += of_a[d] != of_b[d];
        }
        return result + 2 * num_different * links_.between(a, b);
    }

    void exchange(std::size_t a, std::size_t b) {
        const auto* const of_a = coordinates_.of(places_[a]);
        const auto* const of_b = coordinates_.of(places_[b]);
        for (const auto& [other, num_items] : links_.of(a))
            move_items(other, of_a, of_b, num_items);
        for (const auto& [other, num_items] : links_.of(b))
            move_items(other, of_b, of_a, num_items);
        std::swap(places_[a], places_[b]);
    }

    // As `change`, of the ranks of two groups one by one, and twice that.
    count_t twice_the_change(const rank_groups& ranks, std::size_t a, std::size_t b) const {
        count_t result = 0;
        for (const std::size_t group : {a, b}) {
            for (std::size_t i = 0; i < ranks.groups[group].size(); ++i) {
                const std::size_t rank = ranks.groups[group][i];
                const std::size_t place = places_[ranks.groups[group == a ? b : a][i]];
                for (const auto& [other, num_items] : links_.of(rank)) {
                    const count_t before = coordinates_.num_hops(places_[rank], places_[other]);
                    const std::size_t group_of_other = ranks.group_of[other];
                    if (group_of_other != a && group_of_other != b) {
                        const count_t after = coordinates_.num_hops(place, places_[other]);
                        result += 2 * num_items * (after - before);
                        continue;
                    }
                    const auto& now = ranks.groups[group_of_other];
                    const auto& then = ranks.groups[group_of_other == a ? b : a];
                    const auto k = static_cast<std::size_t>(std::ranges::lower_bound(now, other) -
                                                            now.begin());
                    result += num_items * (coordinates_.num_hops(place, places_[then[k]]) - before);
                }
            }
        }
        return result;
    }

    count_t num_links(const std::vector<std::size_t>& ranks) const {
        count_t result = 0;
        for (const std::size_t rank : ranks) result += std::ssize(links_.of(rank));
        return result;
    }

  private:
    // Items of `rank` are for other columns than before.
    void move_items(std::size_t rank, const std::size_t* from, const std::size_t* to,
                    count_t num_items) {
        auto* const items = items_.data() + rank * coordinates_.num_columns();
        for (std::size_t d = 0; d < coordinates_.num_dimensions(); ++d) {
            if (from) items[from[d]] -= num_items;
            items[to[d]] += num_items;
        }
    }

    const link_table& links_;
    const coordinate_table& coordinates_;
    std::vector<std::size_t> places_;
    std::vector<count_t> items_;
};

// Exchanges the places of whole groups while that saves hops; how much it saved.
count_t exchange_groups(arrangement& ranks, const rank_groups& all) {
    const auto& groups = all.groups;
    count_t saved = 0;
    count_t num_visits = 0;
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (std::size_t a = 0; a < groups.size(); ++a) {
            for (std::size_t b = a + 1; b < groups.size(); ++b) {
                if (groups[a].size() != groups[b].size()) continue;
                num_visits += ranks.num_links(groups[a]) + ranks.num_links(groups[b]) + 1;
                if (num_visits > most_link_visits) return saved;
                const count_t change = ranks.twice_the_change(all, a, b);
                if (change >= 0) continue;
                for (std::size_t i = 0; i < groups[a].size(); ++i)
                    ranks.exchange(groups[a][i], groups[b][i]);
                saved -= change / 2;
                has_changed = true;
            }
        }
    }
    return saved;
}

// Two ranks of one group.
class pair_drawer {
  public:
    explicit pair_drawer(const rank_groups& ranks) : ranks_(ranks) {
        for (std::size_t rank = 0; rank < ranks.group_of.size(); ++rank) {
            const count_t size = std::ssize(ranks.groups[ranks.group_of[rank]]);
            if (size < 2) continue;
            movable_.push_back(rank);
            num_tries_ += std::min(most_tries_of_a_rank, tries_with_a_member * size);
        }
    }

    // How many draws are worth while.
    count_t num_tries() const { return std::min(most_tries, num_tries_); }

    std::pair<std::size_t, std::size_t> draw() {
        const std::size_t first = movable_[random_.below(movable_.size())];
        const auto& group = ranks_.groups[ranks_.group_of[first]];
        const std::size_t second = group[random_.below(group.size() - 1)];
        return {first, second == first ? group.back() : second};
    }

  private:
    const rank_groups& ranks_;
    std::vector<std::size_t> movable_;
    count_t num_tries_ = 0;
    random_numbers random_;
};

// Exchanges the places of ranks of one group; how much it saved.
count_t exchange_ranks(arrangement& ranks, const rank_groups& groups, int eighths) {
    pair_drawer pairs(groups);
    const count_t num_tries = pairs.num_tries();
    if (num_tries == 0) return 0;
    count_t sum = 0;
    for (count_t i = 0; i < num_sampled; ++i) {
        const auto [a, b] = pairs.draw();
        sum += std::abs(ranks.change(a, b));
    }
    const count_t highest = sum / num_sampled * eighths / 8;
    // The threshold falls in squares, as of a parabola, to nothing for the last quarter.
    constexpr count_t num_steps = 1024;
    count_t saved = 0;
    for (count_t i = 0; i < num_tries; ++i) {
        const count_t left = std::max<count_t>(0, num_steps - i * num_steps / num_tries * 4 / 3);
        const count_t threshold = highest * left / num_steps * left / num_steps;
        const auto [a, b] = pairs.draw();
        const count_t change = ranks.change(a, b);
        if (change > threshold) continue;
        ranks.exchange(a, b);
        saved -= change;
    }
    return saved;
}

}  // namespace

std::vector<rank_t> search_places(const topology& regions, std::span<const rank_t> shape,
                                  std::span<const rank_traffic> traffic) {
    std::vector<rank_t> best(static_cast<std::size_t>(regions.num_ranks()));
    std::iota(best.begin(), best.end(), 0);
    const coordinate_table coordinates(best.size(), shape);
    const link_table links(best.size(), traffic);
    if (coordinates.num_dimensions() < 2 || links.empty()) return best;
    const rank_groups groups(regions);
    arrangement start(links, coordinates, best.size());
    const count_t saved_by_groups = exchange_groups(start, groups);
    count_t most_saved = 0;
    for (const int eighths : eighths_of_thresholds) {
        auto tried = start;
        const count_t saved = saved_by_groups + exchange_ranks(tried, groups, eighths);
        if (saved <= most_saved) continue;
        most_saved = saved;
        std::ranges::transform(tried.places(), best.begin(),
                               [](std::size_t place) { return static_cast<rank_t>(place); });
    }
    return best;
}

}  // namespace crossdock
