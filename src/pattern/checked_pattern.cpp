#include "checked_pattern.hpp"

#include <array>

#include "crossdock/detail/base/word_hash.hpp"

namespace crossdock {

std::uint64_t pattern_hash(const pattern& p) noexcept {
    word_hash words;
    const std::array<count_t, 4> sizes{p.rank, p.num_ranks, p.num_items, p.num_slots};
    words.add(std::span<const count_t>(sizes));
    for (const auto* const list : {&p.sends, &p.receives}) {
        words.add(std::span<const rank_t>(list->ranks));
        words.add(std::span<const count_t>(list->offsets));
        words.add(std::span<const count_t>(list->indices));
    }
    return words.value();
}

}  // namespace crossdock
