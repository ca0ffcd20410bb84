/// @file
/// @brief The timeline of all ranks as a file.
#pragma once

#include <memory>
#include <string>

#include "../base/trace_log.hpp"
#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief Writes the spans of all ranks in the trace event format of Chrome, which Perfetto reads, too.
///
/// A rank of MPI_COMM_WORLD is a process there. Times are those of the clock of this communicator's rank 0.
class trace_writer {
  public:
    /// @brief Finds out by how much this rank's clock differs from that of rank 0: as precisely as a barrier ends on
    /// all ranks.
    /// @par Collective
    /// Yes; blocks.
    trace_writer(const communicator& comm, std::string file);

    const std::shared_ptr<trace_log>& log() const noexcept { return log_; }

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
    std::shared_ptr<trace_log> log_ = std::make_shared<trace_log>();
};

}  // namespace crossdock
