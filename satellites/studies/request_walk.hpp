/// @file
/// @brief How many requests of a batch go from whom to whom, stage by stage.
#pragma once

#include <cstdint>
#include <vector>

#include "crossdock/block_partition.hpp"
#include "crossdock/route.hpp"

namespace crossdock::bench::studies {

/// @brief An entry of an array of fewer than 2^32.
using entry_t = std::uint32_t;

/// @brief What one rank sends and gets in one stage; a partner may have nothing for it.
struct rank_stage {
    stage_partners partners;
    std::vector<count_t> sent;      ///< requests, by destination
    std::vector<count_t> received;  ///< requests, by source
    count_t stayed = 0;             ///< requests for the rank itself, or for a later stage
};

/// @brief Equal requests that travel together.
struct counted_entry {
    entry_t entry = 0;
    std::uint32_t requests = 1;
};

/// @brief Walks the requests of all ranks to their owners, and forgets what it has passed.
///
/// Counts are those of `plan_batch`, which keeps all levels of all ranks for the way back: too much for
/// the study's sizes.
class request_walk {
  public:
    /// @param r          borrowed, as are the owners
    /// @param requests   entry p of rank p, in any order
    /// @param combines   whether equal requests become one, wherever they meet
    request_walk(const route& r, const block_partition& owners,
                 const std::vector<std::vector<entry_t>>& requests, bool combines);

    /// @brief The next stage of all ranks; entry p of rank p.
    std::vector<rank_stage> next_stage();

    bool is_over() const { return stage_ == r_.num_stages(); }

  private:
    using requests_t = std::vector<counted_entry>;

    void pass_on(rank_t rank, rank_stage& counts, std::vector<requests_t>& arrived);
    void combine(requests_t& requests) const;

    const route& r_;
    const block_partition& owners_;
    std::vector<requests_t> held_;
    bool combines_;
    int stage_ = 0;
};

}  // namespace crossdock::bench::studies
