#include "crossdock/plan.hpp"

#include "../base/throw_error.hpp"
#include "planning_rounds.hpp"

namespace crossdock {

namespace {

void check_patterns(const topology& regions, std::span<const pattern> patterns) {
    if (patterns.size() != static_cast<std::size_t>(regions.num_ranks())) {
        throw_error(errc::size_mismatch, "there are {} patterns for {} ranks; give one for each",
                    patterns.size(), regions.num_ranks());
    }
    for (std::size_t p = 0; p < patterns.size(); ++p) {
        validate(patterns[p]);
        if (patterns[p].rank != static_cast<rank_t>(p) ||
            patterns[p].num_ranks != regions.num_ranks()) {
            throw_error(errc::size_mismatch,
                        "pattern {} is of rank {} of {}, expected rank {} of {}", p,
                        patterns[p].rank, patterns[p].num_ranks, p, regions.num_ranks());
        }
    }
}

}  // namespace

std::vector<plan> compile(const topology& regions, std::span<const pattern> patterns,
                          const route& r, const compile_options& options) {
    check_patterns(regions, patterns);
    std::vector<plan_compiler> ranks;
    ranks.reserve(patterns.size());
    for (const auto& p : patterns) ranks.emplace_back(regions, p, r, options);

    run_planning_rounds(ranks, [](int, const auto&) {});
    return finish_all(ranks);
}

}  // namespace crossdock
