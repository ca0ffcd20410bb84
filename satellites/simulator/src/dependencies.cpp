#include "dependencies.hpp"

#include <numeric>

namespace crossdock {

dependencies::dependencies(const schedule& s)
    : num_missing_(s.num_operations()), first_dependent_(s.num_operations() + 1) {
    const auto for_all = [&](auto&& use) {
        for (rank_t rank = 0; rank < s.num_ranks(); ++rank) {
            const auto first = s.first_operation(rank);
            const auto count = s.operations_of(rank).size();
            for (std::size_t k = 0; k < count; ++k) {
                for (const auto other : s.required_by(rank, k)) use(first + k, first + other);
            }
        }
    };
    for_all([&](std::size_t later, std::size_t earlier) {
        ++num_missing_[later];
        ++first_dependent_[earlier + 1];
    });
    std::partial_sum(first_dependent_.begin(), first_dependent_.end(), first_dependent_.begin());
    dependents_.resize(first_dependent_.back());
    auto next = first_dependent_;
    for_all([&](std::size_t later, std::size_t earlier) {
        dependents_[next[earlier]++] = static_cast<std::uint32_t>(later);
    });
}

}  // namespace crossdock
