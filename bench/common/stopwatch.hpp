/// @file
/// @brief Times of contenders that take turns.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "crossdock/communicator.hpp"

namespace crossdock::bench {

/// @brief Seconds of the slowest rank, over iterations; on other ranks than rank 0 they mean nothing.
struct timing {
    double min = 0;
    double lower_quartile = 0;
    double median = 0;
    double upper_quartile = 0;
    double max = 0;
    std::vector<double> rounds;  ///< in their order, which is the same for all that took turns
};

/// @brief The times of the slowest rank, for each of several series of rounds.
/// @param seconds     series by series, `num_rounds` each
/// @param num_rounds  at least 1; equal on all ranks, as is the number of series
/// @return means nothing but on rank 0
/// @par Collective
/// Yes; blocks.
std::vector<timing> slowest_of(const communicator& comm, const std::vector<double>& seconds,
                               std::size_t num_rounds);

/// @brief The seconds of every round, contender by contender.
///
/// Every round runs each contender once, in an order that is drawn anew with a fixed seed: what
/// disturbs the machine disturbs all alike, and nobody always runs after the same one.
class stopwatch {
  public:
    /// @param comm      must outlive it
    /// @param in_a_row  how often a contender's turn runs the piece; its time is their mean
    stopwatch(const communicator& comm, std::size_t num_contenders, int num_rounds,
              int in_a_row = 1)
        : comm_(comm),
          in_a_row_(in_a_row),
          num_rounds_(static_cast<std::size_t>(num_rounds)),
          num_contenders_(num_contenders),
          seconds_(num_contenders * num_rounds_) {}

    /// @brief Times `piece(c)` once per round for every contender c, each after an untimed
    /// `prepare(c)` and a barrier. Ranks leave the barrier one after the other, which counts as
    /// waiting for the last; in a row of many pieces it no longer does.
    /// @par Collective
    /// Yes; blocks.
    template <class Prepare, class Piece>
    void time_in_turn(Prepare&& prepare, Piece&& piece) {
        std::vector<std::size_t> order(num_contenders_);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::mt19937 draw(0);  // equal on all ranks
        for (std::size_t round = 0; round < num_rounds_; ++round) {
            std::shuffle(order.begin(), order.end(), draw);
            for (const std::size_t c : order) {
                prepare(c);
                CROSSDOCK_MPI(MPI_Barrier(comm_.get()));
                const double start_seconds = MPI_Wtime();
                for (int i = 0; i < in_a_row_; ++i) piece(c);
                seconds_[c * num_rounds_ + round] = (MPI_Wtime() - start_seconds) / in_a_row_;
            }
        }
    }

    /// @brief The slowest rank's times, for each contender.
    /// @return means nothing but on rank 0
    /// @pre there was a round
    /// @par Collective
    /// Yes; blocks.
    std::vector<timing> slowest() const { return slowest_of(comm_, seconds_, num_rounds_); }

  private:
    const communicator& comm_;
    int in_a_row_;
    std::size_t num_rounds_;
    std::size_t num_contenders_;
    std::vector<double> seconds_;
};

}  // namespace crossdock::bench
