#include <utility>

#include "routes.hpp"

namespace crossdock {

namespace {

// One hop: every rank sends to each of its destinations itself. At most P - 1 messages per rank.
class direct_route final : public route {
  public:
    direct_route(std::string name, const topology& regions) : route(std::move(name), regions) {}

    int num_stages() const override { return 1; }

    rank_t next_hop(rank_t, rank_t destination, int, const leader_table&) const override {
        return destination;
    }

    stage_partners partners(rank_t here, int) const override {
        std::vector<rank_t> others;
        for (rank_t rank = 0; rank < regions().num_ranks(); ++rank) {
            if (rank != here) others.push_back(rank);
        }
        return {others, others};
    }

    count_t max_messages_per_rank() const override { return regions().num_ranks() - 1; }
};

}  // namespace

std::unique_ptr<route> make_direct(std::string_view parameters, const topology& regions) {
    reject_parameters("direct", parameters);
    return make_one_hop("direct", regions);
}

std::unique_ptr<route> make_one_hop(std::string name, const topology& regions) {
    return std::make_unique<direct_route>(std::move(name), regions);
}

}  // namespace crossdock
