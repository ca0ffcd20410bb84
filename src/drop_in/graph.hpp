/// @file
/// @brief A communicator with a topology, as far as exchanges between its neighbors need it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "blocks.hpp"
#include "crossdock/context.hpp"
#include "planned_exchange.hpp"
#include "progress.hpp"

namespace crossdock::drop_in {

/// @brief The neighbors of one side. Those that are MPI_PROC_NULL are left out.
struct neighbors {
    std::vector<rank_t> ranks;
    std::vector<int> entries;  ///< of each, where it stands among all that the communicator names
};

/// @brief What the drop-in keeps with a communicator that has a topology.
class graph {
  public:
    /// @brief Makes it and keeps it with `user`, unless neither MPI's progress nor the topology allows exchanges here;
    /// these are then left to MPI.
    /// @param user  just made, by all of its ranks together
    /// @par Collective
    /// Yes, over `user`; blocks.
    static void attach(MPI_Comm user);

    /// @brief The one that was attached; null if there is none.
    static std::shared_ptr<graph> of(MPI_Comm user);

    graph(MPI_Comm user, neighbors sources, neighbors destinations);

    const neighbors& sources() const noexcept { return sources_; }
    const neighbors& destinations() const noexcept { return destinations_; }
    const context& where() const noexcept { return *where_; }
    /// @brief A distributed graph of the same neighbors, for exchanges of MPI's own beside the user's.
    MPI_Comm twin() const noexcept { return twin_; }

    /// @brief Calls of one communicator agree one after the other, in the order in which the program makes them.
    class turn {
      public:
        explicit turn(graph& of);
        ~turn() { end(); }
        turn(turn&& other) noexcept
            : of_(std::exchange(other.of_, nullptr)), number_(other.number_) {}
        turn& operator=(turn&&) = delete;

        /// @brief Leaves the body that runs until it is this one's turn.
        void wait() const;
        void end();

      private:
        graph* of_;
        std::int64_t number_;
    };

    /// @brief The plan for a call that is not persistent, or null: MPI is to do it.
    ///
    /// A call whose layout came twice in a row on all ranks gets a plan, unless MPI is faster.
    /// @par Collective
    /// Yes, in turn. One reduction of four words; and `make_plan`.
    planned_exchange* find_plan(const call_layout& layout);

    /// @brief Compiles a plan and compares it with MPI, unless the environment names a route.
    /// @param alignment  as `pattern_of` takes it; equal on all ranks
    /// @param depth      as `planned_exchange` takes it
    /// @par Collective
    /// Yes, in turn; blocks.
    std::unique_ptr<planned_exchange> make_plan(const call_layout& layout, int alignment,
                                                std::size_t depth) const;

    /// @brief The alignment that the layouts of all ranks have.
    /// @par Collective
    /// Yes, in turn; blocks.
    int agree_on_alignment(const call_layout& layout) const;

  private:
    neighbors sources_;
    neighbors destinations_;
    MPI_Comm twin_ = MPI_COMM_NULL;
    std::optional<context> where_;
    std::int64_t next_turn_ = 0;
    std::int64_t present_turn_ = 0;
    bool is_forced_ = false;                                // a route was asked for
    std::vector<std::unique_ptr<planned_exchange>> plans_;  // the same ones on all ranks
    call_layout last_;
    int num_repeats_ = 0;
};

}  // namespace crossdock::drop_in
