#include "satellites/studies/drawn_patterns.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <numeric>
#include <random>
#include <ranges>

namespace crossdock::bench {

namespace {

constexpr std::uint64_t seed = 1;
// So that grids forward as much as in the study of selvitopi2019vpt: of the ranks of a level, each is
// a partner 2^-0.75 times as often as one of the level before, and gets 2^-0.6 times as much.
constexpr double partner_decay = 0.75;
constexpr double size_decay = 0.6;
constexpr count_t tries_per_partner = 64;

int levels_between(rank_t a, rank_t b) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(a ^ b)));
}

class drawing {
  public:
    drawing(rank_t num_ranks, const drawn_counts& counts)
        : num_ranks_(num_ranks),
          counts_(counts),
          wanted_(static_cast<std::size_t>(num_ranks)),
          partners_(static_cast<std::size_t>(num_ranks)),
          is_taken_(static_cast<std::size_t>(num_ranks)),
          random_(seed) {
        draw_wanted();
        weigh_levels();
        for (const rank_t rank : order_ | std::views::reverse) draw_partners(rank);
    }

    std::vector<std::vector<rank_t>> partners() && {
        for (auto& of_rank : partners_) std::ranges::sort(of_rank);
        return std::move(partners_);
    }

  private:
    double uniform() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }
    rank_t below(count_t bound) {
        return static_cast<rank_t>(uniform() * static_cast<double>(bound));
    }

    // The first of `order_` want few partners, the last one `most_messages`.
    void draw_wanted() {
        order_.resize(wanted_.size());
        std::iota(order_.begin(), order_.end(), 0);
        for (auto left = num_ranks_; left > 1; --left)
            std::swap(order_[static_cast<std::size_t>(left - 1)],
                      order_[static_cast<std::size_t>(below(left))]);
        const auto most = static_cast<double>(counts_.most_messages);
        const double power = (most - 1) / (counts_.mean_messages - 1) - 1;
        for (std::size_t place = 0; place < order_.size(); ++place) {
            const double share =
                (static_cast<double>(place) + 1) / static_cast<double>(order_.size());
            wanted_[static_cast<std::size_t>(order_[place])] =
                1 + std::llround((most - 1) * std::pow(share, power));
        }
    }

    void weigh_levels() {
        const int num_levels = levels_between(0, num_ranks_ - 1);
        double sum = 0;
        for (int level = 0; level < num_levels; ++level)
            up_to_level_.push_back(sum += std::exp2(level * (1 - partner_decay)));
        for (double& weight : up_to_level_) weight /= sum;
    }

    rank_t draw_partner(rank_t rank) {
        const auto found = std::ranges::upper_bound(up_to_level_, uniform());
        const auto level =
            std::min<std::ptrdiff_t>(found - up_to_level_.begin(), std::ssize(up_to_level_) - 1);
        return rank ^ ((1 << level) + below(count_t{1} << level));
    }

    bool has_room(rank_t rank) const {
        const auto place = static_cast<std::size_t>(rank);
        return std::ssize(partners_[place]) < wanted_[place];
    }

    void pair(rank_t one, rank_t other) {
        partners_[static_cast<std::size_t>(one)].push_back(other);
        partners_[static_cast<std::size_t>(other)].push_back(one);
        is_taken_[static_cast<std::size_t>(other)] = true;
    }

    void draw_partners(rank_t rank) {
        auto& own = partners_[static_cast<std::size_t>(rank)];
        for (const rank_t other : own) is_taken_[static_cast<std::size_t>(other)] = true;
        is_taken_[static_cast<std::size_t>(rank)] = true;
        const auto is_free = [&](rank_t other) {
            return !is_taken_[static_cast<std::size_t>(other)] && has_room(other);
        };
        for (count_t left = tries_per_partner * wanted_[static_cast<std::size_t>(rank)];
             left > 0 && has_room(rank); --left) {
            const rank_t other = draw_partner(rank);
            if (is_free(other)) pair(rank, other);
        }
        // Who is near has enough: the nearest of the others.
        for (rank_t distance = 1; distance < num_ranks_ && has_room(rank); ++distance) {
            if (is_free(rank ^ distance)) pair(rank, rank ^ distance);
        }
        for (const rank_t other : own) is_taken_[static_cast<std::size_t>(other)] = false;
        is_taken_[static_cast<std::size_t>(rank)] = false;
    }

    rank_t num_ranks_;
    const drawn_counts& counts_;
    std::vector<rank_t> order_;
    std::vector<count_t> wanted_;
    std::vector<double> up_to_level_;
    std::vector<std::vector<rank_t>> partners_;
    std::vector<bool> is_taken_;
    std::mt19937_64 random_;
};

// Relative lengths of the messages that `rank` sends.
std::vector<double> weights_of(rank_t rank, const std::vector<std::vector<rank_t>>& partners) {
    const auto& own = partners[static_cast<std::size_t>(rank)];
    std::vector<double> result;
    for (const rank_t other : own) {
        const auto most = std::max(own.size(), partners[static_cast<std::size_t>(other)].size());
        result.push_back(std::exp2(-size_decay * levels_between(rank, other)) /
                         static_cast<double>(most));
    }
    return result;
}

// What to multiply weights by, so that the messages of at least one item have `total` items.
double scale_for(const std::vector<std::vector<double>>& weights, double total) {
    const auto sum_at = [&](double scale) {
        double sum = 0;
        for (const auto& of_rank : weights)
            for (const double weight : of_rank) sum += std::max(1.0, scale * weight);
        return sum;
    };
    double low = 0;
    double high = 1;
    while (sum_at(high) < total && high < 0x1p60) high *= 2;
    for (int step = 0; step < 50; ++step) {
        const double middle = (low + high) / 2;
        (sum_at(middle) < total ? low : high) = middle;
    }
    return high;
}

void append_items(neighbor_list& list, rank_t rank, count_t num_items, count_t& next) {
    std::vector<count_t> indices(static_cast<std::size_t>(num_items));
    std::iota(indices.begin(), indices.end(), next);
    next += num_items;
    list.append(rank, indices);
}

}  // namespace

drawn_counts parse_drawn_counts(const std::string& text) {
    const std::string prefix = "drawn";
    std::vector<double> numbers;
    const auto refuse = [&] {
        throw error(errc::invalid_argument,
                    "\"" + text +
                        "\" is not drawn:MOST:MEAN:ITEMS with 1 < MEAN <= MOST and MEAN <= ITEMS");
    };
    if (!text.starts_with(prefix)) refuse();
    for (auto at = text.data() + prefix.size(); at != text.data() + text.size();) {
        double number = 0;
        if (*at != ':') refuse();
        const auto [end, fault] = std::from_chars(at + 1, text.data() + text.size(), number);
        if (fault != std::errc()) refuse();
        numbers.push_back(number);
        at = end;
    }
    if (numbers.size() != 3) refuse();
    const drawn_counts counts{std::llround(numbers[0]), numbers[1], numbers[2]};
    const auto most = static_cast<double>(counts.most_messages);
    if (counts.mean_messages <= 1 || counts.mean_messages > most ||
        counts.mean_items < counts.mean_messages)
        refuse();
    return counts;
}

std::vector<pattern> draw_patterns(rank_t num_ranks, const drawn_counts& counts) {
    if (!std::has_single_bit(static_cast<unsigned>(num_ranks)) ||
        counts.most_messages >= num_ranks) {
        throw error(errc::invalid_argument,
                    "drawn patterns need a power of two of ranks, more than messages of a rank");
    }
    const auto partners = drawing(num_ranks, counts).partners();
    std::vector<std::vector<double>> weights;
    for (rank_t rank = 0; rank < num_ranks; ++rank) weights.push_back(weights_of(rank, partners));
    const double scale = scale_for(weights, counts.mean_items * num_ranks);
    std::vector<pattern> result(partners.size());
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        const auto p = static_cast<std::size_t>(rank);
        result[p].rank = rank;
        result[p].num_ranks = num_ranks;
        for (std::size_t k = 0; k < partners[p].size(); ++k) {
            const auto num_items = std::max<count_t>(1, std::llround(scale * weights[p][k]));
            append_items(result[p].sends, partners[p][k], num_items, result[p].num_items);
            append_items(result[p].receives, partners[p][k], num_items, result[p].num_slots);
        }
    }
    return result;
}

}  // namespace crossdock::bench
