/// @file
/// @brief The patterns that every route, executor and collective must carry out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "crossdock/pattern.hpp"

namespace crossdock::test {

/// @brief The patterns of all ranks, entry p for rank p.
struct named_patterns {
    std::string name;
    std::vector<pattern> patterns;
};

/// @brief Writes the patterns of all ranks from single transfers; slots are filled in call order.
class pattern_builder {
  public:
    explicit pattern_builder(rank_t num_ranks) : ranks_(static_cast<std::size_t>(num_ranks)) {}

    rank_t num_ranks() const { return static_cast<rank_t>(ranks_.size()); }

    void send(rank_t source, count_t item, rank_t destination) {
        auto& sender = at(source);
        auto& receiver = at(destination);
        sender.num_items = std::max(sender.num_items, item + 1);
        sender.items_for[destination].push_back(item);
        receiver.slots_for[source].push_back(receiver.num_slots++);
    }

    /// @brief Makes neighbors of two ranks that may exchange nothing.
    void connect(rank_t source, rank_t destination) {
        at(source).items_for[destination];
        at(destination).slots_for[source];
    }

    std::vector<pattern> take() const {
        std::vector<pattern> patterns;
        for (rank_t rank = 0; rank < num_ranks(); ++rank) {
            const auto& from = ranks_[static_cast<std::size_t>(rank)];
            pattern p{rank, num_ranks(), from.num_items, from.num_slots, {}, {}};
            for (const auto& [destination, items] : from.items_for)
                p.sends.append(destination, items);
            for (const auto& [source, slots] : from.slots_for) p.receives.append(source, slots);
            patterns.push_back(std::move(p));
        }
        return patterns;
    }

  private:
    struct one_rank {
        count_t num_items = 0;
        count_t num_slots = 0;
        std::map<rank_t, std::vector<count_t>> items_for;
        std::map<rank_t, std::vector<count_t>> slots_for;
    };

    one_rank& at(rank_t rank) { return ranks_[static_cast<std::size_t>(rank)]; }

    std::vector<one_rank> ranks_;
};

/// @brief Nobody sends; ranks still have local and output arrays.
inline std::vector<pattern> empty_pattern(rank_t num_ranks) {
    auto patterns = pattern_builder(num_ranks).take();
    for (auto& p : patterns) p.num_items = p.num_slots = 2;
    return patterns;
}

/// @brief Every rank sends three items to itself.
inline std::vector<pattern> self_pattern(rank_t num_ranks) {
    pattern_builder builder(num_ranks);
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        for (const count_t item : {2, 0, 1}) builder.send(rank, item, rank);
    }
    return builder.take();
}

/// @brief Every rank sends one item to the next.
inline std::vector<pattern> ring_pattern(rank_t num_ranks) {
    pattern_builder builder(num_ranks);
    for (rank_t rank = 0; rank < num_ranks; ++rank) builder.send(rank, 0, (rank + 1) % num_ranks);
    return builder.take();
}

/// @brief Every rank sends an item of its own to every rank, itself included.
inline std::vector<pattern> all_to_all_pattern(rank_t num_ranks) {
    pattern_builder builder(num_ranks);
    for (rank_t source = 0; source < num_ranks; ++source) {
        for (rank_t destination = 0; destination < num_ranks; ++destination)
            builder.send(source, destination, destination);
    }
    return builder.take();
}

/// @brief Rank 0 sends the same three items to every rank; the last rank gets one item of each.
inline std::vector<pattern> one_heavy_row_pattern(rank_t num_ranks) {
    pattern_builder builder(num_ranks);
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        for (count_t item = 0; item < 3; ++item) builder.send(0, item, rank);
        builder.send(rank, 0, num_ranks - 1);
    }
    return builder.take();
}

/// @brief Every rank sends some of its ten items to a few ranks, drawn with a fixed seed.
inline std::vector<pattern> random_pattern(rank_t num_ranks, std::uint64_t seed = 1) {
    pattern_builder builder(num_ranks);
    std::mt19937_64 random(seed);
    const auto draw = [&](rank_t limit) {
        return static_cast<rank_t>(random() % static_cast<std::uint64_t>(limit));
    };
    for (rank_t source = 0; source < num_ranks; ++source) {
        for (int i = draw(4); i > 0; --i) {
            const rank_t destination = draw(num_ranks);
            for (count_t item = 0; item < 10; ++item) {
                if (draw(3) == 0) builder.send(source, item, destination);
            }
        }
    }
    return builder.take();
}

/// @brief Ranks differ in what they send and receive; many pairs of neighbors exchange nothing.
inline std::vector<pattern> uneven_pattern(rank_t num_ranks) {
    pattern_builder builder(num_ranks);
    for (rank_t source = 0; source < num_ranks; source += 2) {
        for (rank_t destination = source % 3; destination < num_ranks; destination += 2) {
            builder.connect(source, destination);
            const count_t num_items = (7 * source + 3 * destination) % 5;
            for (count_t item = 0; item < num_items; ++item)
                builder.send(source, source + item, destination);
        }
    }
    return builder.take();
}

/// @brief Every rank sends the items 0 1 0 0 to the next and 1 to the one behind it.
inline std::vector<pattern> same_item_twice_pattern(rank_t num_ranks) {
    pattern_builder builder(num_ranks);
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        for (const count_t item : {0, 1, 0, 0}) builder.send(rank, item, (rank + 1) % num_ranks);
        builder.send(rank, 1, (rank + 2) % num_ranks);
    }
    return builder.take();
}

/// @brief Every second rank has neighbors; the others have no item, no slot and only null arrays.
inline std::vector<pattern> null_arrays_pattern(rank_t num_ranks) {
    pattern_builder builder(num_ranks);
    for (rank_t source = 0; source < num_ranks; source += 2) {
        for (rank_t destination = 0; destination < num_ranks; destination += 2)
            builder.send(source, source, destination);
    }
    return builder.take();
}

/// @brief Entries of one index each, so that neighbors repeat and are not sorted.
///
/// The k-th entries of all neighbors come before the (k+1)-th of any.
inline neighbor_list repeat_neighbors(const neighbor_list& list) {
    neighbor_list result;
    bool is_complete = false;
    for (std::size_t k = 0; !is_complete; ++k) {
        is_complete = true;
        for (std::size_t e = list.size(); e-- > 0;) {
            if (k >= list[e].size()) continue;
            result.append(list.ranks[e], list[e].subspan(k, 1));
            is_complete = false;
        }
    }
    return result;
}

/// @brief The random pattern with an entry per item on the receiving side or on both.
inline std::vector<pattern> repeated_neighbors_pattern(rank_t num_ranks) {
    auto patterns = random_pattern(num_ranks, 2);
    for (auto& p : patterns) {
        if (p.rank % 2 == 0) p.sends = repeat_neighbors(p.sends);
        p.receives = repeat_neighbors(p.receives);
    }
    return patterns;
}

/// @brief The random pattern with slots in falling order and gaps between them.
inline std::vector<pattern> scattered_slots_pattern(rank_t num_ranks) {
    auto patterns = random_pattern(num_ranks, 3);
    for (auto& p : patterns) {
        for (auto& slot : p.receives.indices) slot = 2 * (p.num_slots - slot) - 1;
        p.num_slots = 2 * p.num_slots + 1;
    }
    return patterns;
}

/// @brief All of the above.
inline std::vector<named_patterns> conformance_patterns(rank_t num_ranks) {
    return {{"empty", empty_pattern(num_ranks)},
            {"self", self_pattern(num_ranks)},
            {"ring", ring_pattern(num_ranks)},
            {"all_to_all", all_to_all_pattern(num_ranks)},
            {"one_heavy_row", one_heavy_row_pattern(num_ranks)},
            {"random", random_pattern(num_ranks)},
            {"uneven", uneven_pattern(num_ranks)},
            {"same_item_twice", same_item_twice_pattern(num_ranks)},
            {"null_arrays", null_arrays_pattern(num_ranks)},
            {"repeated_neighbors", repeated_neighbors_pattern(num_ranks)},
            {"scattered_slots", scattered_slots_pattern(num_ranks)}};
}

}  // namespace crossdock::test
