#include "balance.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace crossdock {

namespace {

// The places of values in their order; those of equal ones ascend.
template <class Compare>
std::vector<std::size_t> places_in_order(std::span<const count_t> values, Compare compare) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, compare, [&](std::size_t at) { return values[at]; });
    return order;
}

// A change to the fullest bin: volume `move` leaves it, and `back` (or nothing, -1) comes in
// return.
struct exchange_step {
    std::ptrdiff_t move = -1;
    std::ptrdiff_t back = -1;
    count_t result = 0;  // the fuller of the two bins afterwards
};

class bins {
  public:
    bins(std::span<const count_t> volumes, int num_bins)
        : volumes_(volumes),
          bin_of_(volumes.size()),
          loads_(static_cast<std::size_t>(num_bins)),
          members_(loads_.size()) {}

    void place_largest_first() {
        for (const auto i : places_in_order(volumes_, std::greater())) {
            const auto emptiest = std::ranges::min_element(loads_) - loads_.begin();
            put(i, static_cast<std::size_t>(emptiest));
        }
        for (const auto i : places_in_order(volumes_, std::less()))
            members_[static_cast<std::size_t>(bin_of_[i])].push_back(i);
    }

    // Lowers the fullest bin by a trade with another, the emptiest that it can be lowered with.
    bool improve() {
        const auto order = places_in_order(loads_, std::less());
        const std::size_t high = order.back();
        for (const std::size_t low : order) {
            // Nothing whole is left to be halved, nor with any bin that is fuller.
            if (loads_[high] - loads_[low] < 2) return false;
            const exchange_step best = best_exchange(high, low);
            if (best.move < 0) continue;
            trade(high, low, best);
            return true;
        }
        return false;
    }

    count_t fullest() const { return *std::max_element(loads_.begin(), loads_.end()); }

    std::vector<int> take() { return std::move(bin_of_); }

  private:
    void trade(std::size_t high, std::size_t low, const exchange_step& step) {
        const auto move_to = [&](std::ptrdiff_t i, std::size_t from, std::size_t to) {
            const auto volume = static_cast<std::size_t>(i);
            loads_[from] -= volumes_[volume];
            members_[from].erase(place_in(from, volume));
            put(volume, to);
            members_[to].insert(place_in(to, volume), volume);
        };
        move_to(step.move, high, low);
        if (step.back >= 0) move_to(step.back, low, high);
    }

    void put(std::size_t i, std::size_t bin) {
        bin_of_[i] = static_cast<int>(bin);
        loads_[bin] += volumes_[i];
    }

    // Where a volume is, or belongs, among those of a bin.
    std::vector<std::size_t>::iterator place_in(std::size_t bin, std::size_t i) {
        return std::ranges::lower_bound(members_[bin], std::pair(volumes_[i], i), {},
                                        [&](auto at) { return std::pair(volumes_[at], at); });
    }

    // Lowering `high` by x raises `low` by x; the best x is half their difference. For each volume
    // of `high`, the volume of `low` that comes closest to that is found by binary search.
    exchange_step best_exchange(std::size_t high, std::size_t low) const {
        const auto& lows = members_[low];
        const count_t high_load = loads_[high];
        const count_t low_load = loads_[low];
        exchange_step best{-1, -1, high_load};
        const auto consider = [&](std::size_t move, std::ptrdiff_t back, count_t returned) {
            const count_t shift = volumes_[move] - returned;
            const count_t result = std::max(high_load - shift, low_load + shift);
            const auto place = static_cast<std::ptrdiff_t>(move);
            const bool is_better =
                result < best.result || (result == best.result && place < best.move);
            if (is_better) best = {place, back, result};
        };
        for (const auto i : members_[high]) {
            consider(i, -1, 0);
            const count_t wanted = volumes_[i] - (high_load - low_load) / 2;
            auto near = std::lower_bound(lows.begin(), lows.end(), wanted,
                                         [&](auto a, count_t v) { return volumes_[a] < v; });
            if (near != lows.end())
                consider(i, static_cast<std::ptrdiff_t>(*near), volumes_[*near]);
            if (near != lows.begin()) {
                --near;
                consider(i, static_cast<std::ptrdiff_t>(*near), volumes_[*near]);
            }
        }
        return best;
    }

    std::span<const count_t> volumes_;
    std::vector<int> bin_of_;
    std::vector<count_t> loads_;
    std::vector<std::vector<std::size_t>> members_;  // the volumes of each bin, ascending
};

// Looks for an assignment within a limit: larger volumes before smaller ones, emptier bins before
// fuller ones, and back where that leads nowhere. Gives up after `max_steps`.
class bounded_search {
  public:
    bounded_search(std::span<const count_t> volumes, int num_bins, count_t limit)
        : volumes_(volumes),
          order_(places_in_order(volumes, std::greater())),
          bin_of_(volumes.size()),
          loads_(static_cast<std::size_t>(num_bins)),
          limit_(limit) {}

    bool succeeds() { return is_possible() && place(0); }

    std::vector<int> take() { return std::move(bin_of_); }

  private:
    static constexpr int max_steps = 2000;

    // Of the k b + 1 largest volumes, some bin of b gets k + 1.
    bool is_possible() const {
        const auto b = loads_.size();
        for (std::size_t k = 0; k * b < order_.size(); ++k) {
            count_t least = 0;
            for (std::size_t i = k * b - k; i <= k * b; ++i) least += volumes_[order_[i]];
            if (least > limit_) return false;
        }
        return true;
    }

    bool place(std::size_t next) {
        if (next == order_.size()) return true;
        const std::size_t i = order_[next];
        count_t last_tried = -1;  // bins that are equally full are alike
        for (const auto bin : places_in_order(loads_, std::less())) {
            if (loads_[bin] + volumes_[i] > limit_ || ++num_steps_ > max_steps) return false;
            if (loads_[bin] == last_tried) continue;
            last_tried = loads_[bin];
            bin_of_[i] = static_cast<int>(bin);
            loads_[bin] += volumes_[i];
            if (place(next + 1)) return true;
            loads_[bin] -= volumes_[i];
        }
        return false;
    }

    std::span<const count_t> volumes_;
    std::vector<std::size_t> order_;
    std::vector<int> bin_of_;
    std::vector<count_t> loads_;
    count_t limit_;
    int num_steps_ = 0;
};

}  // namespace

std::vector<int> balance(std::span<const count_t> volumes, int num_bins) {
    bins result(volumes, num_bins);
    result.place_largest_first();
    for (std::size_t step = 0; step < volumes.size() && result.improve(); ++step) {
    }
    const count_t sum = std::accumulate(volumes.begin(), volumes.end(), count_t{0});
    const count_t limit = (sum + sum / 4) / num_bins;
    if (result.fullest() > limit) {
        bounded_search search(volumes, num_bins, limit);
        if (search.succeeds()) return search.take();
    }
    return result.take();
}

std::vector<int> balance_messages(std::vector<count_t> num_items, int num_members) {
    for (auto& one : num_items) one += items_per_message;
    return balance(num_items, num_members);
}

}  // namespace crossdock
