/// @file
/// @brief What the members of a region tell each other, and what the region as a whole sends and receives.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "crossdock/pattern/pattern.hpp"
#include "crossdock/topology/topology.hpp"

namespace crossdock {

/// @brief Items for a region, or from a rank.
struct counted_items {
    int peer;  ///< region or rank
    count_t num_items;
};

/// @brief What a rank's own items, or the items for it, add to one side of a stage, wherever they are then.
struct stage_flow {
    count_t num_items = 0;
    count_t num_network_items = 0;  ///< of these, those that go to another node
    std::int64_t num_ranks = 1;     ///< on which they are

    /// @brief The part of them that is on one rank.
    double share() const noexcept {
        return num_ranks == 0 ? 1 : 1 / static_cast<double>(num_ranks);
    }
};

/// @brief Both sides of a stage.
struct stage_flows {
    stage_flow sent;
    stage_flow received;
};

/// @brief What one member tells the others.
struct member_summary {
    std::vector<counted_items> sends;     ///< for every other region, as they travel
    std::vector<counted_items> receives;  ///< from every rank
    count_t num_asked =
        0;  ///< items for other regions, each for every destination that asks for it
    std::vector<stage_flows> stages;  ///< of all candidates, one after the other

    std::vector<std::int64_t> to_words() const;
    static member_summary from_words(std::span<const std::int64_t> words);
};

/// @brief The summary of a pattern, without its stages.
member_summary summarize_member(const topology& regions, const pattern& p, bool deduplicate);

/// @brief One side of the region's traffic with the other regions.
///
/// The member that speaks with a region is the one that `speaker_agreement` would find for such volumes.
class region_side {
  public:
    struct member_share {
        rank_t member;
        count_t num_items;
    };
    struct region_total {
        count_t num_items = 0;
        rank_t speaker = 0;
        std::vector<member_share> shares = {};
    };

    void add(rank_t member, region_t other, count_t num_items);
    void share_out(const topology& regions, region_t own);

    const std::map<region_t, region_total>& totals() const noexcept { return totals_; }
    rank_t speaker_for(region_t other) const { return totals_.at(other).speaker; }

    /// @brief Adds, for every other member, its items that `speaker` speaks for.
    void add_shares(rank_t speaker, std::map<rank_t, count_t>& of_members) const;

  private:
    std::map<region_t, region_total> totals_;
};

/// @brief What is known of the region when all members have told.
class region_summary {
  public:
    region_summary(const topology& regions, region_t own) : regions_(regions), own_(own) {}

    void add(rank_t member, const member_summary& told);

    /// @brief To be called when all members were added.
    void finish();

    /// @brief Something that a member receives.
    struct member_receive {
        rank_t member;
        rank_t source;
        count_t num_items;
    };

    const region_side& senders() const noexcept { return senders_; }
    const region_side& receivers() const noexcept { return receivers_; }
    const std::vector<member_receive>& receives() const noexcept { return receives_; }
    /// @brief The stages of each member.
    const std::vector<std::vector<stage_flows>>& stages() const noexcept { return stages_; }

    /// @brief How many of the items that another region is asked for come when equal ones travel once;
    /// taken to be as many as of the region's own.
    count_t arriving(count_t num_asked) const noexcept;

  private:
    const topology& regions_;
    region_t own_;
    region_side senders_;
    region_side receivers_;
    std::vector<member_receive> receives_;
    std::vector<std::vector<stage_flows>> stages_;
    count_t num_sent_ = 0;
    count_t num_asked_ = 0;
};

}  // namespace crossdock
