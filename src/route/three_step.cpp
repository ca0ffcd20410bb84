#include "crossdock/route/three_step.hpp"

#include "crossdock/route/direct.hpp"
#include "crossdock/route/two_step.hpp"

namespace crossdock {

std::unique_ptr<route> three_step_route::make(std::string_view parameters,
                                              const topology& regions) {
    reject_parameters("three_step", parameters);
    return std::unique_ptr<route>(new three_step_route("three_step", regions));
}

rank_t three_step_route::next_hop(rank_t here, rank_t destination, int stage,
                                  const speaker_table& speakers) const {
    const region_t region = regions().region_of(destination);
    if (stage == 2 || regions().region_of(here) == region) return destination;
    return stage == 0 ? speakers.senders.at(region) : speakers.receivers.at(region);
}

count_t three_step_route::max_messages_per_rank() const {
    return max_messages_by_region(regions());
}

}  // namespace crossdock
