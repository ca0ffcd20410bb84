/// @file
/// @brief Exchanges of one layout along a plan.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "device_memory.hpp"
#include "neighbor_messages.hpp"
#include "plan_facts.hpp"

namespace crossdock::drop_in {

/// @brief The two sides of a call, in bytes.
struct call_layout {
    side_layout sends;
    side_layout receives;
};

/// @brief Those of a call, which keeps them.
struct layouts_seen {
    const side_layout& sends;
    const side_layout& receives;
    bool is_for_mpi;                             ///< one of them is in memory that only MPI may use
    const device_copies* send_copies = nullptr;  ///< in a device's memory; null: not, or MPI's
    const device_copies* receive_copies = nullptr;
};

/// @brief How a program waits for a call; MPI has functions of its own for each, some of them faster than others.
enum class call_form { blocking, nonblocking, persistent };

/// @brief Which plans calls can share: those that send alike, and are compared with the same function of MPI's.
enum class block_kind {
    any,     ///< each neighbor is sent a block of its own
    shared,  ///< all neighbors are sent the same block, which goes to a node once
    equal,   ///< MPI_Alltoall: a block of its own, as long as all others
};

/// @brief What a plan is compared with: what becomes of calls that are left to MPI.
struct opponent {
    graph_edges edges;  ///< with the communicator that MPI's function is called on
    bool is_by_messages;
    bool has_topology;      ///< whose neighbors are those of the pattern; otherwise all ranks are
    bool has_equal_blocks;  ///< of all ranks, one after the other
    // Buffers are in a device's memory; null: in the host's.
    const device_copies* send_copies = nullptr;
    const device_copies* receive_copies = nullptr;
};

struct bytes_side;

/// @brief A plan for calls of one layout.
///
/// With two objects two exchanges can be under way; a third one waits for the first.
class planned_exchange {
  public:
    /// @param where, p  as `neighbor_exchange` takes them
    /// @param layout    of the calls that `p` was made of, in items of 2^`alignment` bytes
    /// @param depth     how many exchanges can be under way
    /// @par Collective
    /// Yes; blocks.
    planned_exchange(const context& where, const pattern& p, call_layout layout, int alignment,
                     std::size_t depth);

    const call_layout& layout() const noexcept { return layout_; }
    /// @brief The plan; its layout is in items.
    const crossdock::plan& plan() const noexcept { return instances_.front().exchange_.plan(); }
    /// @brief For messages beside its exchanges, which may be started in another order than those of other plans.
    MPI_Comm comm() const { return comm_->get(); }
    int tag() const noexcept { return tag_.first(); }

    /// @brief Does a few exchanges of unspecified bytes along the plan and a few by MPI.
    /// @par Collective
    /// Yes; blocks.
    trial_seconds compare_with_mpi(const opponent& mpi, call_form form);

    /// @brief What calls along it tell of it; null unless there is to be a report.
    const std::shared_ptr<const plan_facts>& facts() const noexcept { return facts_; }
    void set_facts(std::shared_ptr<const plan_facts> found) { facts_ = std::move(found); }

    /// @brief One exchange at a time along the plan.
    class instance {
      public:
        instance(neighbor_exchange exchange, const planned_exchange& of)
            : exchange_(std::move(exchange)), of_(&of) {}

        /// @brief Whether an exchange is under way; one that its call has left is tested then.
        bool is_active() noexcept;
        const planned_exchange& whole() const noexcept { return *of_; }

        /// @brief Which sides have their blocks where the plan looks for them.
        struct sides_as_planned {
            bool sends;
            bool receives;
        };
        sides_as_planned lies_as_planned(const call_side& sends, const call_side& receives) const;

        /// @brief Starts what the plan does for the blocks that are as long as planned.
        /// @param sends, receives  borrowed until the exchange is complete
        /// @param are              their `lies_as_planned`
        /// @param failure          thrown if it is not null: this rank cannot take part
        void start(const call_side& sends, const call_side& receives, sides_as_planned are,
                   const std::exception_ptr& failure = nullptr);
        void start(const call_side& sends, const call_side& receives,
                   const std::exception_ptr& failure = nullptr) {
            start(sends, receives, lies_as_planned(sends, receives), failure);
        }
        /// @brief Whether it is complete; the blocks are then in their places.
        bool test();
        /// @brief Blocks in MPI until it is complete.
        void wait();

      private:
        friend class planned_exchange;
        void start(const std::byte* items, std::byte* slots);
        template <class Ends>
        bool end_by(Ends&& ends);
        void unpack() const;

        neighbor_exchange exchange_;
        const planned_exchange* of_;
        host_room items_;  // of a call whose blocks do not lie as planned
        host_room slots_;
        const std::byte* unpacked_from_ = nullptr;
        const call_side* unpacked_into_ = nullptr;
        bool is_left_ = false;  // by a call that has failed
    };

    /// @brief The object for the next exchange; may be active still. Blocking calls go on with that of the last one.
    /// @par Collective
    /// Yes; blocks if `makes_next`.
    instance& next_instance(call_form form);

    /// @brief Whether `next_instance` would have to make one.
    bool makes_next(call_form form) const { return number_of_next(form) == instances_.size(); }

    /// @brief What `next_instance` would return, if it is there and not active; null otherwise.
    instance* find_ready(call_form form);

    /// @brief Whether no exchange is under way.
    bool is_idle();

  private:
    std::pair<bytes_side, bytes_side> trial_sides(const device_copies* sends,
                                                  const device_copies* receives) const;
    std::size_t number_of_next(call_form form) const;
    void exchange_bytes(bytes_side& sends, bytes_side& receives);
    void wait_for_trial();

    call_layout layout_;
    int alignment_;
    std::size_t depth_;
    const communicator* comm_;
    tag_block tag_;
    std::vector<instance> instances_;
    std::size_t present_ = 0;
    std::shared_ptr<const plan_facts> facts_;
};

}  // namespace crossdock::drop_in
