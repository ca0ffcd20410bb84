/// @file
/// @brief Plans one rank keeps, with what they were compiled from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/plan.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A hash of a pattern: equal patterns, equal numbers.
///
/// It reads the neighbors with their counts, and some of the indices.
std::uint64_t pattern_hash(const pattern& p) noexcept;

/// @brief A bounded number of plans; the one that was used least recently goes first.
///
/// Slots are numbered from 0. Ranks that make the same calls have the same plan at the same slot,
/// even where their own part of two patterns is the same.
class kept_plans {
  public:
    static constexpr int max_capacity = 63;

    /// @throws error(errc::invalid_argument)  `capacity` is outside [1, max_capacity]
    explicit kept_plans(int capacity);

    /// @brief Bit i is set if the plan at slot i was compiled from equal arguments.
    /// @par Complexity
    /// Compares what has the same hash: linear in the pattern for each.
    std::uint64_t slots_of(const topology& regions, const pattern& p, std::string_view route_name,
                           const compile_options& options) const;

    /// @brief The plan at a slot, which is now the one that was used last.
    std::shared_ptr<const plan> use(int slot);

    /// @brief Keeps a plan with copies of what it was compiled from.
    void keep(std::shared_ptr<const plan> compiled, const topology& regions, const pattern& p,
              std::string_view route_name, const compile_options& options);

    int num_kept() const noexcept { return static_cast<int>(entries_.size()); }

  private:
    struct entry {
        std::uint64_t hash;
        topology regions;
        pattern p;
        std::string route_name;
        bool is_deduplicated;
        std::shared_ptr<const plan> compiled;
        std::int64_t last_use;
    };

    std::size_t capacity_;
    std::int64_t num_uses_ = 0;
    std::vector<entry> entries_;
};

}  // namespace crossdock
