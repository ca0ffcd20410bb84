// What the members of a region tell each other, what the region as a whole sends and receives, and what follows
// for a rank on routes by region.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "different_items.hpp"
#include "stage_cost.hpp"

namespace crossdock {

/// @brief Items for a region, or from a region or rank.
struct counted_items {
    int peer;  ///< region or rank
    count_t num_items;
};

/// @brief What a rank, or all ranks of its region, sends to other nodes in a stage, and gets from
/// them.
struct node_items {
    count_t sent = 0;
    count_t received = 0;

    node_items& operator+=(const node_items& other) noexcept {
        sent += other.sent;
        received += other.received;
        return *this;
    }
};

/// @brief The two ways to count it, as in `estimated_route`.
struct stage_items {
    node_items alone;
    node_items together;
};

/// @brief What one member tells another.
struct member_summary {
    std::vector<counted_items> sends;  ///< for every other region, as they travel
    std::vector<counted_items>
        receives;               ///< from every other region, each for every member that asks
    count_t num_different = 0;  ///< items that it sends, each once; 0 if each has one destination
    std::vector<stage_items> stages;  ///< of all candidates, one after the other
    /// What it gets from which rank through the other member; of each candidate by counterparts.
    std::vector<std::vector<counted_items>> forwarded;

    std::vector<std::int64_t> to_words() const;
    static member_summary from_words(std::span<const std::int64_t> words);
};

/// @brief One side of the region's traffic with the other regions.
///
/// The member that speaks with a region is the one that `leader_agreement` would find for such
/// volumes.
class region_side {
  public:
    struct region_total {
        region_t region;
        count_t num_items = 0;
        count_t num_different = 0;  ///< of them, if equal ones come once
        rank_t leader = 0;
        std::size_t first_share = 0;
        std::size_t num_shares = 0;
    };
    struct member_share {
        region_t region;
        rank_t member;
        count_t num_items;
    };

    void add(rank_t member, const std::vector<counted_items>& by_region);

    /// @brief Sums up what was added.
    /// @param num_items_each  that each rank of the other regions has
    void close(const topology& regions, count_t num_items_each);

    void share_out(const topology& regions, region_t own, rank_t max_leaders);

    /// @brief Of each other region, ascending.
    const std::vector<region_total>& totals() const noexcept { return totals_; }
    std::span<const member_share> shares(const region_total& total) const {
        return std::span(shares_).subspan(total.first_share, total.num_shares);
    }
    rank_t leader_for(region_t other) const;

    /// @brief Adds, for every other member, its items that `leader` speaks for.
    void add_shares(rank_t leader, std::map<rank_t, count_t>& of_members) const;

  private:
    std::vector<member_share> shares_;  // by region once all were added
    std::vector<region_total> totals_;
};

/// @brief What is known of the region when all members have told.
class region_summary {
  public:
    /// @param here  the rank whose view it is
    region_summary(const topology& regions, rank_t here) : regions_(regions), here_(here) {}

    void add(rank_t member, const member_summary& told);

    /// @brief Sums up what the members have told; when all were added.
    void close();

    /// @brief Finds the members that speak with other regions, at most so many; when closed.
    void share_out(rank_t max_leaders);

    /// @brief Finds what this rank forwards on a candidate by counterparts; when all were added.
    /// @param number  among these candidates
    void take_forwarded(std::size_t number);

    /// @brief What a member gets from a rank through this one.
    struct forwarded_items {
        rank_t member;
        rank_t source;
        count_t num_items;
    };

    const region_side& senders() const noexcept { return senders_; }
    const region_side& receivers() const noexcept { return receivers_; }
    const std::vector<forwarded_items>& forwarded() const noexcept { return forwarded_; }
    /// @brief Of all members together.
    const std::vector<stage_items>& stages() const noexcept { return stages_; }

    /// @brief What a rank of another region has to send; taken to be as much as of the members that
    /// have most.
    different_items items_of_a_rank() const { return different_items(most_different_); }

  private:
    struct told_forwarded {
        rank_t member;
        std::vector<std::vector<counted_items>> of_candidates;
    };

    const topology& regions_;
    rank_t here_;
    region_side senders_;
    region_side receivers_;
    std::vector<forwarded_items> forwarded_;
    std::vector<told_forwarded> told_forwarded_;
    std::vector<stage_items> stages_;
    count_t most_different_ = 0;
};

/// @brief The summary of a rank's pattern, without stages and what others forward.
member_summary summarize_member(const estimate_frame& frame);

/// @brief What a rank gets from where, by the rank that it gets it through.
using receives_by_rank = std::map<rank_t, std::vector<counted_items>>;

/// @brief What the rank gets on a route by counterparts from where, by the member that forwards it; itself for
/// what comes directly.
receives_by_rank receives_by_counterpart(const estimate_frame& frame, const route& r);

/// @brief Adds to a route by counterparts, whose sends of the first stage are there, all else.
/// @param across  receives what the node gets in the first stage
void follow_counterparts(const estimate_frame& frame, const region_summary& region,
                         const receives_by_rank& by_counterpart, stage_cost& loads,
                         node_items& across);

/// @brief Adds the three stages of a route by leaders.
/// @param across  receives what the node sends and gets in the second stage
void follow_leaders(const estimate_frame& frame, const region_summary& region, stage_cost& loads,
                    node_items& across);

}  // namespace crossdock
