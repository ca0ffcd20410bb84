#include "crossdock/exchange_algorithm.hpp"

#include <tuple>

#include "agreement.hpp"

namespace crossdock {

exchange_traffic_summary summarize(std::span<const exchange_traffic> per_rank) {
    const auto field = [&](count_t exchange_traffic::*member) {
        std::vector<count_t> values;
        values.reserve(per_rank.size());
        for (const auto& rank : per_rank) values.push_back(rank.*member);
        return summarize(values);
    };
    return {field(&exchange_traffic::messages), field(&exchange_traffic::message_bytes),
            field(&exchange_traffic::inter_region_messages),
            field(&exchange_traffic::inter_region_message_bytes)};
}

count_t reduction_words(const exchange_algorithm& algorithm, rank_t num_ranks) {
    constexpr count_t num_votes = std::tuple_size_v<summed_votes::words>;
    constexpr count_t num_words_of_rma = 6;
    switch (algorithm.method) {
        case exchange_method::personalized:
        case exchange_method::locality_personalized: return num_ranks + num_votes;
        case exchange_method::reduce_scatter: return num_ranks * num_votes;
        case exchange_method::nonblocking:
        case exchange_method::locality_nonblocking: return num_votes;
        case exchange_method::rma:
        case exchange_method::rma_fence:
        case exchange_method::locality_rma: return num_words_of_rma;
        case exchange_method::shared_memory:
        case exchange_method::routed: break;
    }
    return 0;
}

}  // namespace crossdock
