#include "item_runs.hpp"

#include <algorithm>

namespace crossdock {

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

}  // namespace crossdock
