/// @file
/// @brief hypre's communication packages, and the exchanges that take the place of its messages.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "crossdock/neighbor_exchange.hpp"
#include "loaded_hypre.hpp"
#include "satellites/drop_in/src/plan_facts.hpp"
#include "satellites/drop_in/src/progress.hpp"
#include "satellites/drop_in/src/report.hpp"
#include "votes.hpp"

namespace crossdock::hypre_drop_in {

/// @brief hypre's own functions.
struct own_functions {
    create_function* create;
    destroy_function* destroy;
};

/// @brief One exchange at a time along the plan of a package: from its start to hypre_ParCSRCommHandleDestroy.
class package_exchange final : private drop_in::watched {
  public:
    explicit package_exchange(neighbor_exchange exchange) : exchange_(std::move(exchange)) {}

    neighbor_exchange& exchange() noexcept { return exchange_; }
    bool is_open() const noexcept { return is_open_; }

    /// @brief Starts it. Where MPI does not call back, completes it, too: nothing would go on in between.
    void start(const void* send, void* receive, std::size_t value_bytes);
    /// @brief Blocks until it is complete.
    /// @return a code of MPI's
    int finish();

  private:
    bool advance() override;

    neighbor_exchange exchange_;
    bool is_open_ = false;
    bool is_complete_ = true;
    int code_ = MPI_SUCCESS;
};

/// @brief What is kept with a package from its making to its end. The same happens on all ranks.
class package {
  public:
    /// @brief The one of hypre's; null if it was not seen when it was made.
    static std::shared_ptr<package> of(const comm_package* theirs);
    /// @brief hypre has made one of these arrays for a matrix, on all ranks of its communicator.
    static void add(const comm_package& theirs, const package_view& made_of);
    /// @brief hypre frees it, and may use its address again.
    static void forget(const comm_package* theirs);

    package(const comm_package& theirs, const package_view& made_of, ballot& ranks);

    /// @brief A call of hypre_ParCSRCommHandleCreate.
    struct call {
        int job;
        const void* send;
        void* receive;
        const void* caller;
    };

    /// @brief Starts an exchange for a call.
    /// @return null if hypre is to send messages
    /// @par Collective
    /// Not to be relied upon: see `ballot`. Blocks where an exchange is made.
    package_exchange* start(comm_package& theirs, const call& what, const own_functions& own);

    MPI_Comm comm() const noexcept { return comm_; }

  private:
    enum class state { watched, hypres, planned };
    struct job_state {
        state now = state::watched;
        int num_uses = 0;
        std::shared_ptr<const vote> voted;
        std::int64_t planned_from = -1;
        int trial = -1;  // the number of an equal one before
        drop_in::call_facts* facts = nullptr;
    };
    // Of all jobs that go one way.
    struct direction_state {
        bool is_tried = false;
        std::vector<std::unique_ptr<package_exchange>> exchanges;
        std::shared_ptr<const drop_in::plan_facts> facts;
    };
    struct side {
        std::vector<rank_t> ranks;
        std::vector<count_t> lengths;
    };

    static side side_of(const package_side& theirs);
    bool has_arrays_as_made(const package_view& now) const;
    bool has_lists_as_made(const package_view& now) const;
    bool has_its_turn(const job_state& one);
    bool set_up(comm_package& theirs, const call& what, direction_state& way,
                const own_functions& own);
    void try_out(comm_package& theirs, const call& what, direction_state& way,
                 const own_functions& own);
    pattern pattern_of(bool is_transposed) const;
    std::uint64_t hash_of(int job) const;
    int trial_of(int job) const;
    drop_in::call_facts* facts_of(const call& what) const;

    ballot* ranks_;
    MPI_Comm comm_;
    std::int64_t number_;  // on all ranks of the communicator
    int term_;             // of the ballot when it was made
    int report_number_;    // of this rank
    bool has_known_layout_;
    package_view made_;
    count_t num_components_;
    side sends_;
    side receives_;
    bool has_changed_ = false;
    std::array<job_state, all_jobs.size()> jobs_;
    std::array<direction_state, 2> ways_;
};

}  // namespace crossdock::hypre_drop_in
