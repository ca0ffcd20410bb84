// Prices of operations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crossdock/price.hpp"
#include "crossdock/schedule.hpp"

namespace crossdock {

/// @brief Takes operations as a `schedule` does, and keeps what they cost instead.
///
/// A message's tag says its stage. What a rank copies without a message is in the first stage.
class operation_pricer {
  public:
    /// @param layout, m  borrowed
    /// @param first_tag  of the messages of the first stage
    operation_pricer(const rank_layout& layout, const machine& m, std::size_t num_stages,
                     int first_tag = 0)
        : layout_(layout), machine_(m), num_stages_(num_stages), first_tag_(first_tag) {}

    void begin_rank() { ranks_.emplace_back(num_stages_, rank_stage{stage_pricer(machine_)}); }

    /// @pre a message is gathered before it is sent
    std::uint32_t add(const operation& what, std::span<const std::uint32_t> required = {});

    /// @brief Entry t of entry p is stage t of rank p.
    std::vector<std::vector<stage_price>> prices();

  private:
    struct rank_stage {
        stage_pricer load;
        // After receives.
        count_t copied_bytes = 0;
        count_t copied_items = 0;
    };

    const rank_layout& layout_;
    const machine& machine_;
    std::size_t num_stages_;
    int first_tag_;
    std::vector<std::vector<rank_stage>> ranks_;
};

}  // namespace crossdock
