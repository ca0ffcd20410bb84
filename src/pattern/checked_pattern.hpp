// A pattern that is validated once and hashed once, however many steps of a set-up look at it.
#pragma once

#include <cstdint>
#include <optional>

#include "crossdock/pattern.hpp"

namespace crossdock {

/// @brief A hash of a pattern: equal patterns, equal numbers.
///
/// It reads every word. Patterns that differ in one word have different hashes.
std::uint64_t pattern_hash(const pattern& p) noexcept;

/// @brief A pattern of the caller, borrowed, and what is known of it.
class checked_pattern {
  public:
    /// @param fault  why this rank could not make the pattern, if it could not
    checked_pattern(const pattern& p, const std::optional<error>& fault = std::nullopt) noexcept
        : pattern_(p), fault_(fault) {}
    checked_pattern(const checked_pattern&) = delete;
    checked_pattern& operator=(const checked_pattern&) = delete;

    operator const pattern&() const noexcept { return pattern_; }
    const pattern& get() const noexcept { return pattern_; }

    /// @throws error  the fault
    void require_made() const {
        if (fault_) throw *fault_;
    }

    /// @throws as `require_made`; or as `validate(pattern)`, unless the pattern has passed before
    void check() const {
        require_made();
        if (!is_valid_) validate(pattern_);
        is_valid_ = true;
    }

    /// @brief `pattern_hash`
    std::uint64_t hash() const noexcept {
        if (!hash_) hash_ = pattern_hash(pattern_);
        return *hash_;
    }

  private:
    const pattern& pattern_;
    std::optional<error> fault_;
    mutable bool is_valid_ = false;
    mutable std::optional<std::uint64_t> hash_;
};

}  // namespace crossdock
