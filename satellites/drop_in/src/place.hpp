/// @file
/// @brief What graphs of the same ranks share.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/context.hpp"
#include "plan_facts.hpp"

namespace crossdock::drop_in {

/// @brief A trial that need not be repeated. Those of a place are in one order on all of its ranks.
struct known_trial {
    std::uint64_t hash;  ///< of the graph and the call
    trial_seconds seconds;
    std::shared_ptr<const plan_facts> facts;
};

/// @brief A set of ranks, with what all graphs between them share: communicators, shared memory, trials.
///
/// It stays until MPI_Finalize. A graph therefore takes no communicator of its own, and is freed without asking other
/// ranks. What the ranks of a graph have to agree on travels in messages with the graph's tags.
class place {
  public:
    /// @brief Of the messages of one graph, so that those of different kinds never meet.
    enum class message { votes, questions, blocks };
    /// @brief So many calls without a plan can be under way at a time.
    static constexpr int num_tags_of_blocks = 62;

    /// @brief A graph's part of a place: its tags, which no other graph has as long as this one lives.
    class seat {
      public:
        seat() = default;
        seat(place& at, std::int64_t number);
        seat(seat&& other) noexcept
            : at_(std::exchange(other.at_, nullptr)), number_(other.number_) {}
        seat& operator=(seat&&) = delete;
        ~seat();

        /// @brief Null for a rank without neighbors.
        place* at() const noexcept { return at_; }
        int tag_of(message kind) const noexcept;

      private:
        place* at_ = nullptr;
        std::int64_t number_ = 0;
    };

    /// @brief Takes a seat for a new graph in the place of those ranks of `user` that have neighbors, or in a new
    /// place.
    /// @param members        these ranks, in ascending order
    /// @param has_neighbors  this one is among them; otherwise its seat is nowhere
    /// @param key            the same on all ranks, and not that of another place
    /// @return nothing, on all ranks, where there are too many places or too few tags
    /// @par Collective
    /// Yes, over `user`; blocks. One reduction; also a split and a context for a new place.
    static std::optional<seat> take_seat(MPI_Comm user, std::span<const rank_t> members,
                                         bool has_neighbors, std::int64_t key);

    /// @brief Frees what all places have.
    /// @par Collective
    /// Yes, over all ranks; blocks.
    static void close_all();

    place(const place&) = delete;
    place& operator=(const place&) = delete;

    const context& where() const noexcept { return where_; }
    /// @brief For messages with the tags of seats; in set-ups also for collective calls.
    MPI_Comm messages() const noexcept { return messages_; }
    std::vector<known_trial>& trials() noexcept { return trials_; }
    /// @brief Whether the environment names a route.
    bool is_forced() const noexcept { return is_forced_; }
    /// @brief Frees a communicator with the place.
    void free_at_end(MPI_Comm comm) { append_with_reserve(kept_, comm); }

    using combination = std::int64_t(std::int64_t, std::int64_t);
    static std::int64_t least(std::int64_t a, std::int64_t b) { return std::min(a, b); }
    static std::int64_t common_bits(std::int64_t a, std::int64_t b) { return a & b; }

    /// @brief Combines the words of all ranks by `combine`, for which x with x is x. Leaves the body that runs until
    /// they are there.
    /// @param tag  of a seat; one reduction with it after the other
    /// @par Collective
    /// Yes. ceil(log2 P) messages from each rank (dissemination).
    void reduce(std::span<std::int64_t> words, int tag, combination& combine) const;

  private:
    struct identity {
        std::vector<rank_t> ranks;  // in MPI_COMM_WORLD
        std::string regions;  // that the environment names for some of a communicator's; else empty
        friend bool operator==(const identity&, const identity&) = default;
    };
    place(MPI_Comm messages, identity who, std::int64_t key);

    static std::vector<std::unique_ptr<place>>& all();

    MPI_Comm messages_;
    identity who_;
    std::int64_t key_;
    context where_;
    bool is_forced_ = false;
    std::vector<known_trial> trials_;
    std::vector<MPI_Comm> kept_;
    std::int64_t next_number_ = 1;  // the first graph has 0
    std::set<std::int64_t> taken_numbers_;
};

}  // namespace crossdock::drop_in
