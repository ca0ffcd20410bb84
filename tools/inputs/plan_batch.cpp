#include "plan_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "src/array/array_index.hpp"
#include "src/array/combining_router.hpp"

namespace crossdock {

namespace {

void check_sizes(const topology& regions, const block_partition& owners, std::size_t num_lists) {
    const auto num_ranks = static_cast<std::size_t>(regions.num_ranks());
    if (owners.num_ranks() == regions.num_ranks() && num_lists == num_ranks) return;
    throw error(errc::size_mismatch,
                fmt::format("a topology of {} ranks, an array on {}, and requests of {}", num_ranks,
                            owners.num_ranks(), num_lists));
}

// One rank, with what it sent in a stage, which its partners read.
template <class Index>
struct rank_state {
    batch_route routing;
    combining_router<Index> router;
    std::vector<std::unique_ptr<std::byte[]>> sent;

    rank_state(std::string_view route_name, const topology& regions, const block_partition& owners,
               rank_t rank, const request_traits& kind)
        : routing(route_name, regions, owners, rank), router(routing, kind) {}
};

template <class Index>
using all_states = std::vector<std::unique_ptr<rank_state<Index>>>;

template <class Index>
void send_stage(const all_states<Index>& ranks, std::size_t stage) {
    for (const auto& one : ranks) {
        const auto& destinations = one->routing.stages[stage].destinations;
        for (std::size_t d = 0; d < destinations.size(); ++d) {
            const count_t bytes = one->router.packed_bytes(one->router.num_requests(stage, d));
            one->sent.push_back(
                std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes)));
            one->router.pack(stage, d, one->sent.back().get());
        }
    }
}

// What a rank sent in the stage is the last that it sent.
template <class Index>
packed_requests message_between(const rank_state<Index>& source, std::size_t stage, rank_t here) {
    const auto& destinations = source.routing.stages[stage].destinations;
    const auto d = static_cast<std::size_t>(
        std::lower_bound(destinations.begin(), destinations.end(), here) - destinations.begin());
    return {source.router.num_requests(stage, d),
            source.sent[source.sent.size() - destinations.size() + d].get()};
}

template <class Index>
void receive_stage(const all_states<Index>& ranks, std::size_t stage) {
    std::vector<packed_requests> came;
    for (const auto& one : ranks) {
        came.clear();
        for (const rank_t source : one->routing.stages[stage].sources) {
            came.push_back(message_between(*ranks[static_cast<std::size_t>(source)], stage,
                                           one->routing.here));
        }
        one->router.take(stage, came);
    }
}

template <class Index>
array_statistics count_all(const rank_state<Index>& one) {
    array_statistics result;
    one.router.count(result);
    for (std::size_t stage = 0; stage < one.routing.num_stages(); ++stage) {
        for (std::size_t d = 0; d < one.routing.stages[stage].destinations.size(); ++d)
            count_message(one.routing, stage, d, one.router.num_requests(stage, d), result);
    }
    return result;
}

template <class Index>
std::vector<planned_batch> plan_all(const topology& regions, const block_partition& owners,
                                    std::string_view route_name, const request_traits& kind,
                                    std::span<const std::vector<count_t>> indices,
                                    bool with_plans) {
    all_states<Index> ranks;
    for (rank_t rank = 0; rank < regions.num_ranks(); ++rank) {
        ranks.push_back(
            std::make_unique<rank_state<Index>>(route_name, regions, owners, rank, kind));
        ranks.back()->router.start(
            to_indices<Index>(indices[static_cast<std::size_t>(rank)], owners.num_entries(), rank),
            nullptr);
    }
    for (std::size_t stage = 0; stage < ranks.front()->routing.num_stages(); ++stage) {
        send_stage(ranks, stage);
        receive_stage(ranks, stage);
    }
    std::vector<planned_batch> result(ranks.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        result[rank].statistics = count_all(*ranks[rank]);
        if (with_plans) result[rank].again = ranks[rank]->router.make_plan();
    }
    return result;
}

}  // namespace

std::vector<planned_batch> plan_batch(const topology& regions, const block_partition& owners,
                                      std::string_view route_name, const combining_options& options,
                                      std::span<const std::vector<count_t>> indices,
                                      bool with_plans) {
    check_sizes(regions, owners, indices.size());
    return with_index_type(owners.num_entries(), [&](auto index) {
        return plan_all<decltype(index)>(regions, owners, route_name, {options, nullptr, 1},
                                         indices, with_plans);
    });
}

}  // namespace crossdock
