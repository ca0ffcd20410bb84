/// @file
/// @brief The timeline of all ranks as a file.
#pragma once

#include <string>

#include "../base/trace_log.hpp"
#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief Writes the spans of all ranks in the trace event format of Chrome, which Perfetto reads, too.
///
/// A rank is a process there. Times are those of rank 0's clock.
class trace_writer {
  public:
    /// @brief Finds out by how much this rank's clock differs from that of rank 0: as precisely as a barrier ends on
    /// all ranks.
    /// @par Collective
    /// Yes; blocks.
    trace_writer(const communicator& comm, std::string file);

    trace_log& log() noexcept { return log_; }

    /// @brief Adds the spans to the file, which rank 0 writes, rank by rank. Nothing if it cannot.
    /// @par Collective
    /// Yes; blocks.
    void write() const;

  private:
    std::string events() const;

    MPI_Comm comm_;
    rank_t rank_;
    rank_t num_ranks_;
    std::string file_;
    tag_block tags_;
    double offset_ = 0;  // to be added to this rank's seconds
    trace_log log_;
};

}  // namespace crossdock
