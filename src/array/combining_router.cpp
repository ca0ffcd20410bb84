#include "combining_router.hpp"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "crossdock/base/item_bytes.hpp"

namespace crossdock {

namespace {

constexpr std::size_t alignment = alignof(std::max_align_t);
constexpr std::size_t stretch_length = 1024;
constexpr count_t most_positions_per_delivery = 4;  // for a table of positions

std::size_t padded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// to[k] = from[positions[k]]
template <class Position>
void gather(std::byte* to, const std::byte* from, std::span<const Position> positions,
            std::size_t item_bytes) {
    with_item_bytes(item_bytes, [&](auto bytes) {
        for (std::size_t k = 0; k < positions.size(); ++k)
            std::memcpy(to + k * bytes, from + static_cast<std::size_t>(positions[k]) * bytes,
                        bytes);
    });
}

// to[positions[k]] = from[k]
template <class Position>
void scatter(std::byte* to, const std::byte* from, std::span<const Position> positions,
             std::size_t item_bytes) {
    with_item_bytes(item_bytes, [&](auto bytes) {
        for (std::size_t k = 0; k < positions.size(); ++k)
            std::memcpy(to + static_cast<std::size_t>(positions[k]) * bytes, from + k * bytes,
                        bytes);
    });
}

// Copies `count` items and moves `to` behind them.
void append(std::byte*& to, const void* from, std::size_t count, std::size_t item_bytes) {
    if (count > 0) std::memcpy(to, from, count * item_bytes);
    to += count * item_bytes;
}

template <class Runs>
std::size_t total_length(const Runs& runs) {
    return std::accumulate(runs.begin(), runs.end(), std::size_t{0},
                           [](std::size_t sum, const auto& one) { return sum + one.length; });
}

// What an operation threw, with where it did: the user's mistake, unless it says what it is.
template <class Index>
error operation_error(rank_t rank, Index index) {
    const auto with_rank = [&](errc code, const char* what) {
        return error(
            code, fmt::format("an operation threw at rank {} for index {}: {}", rank, index, what),
            rank);
    };
    try {
        throw;
    } catch (const error& known) {
        return with_rank(known.code(), known.what());
    } catch (const std::exception& other) {
        return with_rank(errc::invalid_argument, other.what());
    } catch (...) {
        return with_rank(errc::invalid_argument, "not a std::exception");
    }
}

// Slot s wants positions[s].
std::vector<delivery> unsorted_deliveries(const std::vector<count_t>& positions) {
    std::vector<delivery> deliveries;
    deliveries.reserve(positions.size());
    for (const count_t position : positions)
        deliveries.push_back({position, static_cast<count_t>(deliveries.size())});
    return deliveries;
}

// Sorted by position, in linear time unless most positions of a large part are of no request.
std::vector<delivery> deliveries_of(const std::vector<count_t>& positions, count_t num_positions) {
    auto deliveries = unsorted_deliveries(positions);
    const auto by_position = [](const auto& a, const auto& b) { return a.position < b.position; };
    if (num_positions > most_positions_per_delivery * std::ssize(deliveries)) {
        std::stable_sort(deliveries.begin(), deliveries.end(), by_position);
        return deliveries;
    }
    std::vector<std::size_t> next(static_cast<std::size_t>(num_positions) + 1);
    for (const count_t position : positions) ++next[static_cast<std::size_t>(position) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<delivery> sorted(deliveries.size());
    for (const auto& one : deliveries) sorted[next[static_cast<std::size_t>(one.position)]++] = one;
    return sorted;
}

}  // namespace

// Which of a stage's destinations a request for an owner goes to; their number if it stays.
template <class Index>
class combining_router<Index>::hop_finder {
  public:
    hop_finder(const request_routing& routing, std::size_t stage)
        : routing_(routing), stage_(stage) {}

    std::size_t of(rank_t owner) const {
        const auto& destinations = routing_.stages[stage_].destinations;
        const rank_t next =
            owner == routing_.here
                ? owner
                : routing_.r->next_hop(routing_.here, owner, static_cast<int>(stage_), no_leaders_);
        if (next == routing_.here) return destinations.size();
        return static_cast<std::size_t>(
            std::lower_bound(destinations.begin(), destinations.end(), next) -
            destinations.begin());
    }

  private:
    const request_routing& routing_;
    std::size_t stage_;
    leader_table no_leaders_;
};

// Remembers them: in a table by owner where that is no longer than the requests.
template <class Index>
class combining_router<Index>::hop_table {
  public:
    hop_table(const hop_finder& hops, const block_partition& owners, std::size_t num_requests)
        : hops_(hops) {
        const auto num_ranks = static_cast<std::size_t>(owners.num_ranks());
        if (num_ranks <= num_requests) by_owner_.assign(num_ranks, unknown);
    }

    position_t of(rank_t owner) {
        position_t& hop = by_owner_.empty() ? some_.try_emplace(owner, unknown).first->second
                                            : by_owner_[static_cast<std::size_t>(owner)];
        if (hop == unknown) hop = static_cast<position_t>(hops_.of(owner));
        return hop;
    }

  private:
    static constexpr position_t unknown = std::numeric_limits<position_t>::max();

    const hop_finder& hops_;
    std::vector<position_t> by_owner_;
    absl::flat_hash_map<rank_t, position_t> some_;
};

template <class Index>
std::size_t combining_router<Index>::hop::num_requests() const {
    return std::accumulate(
        lists.begin(), lists.end(), std::size_t{0},
        [](std::size_t sum, const auto& list) { return sum + list.indices.size(); });
}

template <class Index>
combining_router<Index>::combining_router(const request_routing& routing, const request_kind& kind,
                                          std::pmr::memory_resource* memory)
    : routing_(routing),
      kind_(kind),
      memory_(memory),
      first_entry_(routing.owners.first(routing.here)),
      own_(memory) {
    for (std::size_t l = 0; l <= routing.num_stages(); ++l) hops_.emplace_back(memory);
}

template <class Index>
std::size_t combining_router<Index>::value_bytes() const noexcept {
    return has_values() ? kind_.operation->value_bytes() : 0;
}

template <class Index>
bool combining_router<Index>::has_return_slots() const noexcept {
    const auto strategy = kind_.combine.strategy;
    return kind_.reply_bytes > 0 &&
           (strategy == combining::envelope_hash || strategy == combining::envelope_sort);
}

template <class Index>
combining combining_router<Index>::strategy_at(std::size_t l) const noexcept {
    const auto strategy = kind_.combine.strategy;
    if (l == num_stages()) return strategy == combining::none ? combining::sort : strategy;
    const bool is_wanted = l == 0 ? kind_.combine.locally : kind_.combine.on_the_way;
    return is_wanted ? strategy : combining::none;
}

template <class Index>
bool combining_router<Index>::is_sorted_at(std::size_t l) const noexcept {
    const auto strategy = strategy_at(l);
    return strategy == combining::sort || strategy == combining::envelope_sort ||
           strategy == combining::search_tree;
}

template <class Index>
void combining_router<Index>::start(raw_vector<Index>&& indices, const std::byte* values) {
    own_ = std::move(indices);
    hops_[0].lists = {{own_, {}, values, false}};
    combine(0);
}

template <class Index>
void combining_router<Index>::combine(std::size_t l) {
    hop& at = hops_[l];
    at.held.combine(strategy_at(l), at.lists, routing_.owners.num_entries());
    if (l < num_stages()) {
        if (at.held.is_sorted()) {
            find_runs(l);
        } else {
            arrange(l);
        }
    }
    if (has_values()) combine_values(at);
}

template <class Index>
void combining_router<Index>::combine_values(hop& at) {
    const auto num_held = static_cast<std::size_t>(at.held.size());
    at.values = raw_buffer(num_held * value_bytes(), memory_);
    std::pmr::vector<std::uint8_t> is_set(memory_);
    if (!kind_.operation->fill_with_identity(at.values.data(), num_held)) is_set.resize(num_held);
    for (std::size_t l = 0; l < at.lists.size(); ++l) {
        const auto& list = at.lists[l];
        at.held.for_each_stretch(
            l, list.indices, [&](std::size_t first, std::span<const position_t> positions) {
                std::size_t failed_at = 0;
                try {
                    kind_.operation->combine(at.values.data(), is_set.data(),
                                             list.values + first * value_bytes(), positions,
                                             failed_at);
                } catch (...) {
                    throw operation_error(routing_.here, list.indices[first + failed_at]);
                }
            });
    }
}

// An owner's entries are one stretch of what is sorted.
template <class Index>
void combining_router<Index>::find_runs(std::size_t l) {
    hop& at = hops_[l];
    const hop_finder hops(routing_, l);
    at.leaving.assign(routing_.stages[l].destinations.size() + 1, {});
    const auto& indices = at.held.indices();
    for (auto first = indices.begin(); first != indices.end();) {
        const rank_t owner = routing_.owners.owner(static_cast<count_t>(*first));
        const count_t end = routing_.owners.first(owner + 1);
        const auto last = std::partition_point(
            first, indices.end(), [&](Index index) { return static_cast<count_t>(index) < end; });
        auto& runs = at.leaving[hops.of(owner)];
        const auto begins_at = static_cast<std::size_t>(first - indices.begin());
        const auto length = static_cast<std::size_t>(last - first);
        if (!runs.empty() && runs.back().first + runs.back().length == begins_at) {
            runs.back().length += length;
        } else {
            runs.push_back({begins_at, length});
        }
        first = last;
    }
}

// What is in no order is put in the order of where it goes.
template <class Index>
void combining_router<Index>::arrange(std::size_t l) {
    hop& at = hops_[l];
    const hop_finder finder(routing_, l);
    hop_table table(finder, routing_.owners, at.held.indices().size());
    const auto& indices = at.held.indices();
    raw_vector<position_t> positions(indices.size(), memory_);
    std::vector<position_t> num_leaving(routing_.stages[l].destinations.size() + 1);
    // In two loops, so that neither waits for the other's chain.
    for (std::size_t i = 0; i < indices.size(); ++i)
        positions[i] =
            static_cast<position_t>(routing_.owners.owner(static_cast<count_t>(indices[i])));
    for (position_t& position : positions) {
        position = table.of(static_cast<rank_t>(position));
        ++num_leaving[position];
    }
    at.leaving.assign(num_leaving.size(), {});
    position_t first = 0;
    for (std::size_t d = 0; d < num_leaving.size(); ++d) {
        if (num_leaving[d] > 0) at.leaving[d].push_back({first, num_leaving[d]});
        first += num_leaving[d];
        num_leaving[d] = first - num_leaving[d];
    }
    for (position_t& position : positions) position = num_leaving[position]++;
    at.held.rearrange(std::move(positions));
}

template <class Index>
count_t combining_router<Index>::num_requests(std::size_t stage, std::size_t d) const {
    return static_cast<count_t>(total_length(hops_[stage].leaving[d]));
}

template <class Index>
count_t combining_router<Index>::packed_bytes(count_t num_requests) const {
    const auto count = static_cast<std::size_t>(num_requests);
    return static_cast<count_t>(padded(count * sizeof(Index)) +
                                padded(has_return_slots() ? count * sizeof(position_t) : 0) +
                                padded(count * value_bytes()));
}

template <class Index>
void combining_router<Index>::pack(std::size_t stage, std::size_t d, std::byte* to) const {
    const hop& at = hops_[stage];
    const auto& runs = at.leaving[d];
    const std::size_t count = total_length(runs);
    std::byte* index = to;
    for (const auto& [first, length] : runs)
        append(index, at.held.indices().data() + first, length, sizeof(Index));
    to += padded(count * sizeof(Index));
    if (has_return_slots()) {
        std::byte* slot = to;
        for (const auto& [first, length] : runs) {
            for (std::size_t position = first; position < first + length; ++position) {
                const auto number = static_cast<position_t>(position);
                append(slot, &number, 1, sizeof number);
            }
        }
        to += padded(count * sizeof(position_t));
    }
    if (!has_values()) return;
    for (const auto& [first, length] : runs)
        append(to, at.values.data() + first * value_bytes(), length, value_bytes());
}

template <class Index>
request_list<Index> combining_router<Index>::what_stays(std::size_t l) {
    hop& at = hops_[l];
    const auto& runs = at.leaving.back();
    const bool is_sorted = is_sorted_at(l);
    if (runs.empty()) return {{}, {}, nullptr, is_sorted};
    if (runs.size() == 1) {
        const auto [first, length] = runs.front();
        return {std::span(at.held.indices()).subspan(first, length),
                {},
                has_values() ? at.values.data() + first * value_bytes() : nullptr,
                is_sorted};
    }
    hop& next = hops_[l + 1];
    for (const auto& [first, length] : runs) {
        const auto begin = at.held.indices().begin() + static_cast<std::ptrdiff_t>(first);
        next.stayed.insert(next.stayed.end(), begin, begin + static_cast<std::ptrdiff_t>(length));
    }
    if (has_values()) {
        next.stayed_values = raw_buffer(next.stayed.size() * value_bytes(), memory_);
        std::byte* to = next.stayed_values.data();
        for (const auto& [first, length] : runs)
            append(to, at.values.data() + first * value_bytes(), length, value_bytes());
    }
    return {next.stayed, {}, next.stayed_values.data(), is_sorted};
}

template <class Index>
void combining_router<Index>::take(std::size_t stage,
                                   std::span<const packed_requests> from_sources) {
    hop& next = hops_[stage + 1];
    next.lists = {what_stays(stage)};
    for (const auto& [num_requests, data] : from_sources) {
        const auto count = static_cast<std::size_t>(num_requests);
        const auto* const slots = data + padded(count * sizeof(Index));
        const std::size_t slot_bytes = has_return_slots() ? padded(count * sizeof(position_t)) : 0;
        next.lists.push_back(
            {std::span(reinterpret_cast<const Index*>(data), count),
             std::span(reinterpret_cast<const position_t*>(slots), has_return_slots() ? count : 0),
             has_values() ? slots + slot_bytes : nullptr, is_sorted_at(stage)});
    }
    const bool is_owner = stage + 1 == num_stages();
    if (!is_owner || (has_values() && kind_.operation->combines_at_owner())) combine(stage + 1);
}

template <class Index>
count_t combining_router<Index>::offset_of(Index index) const {
    return static_cast<count_t>(index) - first_entry_;
}

template <class Index>
std::vector<count_t> combining_router<Index>::offsets() const {
    std::vector<count_t> result;
    for (const auto& list : hops_.back().lists) {
        for (const Index index : list.indices) result.push_back(offset_of(index));
    }
    return result;
}

template <class Index>
void combining_router<Index>::apply(std::byte* entries) const {
    std::array<count_t, stretch_length> offsets;
    const auto apply_all = [&](std::span<const Index> indices, const std::byte* values) {
        for (std::size_t first = 0; first < indices.size(); first += stretch_length) {
            const std::size_t length = std::min(stretch_length, indices.size() - first);
            for (std::size_t k = 0; k < length; ++k) offsets[k] = offset_of(indices[first + k]);
            std::size_t failed_at = 0;
            try {
                kind_.operation->apply(entries, values + first * value_bytes(),
                                       std::span<const count_t>(offsets.data(), length), failed_at);
            } catch (...) {
                throw operation_error(routing_.here, indices[first + failed_at]);
            }
        }
    };
    const hop& owner = hops_.back();
    if (kind_.operation->combines_at_owner()) {
        apply_all(owner.held.indices(), owner.values.data());
    } else {
        for (const auto& list : owner.lists) apply_all(list.indices, list.values);
    }
}

template <class Index>
count_t combining_router<Index>::num_arrived(std::size_t stage, std::size_t i) const {
    return static_cast<count_t>(hops_[stage + 1].lists[i + 1].indices.size());
}

template <class Index>
count_t combining_router<Index>::reply_bytes(count_t num_requests) const {
    const auto count = static_cast<std::size_t>(num_requests);
    return static_cast<count_t>((has_return_slots() ? padded(count * sizeof(position_t)) : 0) +
                                count * kind_.reply_bytes);
}

// The replies to one list of hop l, in its order.
template <class Index>
void combining_router<Index>::copy_replies(std::size_t l, std::size_t list, std::byte* to) const {
    const hop& at = hops_[l];
    const auto indices = at.lists[list].indices;
    const std::size_t item_bytes = kind_.reply_bytes;
    if (l == num_stages()) {
        with_item_bytes(item_bytes, [&](auto bytes) {
            for (std::size_t k = 0; k < indices.size(); ++k) {
                const auto offset = static_cast<std::size_t>(offset_of(indices[k]));
                std::memcpy(to + k * bytes, entries_ + offset * bytes, bytes);
            }
        });
        return;
    }
    at.held.for_each_stretch(
        list, indices, [&](std::size_t first, std::span<const position_t> positions) {
            gather(to + first * item_bytes, at.replies.data(), positions, item_bytes);
        });
}

template <class Index>
void combining_router<Index>::pack_replies(std::size_t stage, std::size_t i, std::byte* to) const {
    if (has_return_slots()) {
        const auto slots = hops_[stage + 1].lists[i + 1].return_slots;
        std::memcpy(to, slots.data(), slots.size_bytes());
        to += padded(slots.size_bytes());
    }
    copy_replies(stage + 1, i + 1, to);
}

template <class Index>
void combining_router<Index>::take_replies(std::size_t stage, std::size_t d,
                                           const std::byte* from) {
    hop& at = hops_[stage];
    const auto& runs = at.leaving[d];
    const std::size_t count = total_length(runs);
    if (has_return_slots()) {
        const std::span slots(reinterpret_cast<const position_t*>(from), count);
        scatter(at.replies.data(), from + padded(slots.size_bytes()), slots, kind_.reply_bytes);
        return;
    }
    for (const auto& [first, length] : runs) {
        const std::size_t bytes = length * kind_.reply_bytes;
        std::memcpy(at.replies.data() + first * kind_.reply_bytes, from, bytes);
        from += bytes;
    }
}

template <class Index>
void combining_router<Index>::split(std::size_t stage) {
    hop& at = hops_[stage];
    at.replies = raw_buffer(static_cast<std::size_t>(at.held.size()) * kind_.reply_bytes, memory_);
    const auto& runs = at.leaving.back();
    if (runs.empty()) return;
    if (runs.size() == 1) {
        copy_replies(stage + 1, 0, at.replies.data() + runs.front().first * kind_.reply_bytes);
        return;
    }
    const raw_buffer stayed(total_length(runs) * kind_.reply_bytes, memory_);
    copy_replies(stage + 1, 0, stayed.data());
    const std::byte* from = stayed.data();
    for (const auto& [first, length] : runs) {
        const std::size_t bytes = length * kind_.reply_bytes;
        std::memcpy(at.replies.data() + first * kind_.reply_bytes, from, bytes);
        from += bytes;
    }
}

template <class Index>
void combining_router<Index>::deliver(std::byte* out) const {
    copy_replies(0, 0, out);
}

template <class Index>
void combining_router<Index>::count(batch_statistics& result) const {
    const auto num_issued = static_cast<count_t>(hops_[0].num_requests());
    result.requests += num_issued;
    result.combined_locally += num_issued - hops_[0].held.size();
    result.stages.resize(num_stages());
    for (std::size_t s = 0; s < num_stages(); ++s) {
        auto& stage = result.stages[s];
        const auto& next = hops_[s + 1];
        const auto num_stayed = static_cast<count_t>(next.lists[0].indices.size());
        const auto num_all = static_cast<count_t>(next.num_requests());
        stage.received += num_all - num_stayed;
        if (s + 1 < num_stages()) stage.combined += num_all - next.held.size();
    }
    const auto& owner = hops_.back();
    result.arrived += static_cast<count_t>(owner.num_requests() - owner.lists[0].indices.size());
}

void count_message(const request_routing& routing, std::size_t stage, std::size_t d,
                   count_t num_requests, batch_statistics& result) {
    result.stages.resize(routing.num_stages());
    auto& counted = result.stages[stage];
    if (num_requests == 0) {
        ++counted.empty_messages;
        return;
    }
    const rank_t destination = routing.stages[stage].destinations[d];
    const bool leaves =
        routing.regions.region_of(destination) != routing.regions.region_of(routing.here);
    counted.sent += {1, num_requests, leaves ? 1 : 0, leaves ? num_requests : 0};
}

// Positions of one list's requests, given those of what is held at its hop.
template <class Index>
std::vector<count_t> combining_router<Index>::positions_at(std::size_t l,
                                                           const std::vector<count_t>& of_held,
                                                           std::size_t list) const {
    std::vector<count_t> positions;
    const auto indices = hops_[l].lists[list].indices;
    positions.reserve(indices.size());
    if (l == num_stages()) {
        for (const Index index : indices) positions.push_back(offset_of(index));
        return positions;
    }
    hops_[l].held.for_each_stretch(list, indices,
                                   [&](std::size_t, std::span<const position_t> of_list) {
                                       for (const position_t position : of_list)
                                           positions.push_back(of_held[position]);
                                   });
    return positions;
}

// Replies travel from the last stage to the first. What a rank holds at a hop has come to it in the
// stages before, on the way back.
template <class Index>
plan combining_router<Index>::make_plan() const {
    const std::size_t last = num_stages() - 1;
    plan::contents result;
    result.rank = routing_.here;
    result.num_ranks = routing_.regions.num_ranks();
    result.route_name = routing_.r->name();
    result.is_deduplicated = kind_.combine.strategy != combining::none && kind_.combine.locally &&
                             kind_.combine.on_the_way;
    result.num_items = routing_.owners.size(routing_.here);
    result.num_slots = static_cast<count_t>(hops_[0].num_requests());
    result.stages.resize(num_stages());
    count_t num_positions = result.num_items;
    std::vector<count_t> of_next;  // positions of what hop s + 1 holds
    for (std::size_t s = num_stages(); s-- > 0;) {
        plan_stage& stage = result.stages[last - s];
        const auto& sources = routing_.stages[s].sources;
        for (std::size_t i = 0; i < sources.size(); ++i) {
            auto positions = positions_at(s + 1, of_next, i + 1);
            if (!positions.empty()) stage.sends.push_back({sources[i], std::move(positions)});
        }
        const hop& at = hops_[s];
        std::vector<count_t> of_held(static_cast<std::size_t>(at.held.size()));
        const auto stayed = positions_at(s + 1, of_next, 0);
        auto next_stayed = stayed.begin();
        for (const auto& [first, length] : at.leaving.back()) {
            for (std::size_t k = 0; k < length; ++k) of_held[first + k] = *next_stayed++;
        }
        const auto& destinations = routing_.stages[s].destinations;
        for (std::size_t d = 0; d < destinations.size(); ++d) {
            const count_t num_received = num_requests(s, d);
            if (num_received == 0) continue;
            stage.receives.push_back({destinations[d], num_positions, num_received});
            for (const auto& [first, length] : at.leaving[d]) {
                for (std::size_t k = 0; k < length; ++k) of_held[first + k] = num_positions++;
            }
        }
        of_next = std::move(of_held);
    }
    result.deliveries = deliveries_of(positions_at(0, of_next, 0), num_positions);
    return plan(std::move(result));
}

template class combining_router<std::uint32_t>;
template class combining_router<std::uint64_t>;

}  // namespace crossdock
