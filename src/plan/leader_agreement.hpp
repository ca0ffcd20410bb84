/// @file
/// @brief How the members of two regions agree on who sends and who receives between them.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "../base/word_message.hpp"
#include "crossdock/route.hpp"

namespace crossdock {

/// @brief Items bound for a region.
struct region_volume {
    region_t region;
    count_t num_items;
};

/// @brief One rank's part in filling its leader table; in three rounds.
///
/// The member with local rank 0 leads its region.
///
///     1. members tell their coordinator how many items they have for each region
///     2. the coordinator balances the sums over the members, tells them who sends where, and tells the
///        coordinators of those regions the sum and the sender
///     3. those coordinators balance what comes in, and tell the senders who receives
///
/// A rank learns only what concerns regions it has items for; only the coordinators hear of all
/// regions that their region talks with.
class leader_agreement {
  public:
    /// @param max_leaders  the most members of a region that speak with others; at least 1
    leader_agreement(const topology& regions, rank_t here, rank_t max_leaders);

    std::vector<word_message> send_volumes(std::span<const region_volume> volumes);
    void receive_volumes(const std::vector<word_message>& inbox);

    std::vector<word_message> send_senders();
    void receive_senders(const std::vector<word_message>& inbox);

    /// @brief A sender of another region, and this region's receiver for it.
    struct receiver_notice {
        rank_t sender;
        rank_t receiver;
    };
    /// @brief What to tell the senders of other regions; travels with the first stage's headers.
    std::vector<receiver_notice> receivers();
    /// @param from  the coordinator of the region that `receiver` is in
    void receive_receiver(rank_t from, rank_t receiver);

    const leader_table& leaders() const noexcept { return leaders_; }

  private:
    // What the coordinator knows of the traffic with another region.
    struct outgoing_sum {
        region_t region;
        count_t num_items = 0;
        std::vector<rank_t> members = {};  // who asked
    };
    struct incoming_sum {
        region_t region;
        count_t num_items;
        rank_t sender;
    };

    template <class Sum>
    std::vector<rank_t> find_leaders(std::vector<Sum>& sums) const;
    rank_t coordinator_of(region_t region) const { return regions_.rank_at(region, 0); }
    void add_volumes(rank_t member, std::span<const region_volume> volumes);

    const topology& regions_;
    rank_t here_;
    rank_t max_leaders_;
    region_t region_;
    std::vector<outgoing_sum> outgoing_;
    std::unordered_map<region_t, std::size_t> outgoing_index_;
    std::vector<incoming_sum> incoming_;
    leader_table leaders_;
};

}  // namespace crossdock
