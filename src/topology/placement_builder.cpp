#include "placement_builder.hpp"

#include <limits>
#include <utility>

#include "../base/throw_error.hpp"

namespace crossdock {

namespace {

// Lets `code` take one more run, if the run follows its rule.
bool extend(placement& code, region_t region, rank_t count) {
    const bool last_run_is_short = code.num_ranks % code.run_length != 0;
    if (last_run_is_short || count > code.run_length) return false;
    const rank_t num_runs = code.num_ranks / code.run_length;
    const region_t offset = region - code.first_region;
    if (offset == num_runs && num_runs == code.num_regions) {
        ++code.num_regions;
    } else if (offset != num_runs % code.num_regions) {
        return false;
    }
    code.num_ranks += count;
    return true;
}

}  // namespace

void placement_builder::append(region_t region, rank_t count) {
    constexpr rank_t limit = std::numeric_limits<rank_t>::max();
    if (region != open_region_) {
        close_run();
        open_region_ = region;
    }
    if (count > limit - num_ranks_ - open_count_) {
        throw_error(errc::invalid_topology, "a topology of {} ranks: at most {} can be numbered",
                    count_t{num_ranks_} + open_count_ + count, limit);
    }
    open_count_ += count;
}

void placement_builder::append(const placement& code) {
    for_each_run(code, [this](region_t region, rank_t count) { append(region, count); });
}

std::vector<placement> placement_builder::finish() && {
    close_run();
    return std::move(code_);
}

void placement_builder::close_run() {
    if (open_count_ == 0) return;
    if (code_.empty() || !extend(code_.back(), open_region_, open_count_)) {
        code_.push_back({num_ranks_, open_count_, open_region_, 1, open_count_});
    }
    num_ranks_ += std::exchange(open_count_, 0);
}

}  // namespace crossdock
