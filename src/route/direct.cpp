#include "direct.hpp"

namespace crossdock {

void reject_parameters(std::string_view name, std::string_view parameters) {
    if (parameters.empty()) return;
    throw error(errc::invalid_route, "route " + std::string(name) +
                                         " takes no parameters, but got \"" +
                                         std::string(parameters) + "\"");
}

std::unique_ptr<route> direct_route::make(std::string_view parameters, const topology& regions) {
    reject_parameters("direct", parameters);
    return std::unique_ptr<route>(new direct_route("direct", regions));
}

rank_t direct_route::next_hop(rank_t, rank_t destination, int, const leader_table&) const {
    return destination;
}

stage_partners direct_route::partners(rank_t here, int) const {
    std::vector<rank_t> others;
    for (rank_t rank = 0; rank < regions().num_ranks(); ++rank) {
        if (rank != here) others.push_back(rank);
    }
    return {others, others};
}

count_t direct_route::max_messages_per_rank() const { return regions().num_ranks() - 1; }

}  // namespace crossdock
