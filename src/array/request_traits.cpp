#include "request_traits.hpp"

namespace crossdock {

bool request_traits::has_return_slots() const noexcept {
    return reply_bytes > 0 && (combine.strategy == combining::envelope_hash ||
                               combine.strategy == combining::envelope_sort);
}

combining request_traits::strategy_at(std::size_t hop, std::size_t num_stages) const noexcept {
    if (hop == num_stages)
        return combine.strategy == combining::none ? combining::sort : combine.strategy;
    const bool is_wanted = hop == 0 ? combine.locally : combine.on_the_way;
    return is_wanted ? combine.strategy : combining::none;
}

bool request_traits::is_sorted_at(std::size_t hop, std::size_t num_stages) const noexcept {
    const auto strategy = strategy_at(hop, num_stages);
    return strategy == combining::sort || strategy == combining::envelope_sort ||
           strategy == combining::search_tree;
}

}  // namespace crossdock
