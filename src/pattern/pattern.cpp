#include "crossdock/pattern.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "../base/index_check.hpp"
#include "../base/throw_error.hpp"

namespace crossdock {

namespace {

/// One side of a pattern, with the words its error sentences need.
struct side {
    const neighbor_list& list;
    const char* neighbor;
    const char* self;
    const char* index;
    count_t num_indices;
};

void validate_offsets(const pattern& p, const side& s) {
    const std::vector<count_t>& offsets = s.list.offsets;
    if (offsets.size() != s.list.size() + 1) {
        throw_error_of(p.rank, errc::size_mismatch, "{} {}s of {} {} need {} offsets, not {}",
                       s.list.size(), s.neighbor, s.self, p.rank, s.list.size() + 1,
                       offsets.size());
    }
    if (offsets.front() != 0 || !std::in_range<count_t>(s.list.indices.size()) ||
        offsets.back() != static_cast<count_t>(s.list.indices.size())) {
        throw_error_of(p.rank, errc::size_mismatch,
                       "the offsets of {} {} run from {} to {}, but it lists {} {}s", s.self,
                       p.rank, offsets.front(), offsets.back(), s.list.indices.size(), s.index);
    }
    const auto decrease = std::is_sorted_until(offsets.begin(), offsets.end());
    if (decrease != offsets.end()) {
        throw_error_of(p.rank, errc::invalid_argument,
                       "the offsets of {} {} decrease from {} to {}", s.self, p.rank,
                       *(decrease - 1), *decrease);
    }
}

void validate_ranks(const pattern& p, const side& s) {
    for (const rank_t neighbor : s.list.ranks) {
        if (neighbor >= 0 && neighbor < p.num_ranks) continue;
        throw_error_of(p.rank, errc::rank_out_of_range, "{} {} of {} {} is outside [0, {})",
                       s.neighbor, neighbor, s.self, p.rank, p.num_ranks);
    }
}

void validate_indices(const pattern& p, const side& s) {
    if (!is_any_outside(s.list.indices, s.num_indices)) return;
    const auto is_outside = [&](count_t index) { return index < 0 || index >= s.num_indices; };
    for (std::size_t entry = 0; entry < s.list.size(); ++entry) {
        const auto found = std::ranges::find_if(s.list[entry], is_outside);
        if (found == s.list[entry].end()) continue;
        throw_error_of(p.rank, errc::index_out_of_range,
                       "{} {} of {} {} for {} {} is outside [0, {})", s.index, *found, s.self,
                       p.rank, s.neighbor, s.list.ranks[entry], s.num_indices);
    }
}

void validate_side(const pattern& p, const side& s) {
    if (s.num_indices < 0) {
        throw_error_of(p.rank, errc::invalid_argument, "{} {} has {} {}s", s.self, p.rank,
                       s.num_indices, s.index);
    }
    validate_offsets(p, s);
    validate_ranks(p, s);
    validate_indices(p, s);
}

void validate_slots_filled_once(const pattern& p) {
    const auto& slots = p.receives.indices;
    if (ascends(slots)) return;
    std::vector<bool> is_filled(static_cast<std::size_t>(p.num_slots));
    for (const count_t slot : slots) {
        if (is_filled[static_cast<std::size_t>(slot)]) {
            throw_error_of(p.rank, errc::invalid_argument,
                           "slot {} of destination {} is filled twice; list each slot once", slot,
                           p.rank);
        }
        is_filled[static_cast<std::size_t>(slot)] = true;
    }
}

/// One side of the arguments of MPI_Neighbor_alltoallv.
struct argument_side {
    const char* neighbor;
    std::span<const rank_t> ranks;
    std::span<const count_t> counts;
    std::span<const count_t> displacements;
};

void check_sizes(rank_t rank, const argument_side& a) {
    if (a.counts.size() != a.ranks.size() || a.displacements.size() != a.ranks.size()) {
        throw_error_of(rank, errc::size_mismatch,
                       "rank {} gives {} {}s, {} counts and {} displacements; give as many of each",
                       rank, a.ranks.size(), a.neighbor, a.counts.size(), a.displacements.size());
    }
}

/// Where the block of `entry` ends; MPI does not read the displacement of an empty one.
count_t block_end(rank_t rank, const argument_side& a, std::size_t entry) {
    const count_t count = a.counts[entry];
    if (count == 0) return 0;
    const count_t displacement = a.displacements[entry];
    if (count < 0 || displacement < 0) {
        throw_error_of(rank, errc::invalid_argument,
                       "rank {} gives {} {} count {} and displacement {}; the minimum is 0", rank,
                       a.neighbor, a.ranks[entry], count, displacement);
    }
    if (count > std::numeric_limits<count_t>::max() - displacement) {
        throw_error_of(rank, errc::count_overflow,
                       "displacement {} plus count {} for {} {} exceed 64 bits", displacement,
                       count, a.neighbor, a.ranks[entry]);
    }
    return displacement + count;
}

/// Fills `list` with the positions of every block and returns the length of the buffer.
count_t list_positions(rank_t rank, const argument_side& a, neighbor_list& list) {
    check_sizes(rank, a);
    count_t length = 0;
    std::vector<count_t> positions;
    for (std::size_t entry = 0; entry < a.ranks.size(); ++entry) {
        const count_t end = block_end(rank, a, entry);
        positions.clear();
        for (count_t position = end - a.counts[entry]; position < end; ++position) {
            positions.push_back(position);
        }
        list.append(a.ranks[entry], positions);
        length = std::max(length, end);
    }
    return length;
}

/// Replaces every position by the first one sent with the same id.
void unite_equal_ids(pattern& p, std::span<const count_t> ids) {
    if (!std::in_range<count_t>(ids.size()) || static_cast<count_t>(ids.size()) < p.num_items) {
        throw_error_of(p.rank, errc::size_mismatch,
                       "rank {} gives {} ids for a send buffer of {} items; give one for each item",
                       p.rank, ids.size(), p.num_items);
    }
    std::unordered_map<count_t, count_t> first_position;
    first_position.reserve(p.sends.indices.size());
    for (count_t& position : p.sends.indices) {
        const count_t id = ids[static_cast<std::size_t>(position)];
        position = first_position.try_emplace(id, position).first->second;
    }
}

}  // namespace

void neighbor_list::append(rank_t rank, std::span<const count_t> entry_indices) {
    ranks.push_back(rank);
    indices.insert(indices.end(), entry_indices.begin(), entry_indices.end());
    offsets.push_back(static_cast<count_t>(indices.size()));
}

void validate(const pattern& p) {
    if (p.rank < 0 || p.rank >= p.num_ranks) {
        throw_error_of(p.rank, errc::rank_out_of_range, "rank {} is outside [0, {})", p.rank,
                       p.num_ranks);
    }
    validate_side(p, {p.sends, "destination", "source", "item", p.num_items});
    validate_side(p, {p.receives, "source", "destination", "slot", p.num_slots});
    validate_slots_filled_once(p);
}

pattern pattern_from_neighbor_alltoallv(rank_t rank, rank_t num_ranks,
                                        const neighbor_alltoallv_arguments& arguments) {
    pattern result{.rank = rank, .num_ranks = num_ranks, .sends = {}, .receives = {}};
    result.num_items = list_positions(rank,
                                      {"destination", arguments.destinations, arguments.send_counts,
                                       arguments.send_displacements},
                                      result.sends);
    result.num_slots = list_positions(
        rank,
        {"source", arguments.sources, arguments.receive_counts, arguments.receive_displacements},
        result.receives);
    if (!arguments.send_ids.empty()) unite_equal_ids(result, arguments.send_ids);
    validate(result);
    return result;
}

local_columns renumber_columns(count_t first_owned, count_t num_owned,
                               std::span<const count_t> columns) {
    if (first_owned < 0 || num_owned < 0) {
        throw_error(errc::invalid_argument, "a rank cannot own {} columns from {} on", num_owned,
                    first_owned);
    }
    local_columns result;
    auto& [ghosts, local] = result;
    const auto is_owned = [&](count_t column) {
        return column >= first_owned && column - first_owned < num_owned;
    };
    for (const count_t column : columns) {
        if (column < 0) {
            throw_error(errc::index_out_of_range, "column {} is negative; the minimum is 0",
                        column);
        }
        if (!is_owned(column)) ghosts.push_back(column);
    }
    std::sort(ghosts.begin(), ghosts.end());
    ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());
    ghosts.shrink_to_fit();
    local.reserve(columns.size());
    for (const count_t column : columns) {
        if (is_owned(column)) {
            local.push_back(column - first_owned);
        } else {
            const auto ghost = std::lower_bound(ghosts.begin(), ghosts.end(), column);
            local.push_back(num_owned + (ghost - ghosts.begin()));
        }
    }
    return result;
}

}  // namespace crossdock
