// What one rank sends and receives on a route, stage by stage.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "crossdock/pattern.hpp"
#include "crossdock/route_choice.hpp"

namespace crossdock {

/// @brief `num_items * factor`, rounded.
inline count_t scaled(count_t num_items, double factor) {
    return static_cast<count_t>(std::llround(static_cast<double>(num_items) * factor));
}

template <class Key>
struct item_group {
    Key key;
    count_t num_items;
};

/// @brief The neighbors that a rank has items for, and which of the items are equal.
///
/// What is asked of it again and again takes the time of what is sent, however long the local array
/// is.
class sent_items {
  public:
    /// @param deduplicate  an item that is in several entries of a group counts once
    /// Complexity: Time O(n) for n items, or O(n log n) where few of a long array are sent.
    sent_items(const neighbor_list& list, bool deduplicate) : deduplicate_(deduplicate) {
        for (std::size_t e = 0; e < list.size(); ++e) {
            if (list[e].empty()) continue;
            ranks_.push_back(list.ranks[e]);
            numbers_.insert(numbers_.end(), list[e].begin(), list[e].end());
            ends_.push_back(numbers_.size());
        }
        if (deduplicate) number_items();
    }

    /// @brief The neighbors with items, each entry once.
    const std::vector<rank_t>& ranks() const noexcept { return ranks_; }

    /// @brief How many different items all entries have together; 0 if none is in two of them, or
    /// equal ones do not count once.
    count_t num_different() const noexcept {
        return static_cast<std::size_t>(num_different_) == numbers_.size() ? 0 : num_different_;
    }

    count_t num_items(std::size_t entry) const {
        return static_cast<count_t>(items_of(entry).size());
    }

    /// @brief The entries by key, ascending, and the items of each group.
    /// @param keys  of each of `ranks()`
    /// Complexity: Time O(n + k log k) for n items in k entries.
    template <class Key>
    std::vector<item_group<Key>> by_key(const std::vector<Key>& keys) {
        std::vector<std::size_t> order(ranks_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
        std::vector<item_group<Key>> groups;
        for (std::size_t k = 0; k < order.size();) {
            std::size_t end = k + 1;
            while (end < order.size() && keys[order[end]] == keys[order[k]]) ++end;
            const auto entries = std::span(order).subspan(k, end - k);
            groups.push_back({keys[order[k]], count(entries)});
            k = end;
        }
        return groups;
    }

    /// @brief As above, with a key for each neighbor.
    template <class KeyOf>
    requires std::invocable<KeyOf, rank_t>
    auto by_key_of(KeyOf&& key_of) {
        std::vector<decltype(key_of(rank_t{}))> keys;
        for (const rank_t rank : ranks_) keys.push_back(key_of(rank));
        return by_key(keys);
    }

  private:
    std::span<const count_t> items_of(std::size_t entry) const {
        const std::size_t first = entry == 0 ? 0 : ends_[entry - 1];
        return std::span(numbers_).subspan(first, ends_[entry] - first);
    }

    // Items become numbers from 0 on: without gaps where few of a long array are sent.
    void number_items() {
        if (numbers_.empty()) return;
        const auto [least, most] = std::ranges::minmax(numbers_);
        const auto num_between = static_cast<std::size_t>(most - least) + 1;
        if (num_between <= 8 * numbers_.size()) {
            for (auto& item : numbers_) item -= least;
            seen_in_.resize(num_between);
        } else {
            auto sorted = numbers_;
            std::sort(sorted.begin(), sorted.end());
            sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
            for (auto& item : numbers_)
                item = std::lower_bound(sorted.begin(), sorted.end(), item) - sorted.begin();
            seen_in_.resize(sorted.size());
        }
        num_different_ = count_unseen(numbers_);
    }

    // How many of the items were not counted in the present group.
    count_t count_unseen(std::span<const count_t> items) {
        count_t sum = 0;
        for (const count_t item : items) {
            auto& seen = seen_in_[static_cast<std::size_t>(item)];
            sum += seen != num_groups_ ? 1 : 0;
            seen = num_groups_;
        }
        return sum;
    }

    count_t count(std::span<const std::size_t> entries) {
        count_t sum = 0;
        // An entry of its own has no item twice, but for one that is sent twice to one rank.
        if (!deduplicate_ || entries.size() == 1) {
            for (const std::size_t entry : entries) sum += num_items(entry);
            return sum;
        }
        ++num_groups_;
        for (const std::size_t entry : entries) sum += count_unseen(items_of(entry));
        return sum;
    }

    bool deduplicate_;
    std::vector<rank_t> ranks_;
    std::vector<count_t> numbers_;        // of the items of all entries
    std::vector<std::size_t> ends_;       // of each entry
    std::vector<std::uint64_t> seen_in_;  // the last group that an item was counted in
    std::uint64_t num_groups_ = 1;
    count_t num_different_ = 0;
};

/// @brief What all routes of one estimate have in common.
struct estimate_frame {
    estimate_frame(const rank_layout& l, const pattern& own, const machine& on,
                   const estimate_options& o)
        : layout(l),
          p(own),
          m(on),
          options(o),
          sends(own.sends, o.deduplicate),
          receives(own.receives, false) {}

    const rank_layout& layout;
    const pattern& p;
    const machine& m;
    const estimate_options options;
    mutable sent_items sends;  // counting leaves marks
    sent_items receives;

    const topology& regions() const noexcept { return layout.regions(); }
    rank_t here() const noexcept { return p.rank; }
    locality_level level_to(rank_t other) const { return layout.level_of(p.rank, other); }
};

/// @brief The stages of one rank on one route, filled message by message.
class stage_cost {
  public:
    stage_cost(const estimate_frame& frame, int num_stages)
        : frame_(frame), stages_(static_cast<std::size_t>(num_stages), stage_pricer(frame.m)) {}

    void add_send(int stage, locality_level level, count_t num_items) {
        if (frame_.options.travel.hands_over(level))
            return at(stage).hand_over(bytes_of(num_items), num_items);
        at(stage).send(level, bytes_of(num_items), num_items);
    }

    void add_receive(int stage, locality_level level, count_t num_items) {
        if (frame_.options.travel.hands_over(level)) return at(stage).take_over();
        at(stage).receive(level, bytes_of(num_items));
    }

    /// @brief Another rank of the node waits for the message, and this one for what it forwards of
    /// it.
    void await(int stage, locality_level level, count_t num_items) {
        at(stage).await(level, bytes_of(num_items));
    }

    /// @brief Items that come for the rank itself are copied to its slots, and perhaps combined there.
    void add_deliveries(int stage, count_t num_items) {
        const count_t num_copies = num_items * frame_.options.passes_over_slots;
        at(stage).copy(bytes_of(num_copies), num_copies);
    }

    /// @param num_node_items  what the rank's node sends to others or gets from them, whichever is
    /// more
    stage_price price(int stage, count_t num_node_items) const {
        return stages_[static_cast<std::size_t>(stage)].price(bytes_of(num_node_items));
    }

  private:
    count_t bytes_of(count_t num_items) const {
        return num_items * frame_.options.travel.item_bytes;
    }

    stage_pricer& at(int stage) { return stages_[static_cast<std::size_t>(stage)]; }

    const estimate_frame& frame_;
    std::vector<stage_pricer> stages_;
};

}  // namespace crossdock
