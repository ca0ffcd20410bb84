#include "stage_headers.hpp"

#include <algorithm>
#include <limits>

namespace crossdock {

namespace {

constexpr std::int64_t other_number_of_items = std::numeric_limits<std::int64_t>::min();

// A rank and a number below 2^32 in one word, which is not negative.
std::int64_t pack(rank_t rank, std::uint32_t number) { return (std::int64_t{rank} << 32) | number; }
rank_t packed_rank(std::int64_t word) { return static_cast<rank_t>(word >> 32); }
std::uint32_t packed_number(std::int64_t word) { return static_cast<std::uint32_t>(word); }

}  // namespace

void item_runs::close(const item_run& run) {
    const std::size_t first = std::exchange(num_closed_targets_, targets_.size());
    if (first == targets_.size()) return;
    runs_.push_back(run);
    runs_.back().first_target = first;
    runs_.back().num_targets = targets_.size() - first;
}

void item_runs::close_or_extend(const item_run& run) {
    if (!is_continued_by(run.source)) return close(run);
    extend_last(run.num_items);
    targets_.resize(num_closed_targets_);
}

// Whether the open targets are those of the last run, for the items that follow its.
bool item_runs::is_continued_by(rank_t source) const {
    if (runs_.empty()) return false;
    const auto& last = runs_.back();
    const auto next = open_targets();
    const auto continues = [&](const run_target& a, const run_target& b) {
        return a.destination == b.destination && a.ordinal + last.num_items == b.ordinal;
    };
    return last.source == source && std::ranges::equal(targets_of(last), next, continues);
}

std::int64_t header_reader::word() {
    const std::int64_t first = words_.front();
    words_ = words_.subspan(1);
    return first;
}

item_run header_reader::run() {
    const std::int64_t head = word();
    const std::int64_t ends = head & ~other_number_of_items;
    item_run result;
    result.source = packed_rank(ends);
    result.num_targets = packed_number(ends);
    result.num_items = head < 0 ? word() : 1;
    return result;
}

run_target header_reader::target() {
    const std::int64_t one = word();
    return {packed_rank(one), packed_number(one)};
}

std::size_t stage_headers::place_of(rank_t peer) {
    const auto [found, is_new] = places_.try_emplace(peer, entries_.size());
    if (is_new) entries_.push_back({peer});
    return found->second;
}

void stage_headers::add_target(std::size_t place, const run_target& target) {
    auto& runs = entries_[place].runs;
    if (runs.open_targets().empty()) open_.push_back(place);
    runs.add_target(target);
}

void stage_headers::send_run(const item_run& run, std::span<const count_t> item_positions) {
    for (const std::size_t place : open_) {
        auto& to = entries_[place];
        if (item_positions.empty()) {
            add_positions(to, run.num_items,
                          [&](count_t k) { return run.first_position + k * run.stride; });
        } else {
            add_positions(to, run.num_items,
                          [&](count_t k) { return item_positions[static_cast<std::size_t>(k)]; });
            add_destinations(to, run.num_items);
        }
        to.runs.close_or_extend(run);
    }
    open_.clear();
}

void stage_headers::send_list(rank_t source, rank_t destination,
                              std::span<const count_t> positions) {
    if (positions.empty()) return;
    auto& to = entries_[place_of(destination)];
    to.positions.assign(positions.begin(), positions.end());
    to.runs.add_target({destination, 0});
    add_destinations(to, static_cast<count_t>(positions.size()));
    to.runs.close({source, static_cast<count_t>(positions.size())});
}

template <class PositionOf>
void stage_headers::add_positions(entry& to, count_t num_items, PositionOf&& position_of) const {
    const auto targets = to.runs.open_targets();
    const std::size_t num_copies = shares_copies_ ? 1 : targets.size();
    const std::size_t first = to.positions.size();
    to.positions.resize(first + static_cast<std::size_t>(num_items) * num_copies);
    auto next = to.positions.begin() + static_cast<std::ptrdiff_t>(first);
    for (count_t k = 0; k < num_items; ++k) {
        for (std::size_t c = 0; c < num_copies; ++c) *next++ = position_of(k) + targets[c].offset;
    }
}

void stage_headers::add_destinations(entry& to, count_t num_items) const {
    if (shares_copies_) return;
    const auto targets = to.runs.open_targets();
    if (targets.size() == 1) {
        to.destinations.resize(to.destinations.size() + static_cast<std::size_t>(num_items),
                               targets.front().destination);
        return;
    }
    for (count_t k = 0; k < num_items; ++k)
        for (const auto& target : targets) to.destinations.push_back(target.destination);
}

std::vector<word_message> stage_headers::take(std::vector<outgoing_message>& sends,
                                              std::vector<rank_t>& destinations) {
    std::sort(entries_.begin(), entries_.end(),
              [](const auto& a, const auto& b) { return a.peer < b.peer; });
    std::vector<word_message> headers;
    headers.reserve(entries_.size());
    for (auto& one : entries_) {
        headers.push_back({one.peer, header_of(one)});
        destinations.insert(destinations.end(), one.destinations.begin(), one.destinations.end());
        if (!one.positions.empty()) sends.push_back({one.peer, std::move(one.positions)});
    }
    return headers;
}

std::vector<std::int64_t> stage_headers::header_of(const entry& from) {
    std::vector<std::int64_t> words;
    words.reserve(1 + from.receivers.size() + 2 * from.runs.runs().size() +
                  from.runs.num_targets());
    words.push_back(static_cast<std::int64_t>(from.receivers.size()));
    words.insert(words.end(), from.receivers.begin(), from.receivers.end());
    for (const auto& run : from.runs.runs()) {
        const auto head = pack(run.source, checked_cast<std::uint32_t>(run.num_targets));
        words.push_back(run.num_items == 1 ? head : head | other_number_of_items);
        if (run.num_items != 1) words.push_back(run.num_items);
        for (const auto& target : from.runs.targets_of(run))
            words.push_back(pack(target.destination, target.ordinal));
    }
    return words;
}

}  // namespace crossdock
