/// @file
/// @brief Exchanges of one layout along a plan.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "device_memory.hpp"
#include "message_beside.hpp"
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

/// @brief Some blocks of a side.
using block_numbers = std::vector<std::size_t>;

/// @brief What a plan is compared with: what becomes of calls that are left to MPI.
struct opponent {
    MPI_Comm comm;          ///< that MPI's function is called on
    bool has_topology;      ///< whose neighbors are those of the pattern; otherwise all ranks are
    bool has_equal_blocks;  ///< of all ranks, one after the other
    // Buffers are in a device's memory; null: in the host's.
    const device_copies* send_copies;
    const device_copies* receive_copies;
    std::function<void(call_side, call_side)>
        by_messages;  ///< in place of MPI's function; may be empty
};

struct bytes_side;

/// @brief Which edges of a plan can tell their receivers that a block is not what comes.
enum class marked_edges {
    none,   ///< all calls are as planned
    full,   ///< those that have a block in the plan
    every,  ///< an edge without a block has an item of its own for that
};

/// @brief A plan for calls of one layout.
///
/// With two objects two exchanges can be under way; a third one waits for the first.
///
/// A sender whose block is not as long as planned cannot know whether its receiver's is, nor the other way round. So
/// the sender puts a *mark* where the block begins in the plan, and sends the block alone. A block that begins with the
/// mark by chance is sent alone, too. A receiver that finds the mark takes the block alone; otherwise the planned bytes
/// have come, whatever it has room for. They come to memory of the plan first, since a block that comes alone may be
/// shorter and then leaves what is behind it as it was.
class planned_exchange {
  public:
    /// @param where, destinations, sources  whose neighbors they are
    /// @param layout    of the call that the plan is made for, in items of 2^`alignment` bytes
    /// @param is_shared all destinations have the same block
    /// @param marked    the same on all ranks
    /// @param depth     how many exchanges can be under way
    /// @par Collective
    /// Yes; blocks.
    planned_exchange(const context& where, std::span<const rank_t> destinations,
                     std::span<const rank_t> sources, call_layout layout, bool is_shared,
                     int alignment, marked_edges marked, std::size_t depth);

    /// @brief The lengths of the call that it was made for, and where their blocks lie in a plan's arrays.
    const call_layout& layout() const noexcept { return layout_; }
    /// @brief The plan; its layout is in items.
    const crossdock::plan& plan() const noexcept { return instances_.front().exchange_.plan(); }
    /// @brief How many tags an object needs for each exchange that can be under way.
    static constexpr int num_tags_each = 64;
    /// @param tags  for messages beside its exchanges
    void set_tags(tag_block tags) noexcept { tags_ = std::move(tags); }
    /// @brief Whether calls may have other lengths.
    bool may_differ() const noexcept { return marked_ != marked_edges::none; }

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
        /// @param number  of the plan's objects; the same on all ranks
        instance(neighbor_exchange exchange, const planned_exchange& of, std::size_t number)
            : exchange_(std::move(exchange)), of_(&of), number_(number) {}

        /// @brief Whether an exchange is under way; one that its call has left is tested then.
        bool is_active() noexcept;
        const planned_exchange& whole() const noexcept { return *of_; }

        /// @brief Which sides have their blocks where the plan looks for them.
        struct sides_as_planned {
            bool sends;
            bool receives;
        };
        sides_as_planned lies_as_planned(const call_side& sends, const call_side& receives) const;

        /// @brief Prepares what this rank sends in the next exchange.
        /// @param sends   borrowed until the exchange is complete
        /// @param lie_so  as `lies_as_planned` says
        void give(const call_side& sends, bool lie_so);
        /// @brief The blocks that are to be sent alone. Until the next exchange.
        const block_numbers& sent_alone() const noexcept { return sent_alone_; }

        /// @brief Starts what the plan does for the blocks that are as long as planned.
        /// @param receives  borrowed until the exchange is complete
        /// @param lie_so    as `lies_as_planned` says
        /// @param failure   thrown if it is not null: this rank cannot take part
        /// @pre `give` was called, or has failed
        void start(const call_side& receives, bool lie_so,
                   const std::exception_ptr& failure = nullptr);
        /// @brief Whether it is complete; the blocks are then in their places.
        bool test();
        /// @brief Blocks in MPI until it is complete.
        void wait();
        /// @brief The blocks that are to be received alone, once an exchange is complete. Until the next one.
        const block_numbers& received_alone() const noexcept { return received_alone_; }
        /// @brief Whether a block had less room than was sent along the plan.
        bool has_truncated() const noexcept { return has_truncated_; }

        /// @brief For messages beside this exchange, with two tags that no other one that may be under way has.
        tagged_comm beside() const;
        /// @brief Of this exchange, which has failed: messages that may still come, for which nobody waits. They are
        /// kept for a few exchanges.
        void keep_strays(std::shared_ptr<messages_beside> all) noexcept {
            strays_[num_exchanges_ % num_kept] = std::move(all);
        }

      private:
        friend class planned_exchange;
        static constexpr std::size_t num_tags = num_tags_each;
        static constexpr std::size_t num_turns = num_tags / 2;  // that tags take
        // Of so many exchanges. Ranks that are ahead must not have begun to use the tags again.
        static constexpr std::size_t num_kept = 4;

        void start(const std::byte* items, std::byte* slots);
        template <class Ends>
        bool end_by(Ends&& ends);
        void unpack();
        void unpack_different();

        neighbor_exchange exchange_;
        const planned_exchange* of_;
        std::size_t number_;
        host_room packed_;  // of a call whose blocks do not lie as planned
        host_room slots_;
        const std::byte* items_ = nullptr;
        const std::byte* unpacked_from_ = nullptr;
        const call_side* unpacked_into_ = nullptr;
        block_numbers sent_alone_;
        block_numbers received_alone_;
        bool has_truncated_ = false;
        bool is_left_ = false;  // by a call that has failed
        std::array<std::shared_ptr<messages_beside>, num_kept> strays_;  // of the last exchanges
        std::size_t num_exchanges_ = 0;
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
    // How many bytes of the plan belong to block `i`.
    count_t planned_bytes(const side_layout& side, std::size_t i) const {
        return std::max(side.lengths[i], least_bytes_);
    }
    std::size_t num_bytes(const side_layout& side) const;
    side_layout placed(side_layout side, bool is_given) const;
    void check_empty(const std::vector<std::byte>& slots, std::span<const rank_t> sources) const;
    void find_alone(const side_layout& planned, const std::byte* bytes, const side_layout& called,
                    block_numbers& found) const;
    std::size_t number_of_next(call_form form) const;
    void exchange_bytes(bytes_side& sends, bytes_side& receives);
    void wait_for_trial();

    marked_edges marked_;
    int alignment_;
    count_t least_bytes_;  // that an edge has in the plan
    bool is_shared_;
    call_layout layout_;
    bool has_own_items_;  // some that are no block's
    std::size_t depth_;
    const communicator* comm_;
    tag_block tags_;
    std::vector<instance> instances_;
    std::size_t present_ = 0;
    std::shared_ptr<const plan_facts> facts_;
};

}  // namespace crossdock::drop_in
