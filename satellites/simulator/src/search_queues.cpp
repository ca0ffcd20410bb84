#include "search_queues.hpp"

namespace crossdock {

search_queues::search_queues(const std::vector<std::uint32_t>& lengths) {
    std::size_t first = 0;
    queues_.reserve(lengths.size());
    for (const std::uint32_t length : lengths) {
        queues_.push_back({first, length});
        first += length;
    }
    sums_.resize(first);
}

void search_queues::add(const queue& of, std::uint32_t place, std::int32_t amount) {
    for (std::uint32_t k = place + 1; k <= of.length; k += k & (~k + 1))
        sums_[of.first + k - 1] += amount;
}

std::uint32_t search_queues::append(rank_t rank) {
    auto& of = queues_[static_cast<std::size_t>(rank)];
    add(of, of.num_appended, 1);
    return of.num_appended++;
}

std::uint32_t search_queues::take(rank_t rank, std::uint32_t place) {
    const auto& of = queues_[static_cast<std::size_t>(rank)];
    std::int32_t before = 0;
    for (std::uint32_t k = place; k > 0; k -= k & (~k + 1)) before += sums_[of.first + k - 1];
    add(of, place, -1);
    return static_cast<std::uint32_t>(before);
}

}  // namespace crossdock
