#include "crossdock/detail/plan/kept_plans.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace crossdock {

namespace {

class hasher {
  public:
    void add(std::int64_t word) noexcept {
        hash_ = (hash_ ^ static_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15U;
        hash_ ^= hash_ >> 29U;
    }
    void add(const neighbor_list& list) noexcept {
        constexpr std::size_t num_samples = 64;
        for (const rank_t rank : list.ranks) add(rank);
        for (const count_t offset : list.offsets) add(offset);
        const auto& indices = list.indices;
        const std::size_t step = 1 + indices.size() / num_samples;
        for (std::size_t i = 0; i < indices.size(); i += step) add(indices[i]);
    }
    std::uint64_t value() const noexcept { return hash_; }

  private:
    std::uint64_t hash_ = 0;
};

}  // namespace

std::uint64_t pattern_hash(const pattern& p) noexcept {
    hasher words;
    for (const std::int64_t word :
         {std::int64_t{p.rank}, std::int64_t{p.num_ranks}, p.num_items, p.num_slots})
        words.add(word);
    words.add(p.sends);
    words.add(p.receives);
    return words.value();
}

kept_plans::kept_plans(int capacity) : capacity_(static_cast<std::size_t>(capacity)) {
    if (capacity >= 1 && capacity <= max_capacity) return;
    throw error(errc::invalid_argument,
                fmt::format("{} plans are to be kept, outside [1, {}]", capacity, max_capacity));
}

std::uint64_t kept_plans::slots_of(const topology& regions, const pattern& p,
                                   std::string_view route_name,
                                   const compile_options& options) const {
    const auto hash = pattern_hash(p);
    std::uint64_t slots = 0;
    for (std::size_t slot = 0; slot < entries_.size(); ++slot) {
        const auto& kept = entries_[slot];
        const bool is_equal = kept.hash == hash && kept.is_deduplicated == options.deduplicate &&
                              kept.route_name == route_name && kept.regions == regions &&
                              kept.p == p;
        if (is_equal) slots |= std::uint64_t{1} << slot;
    }
    return slots;
}

std::shared_ptr<const plan> kept_plans::use(int slot) {
    auto& kept = entries_.at(static_cast<std::size_t>(slot));
    kept.last_use = ++num_uses_;
    return kept.compiled;
}

void kept_plans::keep(std::shared_ptr<const plan> compiled, const topology& regions,
                      const pattern& p, std::string_view route_name,
                      const compile_options& options) {
    entry made{pattern_hash(p),     regions,    p, std::string(route_name), options.deduplicate,
               std::move(compiled), ++num_uses_};
    if (entries_.size() < capacity_) {
        entries_.push_back(std::move(made));
        return;
    }
    *std::ranges::min_element(entries_, {}, &entry::last_use) = std::move(made);
}

}  // namespace crossdock
