/// @file
/// @brief What a star forest exchanges: values of roots to their leaves, and of leaves to their roots.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/pattern.hpp"

namespace crossdock {

/// @brief One rank's leaves, and the roots that they are attached to.
struct leaf_edges {
    std::vector<rank_t> ranks;        ///< the owners of the roots, this rank first
    std::vector<count_t> offsets{0};  ///< the edges to each of them
    std::vector<count_t> leaves;      ///< of every edge, its leaf in the array of leaves
    std::vector<count_t> roots;       ///< likewise, its root in the owner's array of roots
};

/// @brief One rank's roots, and who has leaves attached to them.
struct root_edges {
    std::vector<rank_t> ranks;  ///< the owners of the leaves, this rank first, others ascending
    std::vector<count_t> offsets{0};  ///< the edges to each of them
    std::vector<count_t> roots;       ///< of every edge, its root
};

/// @brief How a forest exchanges; equal on all ranks.
struct forest_options {
    std::string route = "auto";
    std::string executor = automatic_executor;

    friend bool operator==(const forest_options&, const forest_options&) = default;
};

/// @brief The operations of one star forest, on arrays of values of any size.
///
/// A root that several leaves need travels as one item with several destinations. Leaves travel to
/// their roots one by one, and the owner combines them in the order of its edges: that gives the
/// same bits on every route, for any operation.
///
/// A rank's leaves have *slots*: their places in the array of leaves, counted from the first; or,
/// where two edges share a place, one for each edge.
class forest_exchange {
  public:
    /// @brief Which way values travel.
    enum class direction { to_leaves, to_roots };

    /// @brief What identifies an operation under way. Pointers are to the value of index 0, which
    /// need not be there.
    struct operation {
        direction to;
        std::size_t item_bytes;
        const void* roots;
        const void* leaves;

        friend bool operator==(const operation&, const operation&) = default;
    };

    /// @brief An operation that is under way, with the values that are not in place.
    class active {
      public:
        /// @brief Waits for the values.
        /// @param comes_back  `send_back` follows on all ranks; where this throws, it takes part there with nothing
        /// @return to leaves: by slot, or null where they are in place; to roots: by edge. Valid
        /// until `release`.
        /// @throws what `fail_start` was given; as `neighbor_exchange::wait`
        std::byte* finish(bool comes_back);

        std::size_t item_bytes() const noexcept { return what_.item_bytes; }

        /// @brief Brings a value for every edge back to its leaf; to roots only, after `finish`.
        /// @param values  by edge
        /// @param leaves  the array that takes them
        void send_back(const std::byte* values, void* leaves);

        /// @brief Its buffers may serve another operation.
        void release() noexcept { is_busy_ = false; }

      private:
        friend class forest_exchange;
        active(const forest_exchange& forest, neighbor_exchange exchange)
            : forest_(&forest), exchange_(std::move(exchange)) {}

        void start(const operation& what, bool is_in_place);
        void wait(bool comes_back);
        std::span<std::byte> slot_room();

        const forest_exchange* forest_;
        neighbor_exchange exchange_;
        operation what_{};
        bool is_busy_ = false;
        bool is_in_place_ = false;
        std::optional<error> failed_;
        std::vector<std::byte> slots_;
        std::vector<std::byte> edges_;
    };

    /// @param leaves   this rank's; those of all ranks belong together
    /// @param options  equal on all ranks, which is found out when the first operation starts
    forest_exchange(const context& where, leaf_edges leaves, root_edges roots,
                    forest_options options);
    forest_exchange(const forest_exchange&) = delete;
    forest_exchange& operator=(const forest_exchange&) = delete;

    const forest_options& options() const noexcept { return options_; }
    const leaf_edges& edges() const noexcept { return leaves_; }
    const root_edges& incoming() const noexcept { return roots_; }

    /// @brief Up to the last one that has a leaf.
    count_t num_roots() const noexcept { return num_roots_; }
    count_t first_leaf() const noexcept { return first_leaf_; }
    count_t num_places() const noexcept { return num_places_; }

    /// @brief The slot of every edge.
    const std::vector<count_t>& slots() const noexcept { return slots_; }
    count_t num_slots() const noexcept { return num_slots_; }

    /// @brief Starts an operation.
    /// @param replaces  to leaves: values take the place of what is there
    /// @return what `neighbor_exchange::explain` says, if this was the first in its direction
    /// @par Collective
    /// Yes. Blocks if no operation of this size is idle, as the first never is.
    /// @throws as `neighbor_exchange`, on all ranks
    std::optional<std::string> start(const operation& what, bool replaces);

    /// @brief Takes part in an operation with nothing, where others start it; they hear of `why`. It is active here as
    /// well, so that all ranks use the same objects; its `finish` throws `why`.
    void fail_start(const operation& what, const error& why);

    /// @brief Of the operations under way that are equal to this one, the first that was started;
    /// it is no longer found.
    /// @throws error(errc::invalid_state)  there is none
    active& take(const operation& what);

    bool is_active() const noexcept { return !started_.empty(); }

  private:
    void number_slots();
    pattern pattern_to(direction to) const;
    active& idle_one(const operation& what, std::optional<std::string>& explained);
    bool overlaps(const operation& what) const noexcept;

    context where_;
    leaf_edges leaves_;
    root_edges roots_;
    forest_options options_;
    count_t num_roots_ = 0;
    count_t first_leaf_ = 0;
    count_t num_places_ = 0;  // from the first leaf's to the last one's
    bool slots_are_places_ = true;
    count_t num_slots_ = 0;
    std::vector<count_t> slots_;  // of every edge
    copy_list places_to_slots_;
    copy_list slots_to_places_;
    std::list<active> known_;       // in one order on all ranks
    std::vector<active*> started_;  // the oldest first
};

}  // namespace crossdock
