/// @file
/// @brief A communicator with a topology, as far as exchanges between its neighbors need it.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "crossdock/context.hpp"
#include "message_beside.hpp"
#include "neighbors.hpp"
#include "place.hpp"
#include "planned_exchange.hpp"
#include "progress.hpp"
#include "repetition.hpp"
#include "report.hpp"

namespace crossdock::drop_in {

/// @brief What all ranks find out together when a communicator gets a graph.
struct graph_terms {
    progress_place progress;  ///< for all ranks
    bool has_all_ranks;       ///< all have neighbors
    std::int64_t key;         ///< that of no other graph
    bool has_report;          ///< all ranks are asked for one
};

/// @brief What the drop-in keeps with a communicator that has a topology.
///
/// Ranks without neighbors are no ranks of it: each of them has a graph of its own, which has no place, and nothing
/// waits for them once it is made. The others are numbered anew.
class graph : public std::enable_shared_from_this<graph> {
  public:
    /// @brief Makes it and keeps it with `user`, unless the thread or the topology allows no exchanges of ours here;
    /// these are then left to MPI.
    /// @param user  just made, by all of its ranks together
    /// @par Collective
    /// Yes, over `user`; blocks.
    static void attach(MPI_Comm user);

    /// @brief The one that was attached; null if there is none.
    /// @return lives until `user` is freed
    static const std::shared_ptr<graph>* of(MPI_Comm user);

    /// @brief One whose neighbors are all ranks, in order, each of them both a source and a destination.
    /// @param may_make  makes it and keeps it with `user`, if it is not there; it must not be an intercommunicator then
    /// @par Collective
    /// If it is made: yes, over `user`; blocks.
    static const std::shared_ptr<graph>* of_all_ranks(MPI_Comm user, bool may_make);

    /// @brief Of communicators on which a nonblocking call with all ranks found no graph.
    static inline constinit std::atomic<int> num_wanted = 0;

    /// @brief Before a blocking collective call of the program: makes what `of_all_ranks` may not have made before.
    /// @par Collective
    /// Yes, over `user`; blocks if there is something to make.
    static void make_wanted(MPI_Comm user) noexcept;

    /// @param has_topology  `user` is a topology; otherwise its neighbors are all ranks
    /// @param sides         numbered among the ranks of the place
    graph(MPI_Comm user, both_sides sides, bool has_topology, const graph_terms& agreed,
          place::seat seat);

    const neighbors& sources() const noexcept { return sources_; }
    const neighbors& destinations() const noexcept { return destinations_; }
    /// @pre not `is_left_out()`
    const context& where() const noexcept { return seat_.at()->where(); }
    /// @brief For the messages of the next call without a plan, whose tag no other call under way has. Leaves the body
    /// that runs until the tag is free.
    tagged_comm next_messages();
    /// @brief The call is over.
    void end_messages(const tagged_comm& of) noexcept { are_under_way_[number_of(of)] = false; }
    /// @brief Whether calls that are left to MPI are messages of their own; otherwise MPI's function does them on the
    /// user's communicator.
    bool exchanges_by_messages(call_form form) const noexcept {
        return form == call_form::nonblocking || !has_all_ranks();
    }
    bool has_topology() const noexcept { return has_topology_; }
    /// @brief Whether all ranks of the user's communicator have a part in it.
    bool has_all_ranks() const noexcept { return terms_.has_all_ranks; }
    /// @brief Whether this rank is alone, for want of neighbors: its calls do nothing.
    bool is_left_out() const noexcept { return seat_.at() == nullptr; }
    /// @brief Whether calls that return before they are complete are MPI's, since nothing would get on in between.
    bool takes_blocking_only() const noexcept {
        return terms_.progress == progress_place::exchanges;
    }
    /// @brief Whether all ranks count its calls, which they do together.
    bool has_report() const noexcept { return terms_.has_report; }
    /// @brief That of no other one of this process.
    int number() const noexcept { return number_; }
    /// @brief A distributed graph of the same neighbors on the place's communicator, for persistent requests of MPI's
    /// own where the user's communicator has ranks that are left out; stays until MPI_Finalize.
    /// @par Collective
    /// If there is none yet: yes; blocks.
    MPI_Comm twin();

    /// @brief Calls of one communicator agree one after the other, in the order in which the program makes them.
    class turn {
      public:
        explicit turn(graph& of);
        ~turn() { end(); }
        turn(turn&& other) noexcept
            : of_(std::exchange(other.of_, nullptr)), number_(other.number_) {}
        turn& operator=(turn&&) = delete;

        bool is_there() const noexcept { return of_->present_turn_ == number_; }
        /// @brief Leaves the body that runs until it is this one's turn.
        void wait() const;
        void end();

      private:
        graph* of_;
        std::int64_t number_;
    };

    /// @brief Whether a call that comes now has its turn.
    bool has_turn() const noexcept { return present_turn_ == next_turn_; }

    /// @brief Whether a call that comes now is MPI's, and no rank is asked; it is then counted. The same on all ranks.
    /// @param facts  takes those of the last plan that was not faster than MPI, if it has none; may be null
    /// @pre it is the call's turn
    bool leaves(block_kind kind, call_facts* facts);

    /// @brief What exchanges for the call that comes now, if it has its turn and need not wait for anybody; it is then
    /// counted. Null otherwise.
    planned_exchange::instance* find_ready(const layouts_seen& layout, block_kind kind,
                                           call_form form);

    /// @brief What becomes of a call that is not persistent.
    struct decision {
        planned_exchange* plan = nullptr;  ///< null: MPI does it
        bool is_asked = false;             ///< the ranks find out whether they go on like this
    };

    /// @brief Decides, and compiles a plan if it is time to.
    /// @par Collective
    /// Yes, in turn; blocks if a plan is compiled.
    decision decide(const layouts_seen& layout, block_kind kind, call_form form,
                    call_facts* facts = nullptr);

    /// @brief Waits until all ranks may set something up for the call that has its turn.
    /// @pre all ranks are in it
    /// @par Collective
    /// Yes, in turn; blocks.
    void begin_set_up() const;
    /// @brief Waits until all ranks are in the call that has its turn.
    void wait_for_all() const;

    /// @brief The answers of all ranks to whether they go on like this.
    /// @par Collective
    /// Yes, in turn. One reduction of a word.
    class question {
      public:
        question(graph& of, block_kind kind);
        /// @brief Leaves the body that runs until the answers are there.
        void conclude();

      private:
        repetition& calls_;
        const graph& of_;
        std::int64_t votes_;
    };

    /// @brief Compiles a plan and compares it with MPI, unless the environment names a route.
    /// @param depth  as `planned_exchange` takes it
    /// @param facts  takes what was found out, if it is not null; it is so on all ranks or none
    /// @return null if MPI is faster, or if no plan can be for this call
    /// @par Collective
    /// Yes, in turn; blocks.
    std::unique_ptr<planned_exchange> make_plan(const layouts_seen& layout, block_kind kind,
                                                call_form form, std::size_t depth,
                                                call_facts* facts);

    /// @brief Frees a communicator, and in the background what is kept with it, once nothing of this rank's is under
    /// way and its persistent requests are freed. No other rank is asked. If MPI refuses, nothing has changed.
    /// @param own  MPI's function that frees it
    static int free_with(MPI_Comm* user, int (*own)(MPI_Comm*));
    /// @brief MPI has freed the user's communicator.
    void forget_user() noexcept { user_ = MPI_COMM_NULL; }

    /// @brief Frees what all of them have, whatever persistent requests there are, and tells the report.
    ///
    /// MPI_Finalize calls it by an attribute of MPI_COMM_SELF, unless the program's call came here first. MPICH needs
    /// the latter: it waits for exchanges before it deletes attributes. Calls that come later are MPI's.
    /// @par Collective
    /// Yes, over all ranks; blocks.
    static void close_all() noexcept;

    /// @brief Where the user has the errors of his calls told.
    MPI_Comm error_comm() const noexcept { return user_ != MPI_COMM_NULL ? user_ : MPI_COMM_SELF; }

    /// @brief Persistent requests that are not freed.
    int num_persistent = 0;

  private:
    // Calls in which all neighbors get the same block have plans of their own, which send it to a node once.
    struct kind_state {
        repetition calls{false};
        int round = 0;
        std::vector<std::unique_ptr<planned_exchange>>
            plans;  // of the present round; null: MPI is faster
        std::vector<std::unique_ptr<planned_exchange>> old;
        std::shared_ptr<const plan_facts> not_faster;  // than MPI; the last one
    };

    kind_state& state_of(block_kind kind) { return kinds_[static_cast<std::size_t>(kind)]; }
    bool is_idle() const;
    bool may_all(bool may_this) const;
    MPI_Comm make_twin() const;
    trial_seconds compare_with_mpi(planned_exchange& made, const layouts_seen& layout,
                                   block_kind kind, call_form form);
    struct plan_terms {
        int alignment;       // negative if the call is MPI's
        std::int64_t trial;  // the number of an equal one before; negative if there is none
    };
    plan_terms agree_on_plan(const layouts_seen& layout, std::uint64_t hash);
    std::uint64_t hash_of(const layouts_seen& layout, block_kind kind, call_form form) const;
    static void close_before_finalize();
    static void keep(MPI_Comm user, int key, both_sides sides, bool has_topology,
                     const graph_terms& agreed);
    static void close_later(const std::shared_ptr<graph>& one);
    void close();

    MPI_Comm user_;  // null once it is freed
    int number_;
    bool has_topology_;
    graph_terms terms_;
    place::seat seat_;
    neighbors sources_;
    neighbors destinations_;
    std::list<std::shared_ptr<graph>>::iterator among_all_;
    bool is_closing_ = false;
    MPI_Comm twin_ = MPI_COMM_NULL;
    std::int64_t next_turn_ = 0;
    std::int64_t present_turn_ = 0;
    int num_plans_ = 0;
    std::size_t number_of(const tagged_comm& of) const noexcept {
        return static_cast<std::size_t>(of.tag - seat_.tag_of(place::message::blocks));
    }

    std::size_t num_without_plan_ = 0;  // of calls
    std::array<bool, place::num_tags_of_blocks> are_under_way_{};
    std::array<kind_state, 3> kinds_;
};

}  // namespace crossdock::drop_in
