/// @file
/// @brief Ranks that have ended, where MPI tells of them (User-Level Failure Mitigation, ULFM).
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "crossdock/error.hpp"
#include "crossdock/types.hpp"

namespace crossdock {

/// @brief A communicator and its parts. Once a rank of it is lost, all of them are revoked: whatever is under way on
/// them ends with an error, on all ranks.
class lost_ranks {
  public:
    /// @return null where MPI does not tell of ranks that have ended
    static std::shared_ptr<lost_ranks> watch();
    ~lost_ranks();
    lost_ranks(const lost_ranks&) = delete;
    lost_ranks& operator=(const lost_ranks&) = delete;

    /// @brief The first one is the whole, which is removed with all its parts.
    void add(MPI_Comm one);
    void remove(MPI_Comm one) noexcept;

    /// @brief Asks MPI from time to time. Any thread that may call MPI.
    void look() noexcept;
    /// @throws error(errc::rank_failed)  a rank is known to be lost
    void require_none() const;
    static void require_none_in(MPI_Comm one);
    static error fault_of(rank_t lost);

    /// @brief Of a call of MPI that has failed with this code: the rank that is lost in a communicator of this process,
    /// the newest first, or -1 where only others know it; nothing if none is, or the code means something else.
    static std::optional<rank_t> find(int mpi_code) noexcept;

  private:
    lost_ranks() = default;
    /// @return as `find`
    std::optional<rank_t> ask() noexcept;

    static constexpr rank_t none = -2;
    std::mutex mutex_;
    std::vector<MPI_Comm> all_;
    std::atomic<unsigned> num_looks_ = 0;
    std::atomic<rank_t> lost_ = none;
};

}  // namespace crossdock
