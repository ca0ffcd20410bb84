#include "id_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace crossdock {

id_groups::id_groups(rank_t rank, std::span<const count_t> ids) {
    struct copy {
        count_t id;
        bool is_flagged;
        count_t place;
    };
    std::vector<copy> copies;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] == std::numeric_limits<count_t>::min()) {
            throw error(
                errc::index_out_of_range,
                fmt::format("id {} of rank {} is {}, which has no negation", i, rank, ids[i]),
                rank);
        }
        if (ids[i] != 0) copies.push_back({std::abs(ids[i]), ids[i] < 0, static_cast<count_t>(i)});
    }
    std::sort(copies.begin(), copies.end(), [](const copy& a, const copy& b) {
        return std::tie(a.id, a.is_flagged, a.place) < std::tie(b.id, b.is_flagged, b.place);
    });
    for (const copy& c : copies) {
        if (groups_.empty() || groups_.back().id != c.id)
            groups_.push_back({c.id, 0, places_.size()});
        if (!c.is_flagged) ++groups_.back().num_unflagged;
        places_.push_back(c.place);
    }
}

void id_groups::keep_unflagged(std::size_t i, count_t num) {
    groups_[i].num_unflagged = std::min(groups_[i].num_unflagged, num);
}

bool id_groups::has_flags() const noexcept {
    count_t num_unflagged = 0;
    for (const auto& g : groups_) num_unflagged += g.num_unflagged;
    return num_unflagged < static_cast<count_t>(places_.size());
}

}  // namespace crossdock
