// The plans that a communicator compiled last, for patterns that come again.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>

#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/route_choice.hpp"

namespace crossdock {

/// @brief A plan, and what its route was chosen from; null if it was given.
struct kept_plan {
    std::shared_ptr<const plan> compiled = nullptr;
    std::shared_ptr<const route_choice> choice = nullptr;
};

/// @brief A bounded number of plans; the one that was used least recently goes first.
///
/// All ranks keep and use plans in the same order, so that a plan has the same slot on all. A rank
/// knows the slots whose key, a hash of its pattern and of all else that a plan depends on, is its
/// own; a slot that all ranks know (`setup_rounds::open`) holds the plan of them all.
class plan_cache final : public communicator_resource {
  public:
    static constexpr std::size_t capacity = 16;

    explicit plan_cache(const communicator&) {}

    /// @brief Those of a communicator.
    static plan_cache& of(const communicator& comm) {
        return with_reserve([&]() -> plan_cache& { return comm.resource<plan_cache>(); });
    }

    /// @brief Bit i is set if slot i has the key.
    std::uint32_t slots_of(std::uint64_t key) const noexcept {
        std::uint32_t slots = 0;
        for (std::size_t slot = 0; slot < capacity; ++slot) {
            if (entries_[slot].last_use > 0 && entries_[slot].key == key)
                slots |= std::uint32_t{1} << slot;
        }
        return slots;
    }

    /// @brief The plan at the first of some slots, which is now the one that was used last.
    const kept_plan& use(std::uint32_t slots) noexcept {
        auto& one = entries_[static_cast<std::size_t>(std::countr_zero(slots))];
        one.last_use = ++num_uses_;
        return one.kept;
    }

    /// @brief Keeps a plan. Takes no memory, so that all ranks do.
    void keep(std::uint64_t key, kept_plan kept) noexcept {
        *std::ranges::min_element(entries_, {}, &entry::last_use) = {key, std::move(kept),
                                                                     ++num_uses_};
    }

  private:
    struct entry {
        std::uint64_t key = 0;
        kept_plan kept;
        std::int64_t last_use = 0;  // 0: empty
    };

    std::int64_t num_uses_ = 0;
    std::array<entry, capacity> entries_;
};

/// @brief One question to a cache: asked along with the first round of a set-up.
struct plan_lookup {
    plan_cache* cache = nullptr;  ///< none is asked if null
    std::uint64_t key = 0;
    kept_plan found = {};

    /// @param arguments  a hash of all that the plan depends on besides the pattern
    /// @return the slots that this rank knows
    std::uint32_t ask(std::uint64_t pattern, std::int64_t arguments) noexcept {
        if (cache == nullptr) return 0;
        key = (pattern ^ static_cast<std::uint64_t>(arguments)) * 0x9E3779B97F4A7C15U;
        return cache->slots_of(key);
    }

    /// @brief Takes the plan at slots that all ranks know, if there are any.
    bool take(std::uint32_t common) noexcept {
        if (common != 0) found = cache->use(common);
        return common != 0;
    }

    /// @brief Keeps what was compiled instead, once all ranks have agreed that they have it.
    void keep(kept_plan made) noexcept {
        if (cache != nullptr && !found.compiled) cache->keep(key, std::move(made));
        cache = nullptr;
    }
};

}  // namespace crossdock
