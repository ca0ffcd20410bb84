#include "batch_router.hpp"

#include <numeric>

#include "array_index.hpp"

namespace crossdock {

template <class Index>
void batch_router<Index>::start(request_type type, const request_traits& kind,
                                std::span<const count_t> indices, const std::byte* values) {
    auto& router = routers_[static_cast<std::size_t>(type)];
    router.emplace(routing_, kind, memory_);
    router->start(to_indices<Index>(indices, routing_.owners.num_entries(), routing_.here, memory_),
                  values);
}

template <class Index>
count_t batch_router<Index>::num_held() const {
    count_t result = 0;
    for (const auto& router : routers_) result += router ? router->num_held() : 0;
    return result;
}

template <class Index>
request_counts batch_router<Index>::num_requests(std::size_t stage, std::size_t d) const {
    request_counts result{};
    for (std::size_t type = 0; type < num_request_types; ++type) {
        if (routers_[type]) result[type] = routers_[type]->num_requests(stage, d);
    }
    return result;
}

template <class Index>
count_t batch_router<Index>::packed_bytes(const request_counts& counts) const {
    count_t result = 0;
    for (std::size_t type = 0; type < num_request_types; ++type) {
        if (routers_[type]) result += routers_[type]->packed_bytes(counts[type]);
    }
    return result;
}

template <class Index>
void batch_router<Index>::pack(std::size_t stage, std::size_t d, const request_counts& counts,
                               std::byte* to) const {
    for (std::size_t type = 0; type < num_request_types; ++type) {
        if (counts[type] == 0) continue;
        routers_[type]->pack(stage, d, to);
        to += routers_[type]->packed_bytes(counts[type]);
    }
}

template <class Index>
void batch_router<Index>::take(std::size_t stage, std::span<const request_counts> counts,
                               std::span<const std::byte* const> from) {
    std::array<std::vector<packed_requests>, num_request_types> packed;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const std::byte* next = from[i];
        for (std::size_t type = 0; type < num_request_types; ++type) {
            const count_t count = counts[i][type];
            packed[type].push_back({count, next});
            if (count > 0) next += routers_[type]->packed_bytes(count);
        }
    }
    for (std::size_t type = 0; type < num_request_types; ++type) {
        if (routers_[type]) routers_[type]->take(stage, packed[type]);
    }
}

template <class Index>
void batch_router<Index>::apply(std::byte* entries) const {
    for (const auto& router : changes()) {
        if (router) router->apply(entries);
    }
}

template <class Index>
std::vector<count_t> batch_router<Index>::changing_offsets() const {
    std::vector<count_t> result;
    for (const auto& router : changes()) {
        if (!router) continue;
        const auto more = router->offsets();
        result.insert(result.end(), more.begin(), more.end());
    }
    return result;
}

template <class Index>
void batch_router<Index>::count(array_statistics& result) const {
    for (const auto& router : routers_) {
        if (router) router->count(result);
    }
    for (std::size_t stage = 0; stage < routing_.num_stages(); ++stage) {
        for (std::size_t d = 0; d < routing_.stages[stage].destinations.size(); ++d) {
            const auto counts = num_requests(stage, d);
            count_message(routing_, stage, d,
                          std::accumulate(counts.begin(), counts.end(), count_t{0}), result);
        }
    }
}

template class batch_router<std::uint32_t>;
template class batch_router<std::uint64_t>;

}  // namespace crossdock
