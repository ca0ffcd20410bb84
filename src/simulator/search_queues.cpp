#include "waiting_receives.hpp"

namespace crossdock {

waiting_receives::waiting_receives(const std::vector<std::uint32_t>& num_receives) {
    std::size_t first = 0;
    queues_.reserve(num_receives.size());
    for (const std::uint32_t length : num_receives) {
        queues_.push_back({first, length});
        first += length;
    }
    sums_.resize(first);
}

void waiting_receives::add(const queue& of, std::uint32_t place, std::int32_t amount) {
    for (std::uint32_t k = place + 1; k <= of.length; k += k & (~k + 1))
        sums_[of.first + k - 1] += amount;
}

std::uint32_t waiting_receives::post(rank_t rank) {
    auto& of = queues_[static_cast<std::size_t>(rank)];
    add(of, of.num_posted, 1);
    return of.num_posted++;
}

std::uint32_t waiting_receives::take(rank_t rank, std::uint32_t place) {
    const auto& of = queues_[static_cast<std::size_t>(rank)];
    std::int32_t before = 0;
    for (std::uint32_t k = place; k > 0; k -= k & (~k + 1)) before += sums_[of.first + k - 1];
    add(of, place, -1);
    return static_cast<std::uint32_t>(before);
}

}  // namespace crossdock
