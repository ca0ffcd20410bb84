#include "shared_cores.hpp"

#include <algorithm>

namespace crossdock {

shared_cores::shared_cores(int num_cores, rank_t num_ranks, picoseconds slice)
    : blocks_(block_partition::blocks(num_ranks, std::clamp(num_cores, 1, std::max(num_ranks, 1)))),
      cores_(static_cast<std::size_t>(blocks_.num_ranks())),
      slice_(slice) {
    for (rank_t i = 0; i < blocks_.num_ranks(); ++i)
        cores_[static_cast<std::size_t>(i)].num_ranks = static_cast<std::uint32_t>(blocks_.size(i));
}

// How many ranks look until a given one has: itself too.
static std::uint32_t looks_until(std::uint32_t place, std::uint32_t first,
                                 std::uint32_t num_ranks) {
    return (place + num_ranks - first) % num_ranks + 1;
}

shared_cores::next_slice shared_cores::announce(rank_t rank, core& c,
                                                std::uint32_t num_looks) const {
    c.num_looks = num_looks;
    return {rank, c.time + num_looks * slice_};
}

// Those that began before now found nothing.
void shared_cores::pass_looks(core& c, picoseconds now) const {
    if (now <= c.time) return;
    if (slice_ == 0) {
        c.time = now;
        return;
    }
    const auto num_passed = (now - c.time + slice_ - 1) / slice_;
    c.time += num_passed * slice_;
    c.place = static_cast<std::uint32_t>((c.place + num_passed) % c.num_ranks);
}

std::optional<shared_cores::next_slice> shared_cores::want(rank_t rank, picoseconds now) {
    core& c = core_of(rank);
    c.wanting.insert(place_of(rank));
    if (c.is_busy) return std::nullopt;
    if (c.num_looks == 0) pass_looks(c, now);
    const auto num_looks = looks_until(place_of(rank), c.place, c.num_ranks);
    if (c.num_looks > 0) {
        const bool has_looked = c.time + (num_looks - 1) * slice_ < now;
        if (has_looked || num_looks >= c.num_looks) return std::nullopt;
    }
    return announce(rank, c, num_looks);
}

bool shared_cores::begin(rank_t rank, picoseconds now) {
    core& c = core_of(rank);
    const auto num_looks = looks_until(place_of(rank), c.place, c.num_ranks);
    if (c.is_busy || num_looks != c.num_looks || c.time + num_looks * slice_ != now) return false;
    c.wanting.erase(place_of(rank));
    c.is_busy = true;
    c.num_looks = 0;
    return true;
}

std::optional<shared_cores::next_slice> shared_cores::give_up(rank_t rank, picoseconds now) {
    core& c = core_of(rank);
    c.is_busy = false;
    c.time = now;
    c.place = (place_of(rank) + 1) % c.num_ranks;
    if (c.wanting.empty()) return std::nullopt;
    auto next = c.wanting.lower_bound(c.place);
    if (next == c.wanting.end()) next = c.wanting.begin();
    const auto first = blocks_.first(blocks_.owner(rank));
    return announce(static_cast<rank_t>(first + *next), c,
                    looks_until(*next, c.place, c.num_ranks));
}

}  // namespace crossdock
