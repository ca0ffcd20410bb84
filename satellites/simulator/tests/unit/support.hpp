/// @file
/// @brief Small plans and schedules for the tests of this folder.
#pragma once

#include <utility>
#include <vector>

#include "crossdock/plan.hpp"
#include "crossdock/schedule.hpp"
#include "crossdock/simulate.hpp"

namespace crossdock::test {

/// @brief Every rank has one item, for the ranks that are listed for it; slots are in the order of
/// sources.
inline std::vector<pattern> items_to(const std::vector<std::vector<rank_t>>& destinations) {
    std::vector<pattern> patterns(destinations.size());
    for (std::size_t p = 0; p < patterns.size(); ++p) {
        patterns[p].rank = static_cast<rank_t>(p);
        patterns[p].num_ranks = static_cast<rank_t>(patterns.size());
        patterns[p].num_items = 1;
    }
    for (std::size_t p = 0; p < patterns.size(); ++p) {
        for (const rank_t destination : destinations[p]) {
            auto& other = patterns[static_cast<std::size_t>(destination)];
            patterns[p].sends.append(destination, std::vector<count_t>{0});
            other.receives.append(static_cast<rank_t>(p), std::vector{other.num_slots++});
        }
    }
    return patterns;
}

inline std::vector<plan> plans_of(const std::vector<std::vector<rank_t>>& destinations,
                                  const char* regions, const char* route) {
    const auto topo = topology::from_string(regions);
    return compile(topo, items_to(destinations), *make_route(route, topo));
}

/// @brief An operation, and which ones of its rank it waits for.
struct step {
    operation what;
    std::vector<std::uint32_t> required = {};

    step after(std::vector<std::uint32_t> places) const { return {what, std::move(places)}; }
};

inline step send_to(rank_t peer, count_t bytes, int tag = 0) {
    step made;
    made.what.kind = operation_kind::send;
    made.what.peer = peer;
    made.what.tag = tag;
    made.what.message_bytes = bytes;
    return made;
}

inline step receive_from(rank_t peer, count_t bytes, int tag = 0) {
    auto made = send_to(peer, bytes, tag);
    made.what.kind = operation_kind::receive;
    return made;
}

inline step copy_of(count_t bytes, count_t items = 0) {
    step made;
    made.what.copied_bytes = bytes;
    made.what.copied_items = items;
    return made;
}

/// @brief The steps of each rank.
inline schedule made_of(const std::vector<std::vector<step>>& ranks) {
    schedule made;
    for (const auto& steps : ranks) {
        made.begin_rank();
        for (const auto& one : steps) made.add(one.what, one.required);
    }
    return made;
}

/// @brief Every rank but rank 0 sends one message to it.
inline schedule all_to_first(rank_t num_ranks, count_t bytes) {
    std::vector<std::vector<step>> ranks(1);
    for (rank_t peer = 1; peer < num_ranks; ++peer) {
        ranks[0].push_back(receive_from(peer, bytes));
        ranks.push_back({send_to(0, bytes)});
    }
    return made_of(ranks);
}

inline rank_layout layout_of(const char* regions) {
    return rank_layout(topology::from_string(regions));
}

using times = std::vector<picoseconds>;

/// @brief When each rank is done, in nanoseconds.
inline times finish_ns(const simulation& result) {
    auto finish = result.finish;
    for (auto& time : finish) time /= 1000;
    return finish;
}

}  // namespace crossdock::test
