#include <fmt/format.h>

#include "crossdock/schedule.hpp"
#include "operation_pricer.hpp"
#include "plan_writer.hpp"

namespace crossdock {

namespace {

void check_num_plans(const rank_layout& layout, std::span<const plan> plans) {
    if (plans.size() == static_cast<std::size_t>(layout.num_ranks())) return;
    throw error(errc::size_mismatch,
                fmt::format("there are {} plans, but {} ranks", plans.size(), layout.num_ranks()));
}

}  // namespace

schedule schedule_of(const rank_layout& layout, std::span<const plan> plans,
                     const travel_options& options) {
    check_num_plans(layout, plans);
    schedule result;
    for (const auto& p : plans) plan_writer<schedule, true>(layout, p, options, result).write();
    return result;
}

std::vector<std::vector<stage_price>> price_by_rank(const rank_layout& layout,
                                                    std::span<const plan> plans, const machine& m,
                                                    const travel_options& options) {
    check_num_plans(layout, plans);
    operation_pricer prices(layout, m, plans.front().stages().size());
    for (const auto& p : plans)
        plan_writer<operation_pricer, false>(layout, p, options, prices).write();
    return prices.prices();
}

plan_price price(const rank_layout& layout, std::span<const plan> plans, const machine& m,
                 const travel_options& options) {
    return summarize(price_by_rank(layout, plans, m, options), m);
}

}  // namespace crossdock
