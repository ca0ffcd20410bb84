/// @file
/// @brief The simulated time of a batch of requests, stage by stage.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "crossdock/machine.hpp"
#include "crossdock/simulate.hpp"
#include "satellites/studies/request_walk.hpp"
#include "tools/inputs/array/rank_program.hpp"

namespace crossdock::bench::studies {

/// @brief The requests of all ranks in a batch.
struct batch {
    array::request_traits kind = array::request_traits::read;
    std::vector<std::vector<entry_t>> requests;  ///< entry p of rank p
};

/// @brief What a batch took, or several of them.
struct batch_cost {
    double seconds = 0;          ///< of the slowest rank
    double sorting_seconds = 0;  ///< until the slowest has sorted its own requests
    time_shares shares;          ///< of all ranks
    count_t messages_most = 0;   ///< with requests, that a rank sends; empty ones too
    count_t messages = 0;        ///< likewise, of all ranks
    count_t items = 0;           ///< requests that travel, at every hop
    count_t received_most = 0;   ///< requests that a rank gets, at every hop
    count_t arrived_most = 0;    ///< of these, those of the last stage

    batch_cost& operator+=(const batch_cost& other);
};

/// @brief How the ranks carry requests in a stage of a route.
enum class stage_way {
    messages,     ///< one for every partner, with a head, even if empty
    collectives,  ///< as the study: MPI_Alltoall of counts, and MPI_Alltoallv of what there is
};

/// @brief How a rank sorts its own requests.
enum class sorting_way {
    radix,        ///< in as many passes as 4-byte keys take here
    comparisons,  ///< as the text of the study has it: m requests in as many passes as m has bits
};

/// @brief Simulates batches on a machine.
///
/// A rank has all messages of a stage before it sends those of the next. It copies what it sends and what
/// it gets, and sorts its own requests first.
/// MPI searches the receives that were posted before and wait, in the machine's `matching_seconds`, only in `plain` and
/// with `collectives`.
/// With `collectives` all sort alike, whether they combine or not; partners of a stage must be each other's.
class batch_timer {
  public:
    batch_timer(const rank_layout& layout, const block_partition& owners, const machine& m,
                stage_way way, sorting_way sorting);

    batch_cost routed(const route& r, const batch& requests, bool combines) const;
    /// @brief MPI_Alltoall of the counts, MPI_Alltoallv of the requests, and again of the replies. All receives are
    /// posted, then all messages are sent; empty ones are left out.
    batch_cost plain(const batch& requests) const;

  private:
    const rank_layout& layout_;
    const block_partition& owners_;
    machine with_search_;
    machine without_search_;
    stage_way way_;
    sorting_way sorting_;
};

}  // namespace crossdock::bench::studies
