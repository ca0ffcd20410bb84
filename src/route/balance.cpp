#include "crossdock/route/balance.hpp"

#include <algorithm>
#include <numeric>

namespace crossdock {

namespace {

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
        : volumes_(volumes), bin_of_(volumes.size()), loads_(static_cast<std::size_t>(num_bins)) {}

    void place_largest_first() {
        std::vector<std::size_t> order(volumes_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](auto a, auto b) { return volumes_[a] > volumes_[b]; });
        for (const auto i : order) {
            put(i, std::min_element(loads_.begin(), loads_.end()) - loads_.begin());
        }
    }

    // The best way to lower the fullest bin by trading one volume with the emptiest bin.
    bool improve() {
        const auto [emptiest, fullest] = std::minmax_element(loads_.begin(), loads_.end());
        const int low = static_cast<int>(emptiest - loads_.begin());
        const int high = static_cast<int>(fullest - loads_.begin());
        const exchange_step best = best_exchange(high, low);
        if (best.move < 0) return false;
        const auto move_to = [&](std::ptrdiff_t i, int from, int to) {
            loads_[static_cast<std::size_t>(from)] -= volumes_[static_cast<std::size_t>(i)];
            put(static_cast<std::size_t>(i), to);
        };
        move_to(best.move, high, low);
        if (best.back >= 0) move_to(best.back, low, high);
        return true;
    }

    std::vector<int> take() { return std::move(bin_of_); }

  private:
    void put(std::size_t i, std::ptrdiff_t bin) {
        bin_of_[i] = static_cast<int>(bin);
        loads_[static_cast<std::size_t>(bin)] += volumes_[i];
    }

    // Lowering `high` by x raises `low` by x; the best x is half their difference. For each volume
    // of `high`, the volume of `low` that comes closest to that is found by binary search.
    exchange_step best_exchange(int high, int low) const {
        std::vector<std::size_t> lows;
        for (std::size_t i = 0; i < volumes_.size(); ++i) {
            if (bin_of_[i] == low) lows.push_back(i);
        }
        std::sort(lows.begin(), lows.end(), [&](auto a, auto b) {
            return std::pair(volumes_[a], a) < std::pair(volumes_[b], b);
        });
        const count_t high_load = loads_[static_cast<std::size_t>(high)];
        const count_t low_load = loads_[static_cast<std::size_t>(low)];
        exchange_step best{-1, -1, high_load};
        const auto consider = [&](std::size_t move, std::ptrdiff_t back, count_t returned) {
            const count_t shift = volumes_[move] - returned;
            const count_t result = std::max(high_load - shift, low_load + shift);
            if (result < best.result) best = {static_cast<std::ptrdiff_t>(move), back, result};
        };
        for (std::size_t i = 0; i < volumes_.size(); ++i) {
            if (bin_of_[i] != high) continue;
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
};

}  // namespace

std::vector<int> balance(std::span<const count_t> volumes, int num_bins) {
    bins result(volumes, num_bins);
    result.place_largest_first();
    for (std::size_t step = 0; step < volumes.size() && result.improve(); ++step) {
    }
    return result.take();
}

}  // namespace crossdock
