#include "crossdock/schedule.hpp"

#include <fmt/format.h>

namespace crossdock {

void schedule::begin_rank() { first_operation_.push_back(operations_.size()); }

std::uint32_t schedule::add(const operation& what, std::span<const std::uint32_t> required) {
    if (first_operation_.empty()) begin_rank();
    const auto number = checked_cast<std::uint32_t>(operations_.size() - first_operation_.back());
    for (const std::uint32_t other : required) {
        if (other >= number) {
            throw error(errc::invalid_argument,
                        fmt::format("operation {} of rank {} requires {}, which is not before it",
                                    number, num_ranks() - 1, other));
        }
    }
    operations_.push_back(what);
    required_.insert(required_.end(), required.begin(), required.end());
    first_required_.push_back(required_.size());
    return number;
}

std::size_t schedule::first_operation(rank_t rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return index < first_operation_.size() ? first_operation_[index] : operations_.size();
}

std::span<const operation> schedule::operations_of(rank_t rank) const {
    const auto first = first_operation(rank);
    return std::span(operations_).subspan(first, first_operation(rank + 1) - first);
}

std::span<const std::uint32_t> schedule::required_by(rank_t rank, std::size_t number) const {
    const auto place = first_operation(rank) + number;
    return std::span(required_).subspan(first_required_[place],
                                        first_required_[place + 1] - first_required_[place]);
}

}  // namespace crossdock
