/// @file
/// @brief How ranks find out together that an exchange of hypre's is one of all ranks.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "crossdock/context.hpp"
#include "satellites/drop_in/src/plan_facts.hpp"

namespace crossdock::hypre_drop_in {

/// @brief What a rank says of an exchange, and then what all ranks said.
struct vote {
    bool is_complete() const noexcept { return request == MPI_REQUEST_NULL; }
    bool all_agree() const noexcept { return values[2] != 0; }

    std::array<std::int64_t, 5> values;
    MPI_Request request;
    std::int64_t number;  // among those of the term
};

/// @brief What is kept with a communicator of packages, until it is freed.
///
/// hypre's exchanges are messages, not collective calls: a rank may leave one out. No rank waits for another one that
/// might have done so. The ranks vote without waiting, each at its own second use of a package; only when all have
/// voted do they wait for each other, at a use that all will come to. Where a rank leaves uses out, its votes are
/// missing, or are those of another package: the ballot is spoiled. A rank to which votes are missing for long spoils
/// it, too, and tells the others in place of its next vote. Jobs on which the ranks have agreed before go on; all
/// others of the packages so far remain hypre's. For later packages there is a new term, unless ranks have left uses
/// out.
class ballot {
  public:
    /// @brief Makes the one of a communicator of several ranks, if it is not there, and all ranks want it. If it is
    /// spoiled because votes were late, begins a new term.
    /// @par Collective
    /// Yes; blocks.
    static void have(MPI_Comm comm, bool is_wanted);
    /// @brief Null if there is none.
    static ballot* of(MPI_Comm comm);

    ballot(MPI_Comm comm, bool is_reported);

    /// @brief Whether all ranks are asked for a report.
    bool is_reported() const noexcept { return is_reported_; }

    /// @brief The number of the next package that is made on the communicator.
    std::int64_t next_number() noexcept { return num_packages_++; }

    /// @param subject   what is voted on; the same on all ranks that vote on it
    /// @param is_agreed  says yes
    std::shared_ptr<const vote> begin(std::int64_t subject, bool is_agreed);

    /// @brief Whether all votes that this rank has begun are complete. Waits a little if some are not, and then spoils
    /// the ballot.
    bool are_complete();
    /// @brief How often it was spoiled before.
    int term() const noexcept { return term_; }
    /// @brief Whether the ranks have voted on different subjects, or one has waited in vain, in this term. Ranks find
    /// out in different calls.
    bool is_spoiled(int term) const noexcept { return is_spoiled_ || term != term_; }

    /// @brief What all ranks find out before they make an exchange.
    struct terms {
        std::int64_t
            use;  ///< the largest that a rank named; less than zero if they came with different subjects
        int trial;  ///< the one that all ranks named; less than zero if they named several, or none
    };
    /// @pre `are_complete()`, and not spoiled
    /// @par Collective
    /// Yes; blocks.
    terms agree(std::int64_t subject, std::int64_t use, int trial);

    /// @brief The trials of equal exchanges before, in one order on all ranks: hypre makes its packages anew for each
    /// set-up.
    struct known_trial {
        std::uint64_t hash;  ///< of this rank's part
        bool has_won;
        std::shared_ptr<const drop_in::plan_facts> facts;
    };
    std::vector<known_trial>& trials() noexcept { return trials_; }

    /// @brief For exchanges; made at the first call.
    /// @par Collective
    /// Yes; blocks at the first call.
    const context& where();

    /// @brief Frees what is kept for all ranks together.
    /// @par Collective
    /// Yes; blocks.
    /// @return false if MPI may still write to votes, so that this must not be deleted
    bool close() noexcept;

  private:
    void begin_term();
    void renew();
    void reduce(vote& one);
    void look();
    void give_up();
    bool is_valid(const vote& one) noexcept;

    MPI_Comm comm_;
    MPI_Comm own_ = MPI_COMM_NULL;
    std::list<std::shared_ptr<vote>> begun_;
    std::list<std::shared_ptr<vote>> never_complete_;  // of earlier terms; MPI may write to them
    int term_ = 0;
    // Of this term.
    std::int64_t num_begun_ = 0;  // until this rank gives up
    std::int64_t num_at_give_up_ = 0;
    std::int64_t first_invalid_ = std::numeric_limits<std::int64_t>::max();
    bool has_left_out_ = false;  // a rank; the same on all
    std::optional<context> where_;
    std::vector<known_trial> trials_;
    std::int64_t num_packages_ = 0;
    bool is_reported_;
    bool is_spoiled_ = false;
};

/// @brief From MPI_Finalize on, nothing is freed. Calls `at_end` when it begins.
void watch_finalize(void (*at_end)());
bool is_finalizing() noexcept;

}  // namespace crossdock::hypre_drop_in
