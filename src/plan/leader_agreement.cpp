#include "leader_agreement.hpp"

#include <algorithm>

#include "../route/balance.hpp"

namespace crossdock {

leader_agreement::leader_agreement(const topology& regions, rank_t here, rank_t max_leaders)
    : regions_(regions), here_(here), max_leaders_(max_leaders), region_(regions.region_of(here)) {}

// Puts the sums in order; returns, for each, the member that speaks with its region.
template <class Sum>
std::vector<rank_t> leader_agreement::find_leaders(std::vector<Sum>& sums) const {
    std::ranges::sort(sums, {}, &Sum::region);
    std::vector<count_t> volumes;
    for (const auto& sum : sums) volumes.push_back(sum.num_items);
    auto leaders =
        balance_messages(std::move(volumes), std::min(max_leaders_, regions_.region_size(region_)));
    for (rank_t& leader : leaders) leader = regions_.rank_at(region_, leader);
    return leaders;
}

std::vector<word_message> leader_agreement::send_volumes(std::span<const region_volume> volumes) {
    if (coordinator_of(region_) == here_) {
        add_volumes(here_, volumes);
        return {};
    }
    if (volumes.empty()) return {};
    word_message message{coordinator_of(region_), {}};
    for (const auto& volume : volumes) {
        message.words.insert(message.words.end(), {volume.region, volume.num_items});
    }
    return {std::move(message)};
}

void leader_agreement::receive_volumes(const std::vector<word_message>& inbox) {
    for (const auto& message : inbox) {
        std::vector<region_volume> volumes;
        for (std::size_t w = 0; w < message.words.size(); w += 2) {
            volumes.push_back({static_cast<region_t>(message.words[w]), message.words[w + 1]});
        }
        add_volumes(message.peer, volumes);
    }
}

void leader_agreement::add_volumes(rank_t member, std::span<const region_volume> volumes) {
    for (const auto& volume : volumes) {
        const auto [entry, is_new] = outgoing_index_.try_emplace(volume.region, outgoing_.size());
        if (is_new) outgoing_.push_back({volume.region});
        auto& sum = outgoing_[entry->second];
        sum.num_items += volume.num_items;
        sum.members.push_back(member);
    }
}

std::vector<word_message> leader_agreement::send_senders() {
    const auto leader = find_leaders(outgoing_);
    std::vector<word_message> to_send;
    std::unordered_map<rank_t, std::size_t> message_to_member;
    for (std::size_t i = 0; i < outgoing_.size(); ++i) {
        const auto& [region, num_items, members] = outgoing_[i];
        const rank_t sender = leader[i];
        to_send.push_back({coordinator_of(region), {region_, num_items, sender}});
        for (const rank_t member : members) {
            if (member == here_) {
                leaders_.senders[region] = sender;
                continue;
            }
            const auto [entry, is_new] = message_to_member.try_emplace(member, to_send.size());
            if (is_new) to_send.push_back({member, {}});
            auto& words = to_send[entry->second].words;
            words.insert(words.end(), {region, sender});
        }
    }
    return to_send;
}

void leader_agreement::receive_senders(const std::vector<word_message>& inbox) {
    for (const auto& [peer, words] : inbox) {
        if (regions_.region_of(peer) != region_) {
            incoming_.push_back(
                {static_cast<region_t>(words[0]), words[1], static_cast<rank_t>(words[2])});
            continue;
        }
        for (std::size_t w = 0; w < words.size(); w += 2) {
            leaders_.senders[static_cast<region_t>(words[w])] = static_cast<rank_t>(words[w + 1]);
        }
    }
}

std::vector<leader_agreement::receiver_notice> leader_agreement::receivers() {
    const auto leader = find_leaders(incoming_);
    std::vector<receiver_notice> notices;
    for (std::size_t i = 0; i < incoming_.size(); ++i)
        notices.push_back({incoming_[i].sender, leader[i]});
    return notices;
}

void leader_agreement::receive_receiver(rank_t from, rank_t receiver) {
    leaders_.receivers[regions_.region_of(from)] = receiver;
}

}  // namespace crossdock
