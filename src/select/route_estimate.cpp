#include "crossdock/select/route_estimate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>

#include "crossdock/route/balance.hpp"
#include "crossdock/route/two_step.hpp"
#include "item_groups.hpp"

namespace crossdock {

namespace {

constexpr int most_grid_dimensions = 4;

// Items for or from a region, of one rank.
struct region_items {
    region_t region;
    count_t num_items;
};

// What a rank sends or receives for every region but its own.
using region_table = std::vector<region_items>;

void append(std::vector<std::int64_t>& words, const region_table& table) {
    words.push_back(static_cast<std::int64_t>(table.size()));
    for (const auto& [region, num_items] : table) words.insert(words.end(), {region, num_items});
}

region_table read_table(std::span<const std::int64_t>& words) {
    region_table table;
    const auto size = static_cast<std::size_t>(words.front());
    for (std::size_t k = 0; k < size; ++k)
        table.push_back({static_cast<region_t>(words[1 + 2 * k]), words[2 + 2 * k]});
    words = words.subspan(1 + 2 * size);
    return table;
}

// What a rank's node sends to others and gets from them in a stage.
struct node_bytes {
    count_t sent = 0;
    count_t received = 0;
};

// The regions that a whole region talks with, and which of its members does.
class region_speakers {
  public:
    void add(rank_t member, const region_table& table) {
        for (const auto& [region, num_items] : table) {
            auto& sum = sums_[region];
            sum.num_items += num_items;
            sum.shares.push_back({member, num_items});
        }
    }

    // As `speaker_agreement` shares them out.
    void share_out(const topology& regions, region_t own) {
        std::vector<count_t> volumes;
        for (const auto& [region, sum] : sums_) volumes.push_back(sum.num_items);
        const auto locals = balance(volumes, regions.region_size(own));
        auto next = locals.begin();
        for (auto& [region, sum] : sums_) sum.speaker = regions.rank_at(own, *next++);
    }

    struct member_share {
        rank_t member;
        count_t num_items;
    };
    struct sum_of_region {
        count_t num_items = 0;
        rank_t speaker = 0;
        std::vector<member_share> shares = {};
    };
    const std::map<region_t, sum_of_region>& sums() const { return sums_; }
    rank_t speaker_for(region_t region) const { return sums_.at(region).speaker; }

  private:
    std::map<region_t, sum_of_region> sums_;
};

}  // namespace

std::vector<std::string> candidate_routes(const topology& regions) {
    std::vector<std::string> names{"direct"};
    const rank_t num_ranks = regions.num_ranks();
    const region_t num_regions = regions.num_regions();
    if (num_regions > 1 && num_regions < num_ranks) {
        names.insert(names.end(), {"two_step", "three_step"});
        if (num_regions > 4) names.push_back("locality:2");
        if (num_regions > 27) names.push_back("locality:3");
    }
    // n dimensions of 2 are the hypercube.
    const int num_bits = std::bit_width(static_cast<unsigned>(num_ranks - 1));
    for (int n = 2; n <= most_grid_dimensions && n < num_bits; ++n)
        names.push_back("grid:" + std::to_string(n));
    if (num_bits > 1) names.push_back("hypercube");
    return names;
}

class route_estimator::implementation {
  public:
    implementation(const rank_layout& layout, const pattern& p,
                   const std::vector<std::unique_ptr<route>>& candidates, const machine& m,
                   const estimate_options& options)
        : layout_(layout),
          pattern_(p),
          candidates_(candidates),
          machine_(m),
          options_(options),
          own_region_(regions().region_of(p.rank)) {
        find_regions();
        for (const auto& candidate : candidates_) {
            loads_.emplace_back(static_cast<std::size_t>(candidate->num_stages()),
                                stage_pricer(machine_));
            if (is_by_speakers(*candidate)) continue;
            const auto kept = follow_sends(*candidate, loads_.back());
            if (!is_by_counterparts(*candidate)) follow_receives(*candidate, kept, loads_.back());
        }
        for (const auto& stages : loads_) {
            for (const auto& stage : stages)
                node_bytes_.push_back({stage.network_bytes_sent(), stage.network_bytes_received()});
        }
    }

    std::vector<word_message> send() const {
        std::vector<std::int64_t> words;
        append(words, sends_by_region_);
        append(words, receives_by_region_);
        words.insert(words.end(), {across_.num_sent, across_.num_asked});
        words.push_back(static_cast<std::int64_t>(pattern_.receives.size()));
        for (std::size_t e = 0; e < pattern_.receives.size(); ++e) {
            words.insert(words.end(), {pattern_.receives.ranks[e],
                                       static_cast<std::int64_t>(pattern_.receives[e].size())});
        }
        for (const auto& [sent, received] : node_bytes_)
            words.insert(words.end(), {sent, received});
        std::vector<word_message> outbox;
        for (rank_t local = 0; local < regions().region_size(own_region_); ++local) {
            const rank_t member = regions().rank_at(own_region_, local);
            if (member != pattern_.rank) outbox.push_back({member, words});
        }
        return outbox;
    }

    void receive(const std::vector<word_message>& inbox) {
        senders_.add(pattern_.rank, sends_by_region_);
        for (std::size_t e = 0; e < pattern_.receives.size(); ++e) {
            receives_.push_back({pattern_.rank, pattern_.receives.ranks[e],
                                 static_cast<count_t>(pattern_.receives[e].size())});
        }
        receivers_.add(pattern_.rank, receives_by_region_);
        for (const auto& [member, all] : inbox) {
            std::span<const std::int64_t> words(all);
            senders_.add(member, read_table(words));
            receivers_.add(member, read_table(words));
            across_.num_sent += words[0];
            across_.num_asked += words[1];
            words = words.subspan(2);
            for (const auto& [source, num_items] : read_table(words))
                receives_.push_back({member, source, num_items});
            for (auto& [sent, received] : node_bytes_) {
                sent += words[0];
                received += words[1];
                words = words.subspan(2);
            }
        }
        kept_across_ = across_.num_asked > 0 ? static_cast<double>(across_.num_sent) /
                                                   static_cast<double>(across_.num_asked)
                                             : 1;
        senders_.share_out(regions(), own_region_);
        receivers_.share_out(regions(), own_region_);
        for (std::size_t c = 0; c < candidates_.size(); ++c) {
            if (is_by_speakers(*candidates_[c])) follow_speakers(loads_[c], node_bytes_of(c));
            if (is_by_counterparts(*candidates_[c]))
                follow_counterparts(*candidates_[c], loads_[c]);
        }
    }

    std::vector<std::vector<stage_price>> prices() const {
        std::vector<std::vector<stage_price>> result;
        for (std::size_t c = 0; c < loads_.size(); ++c) {
            const auto nodes = node_bytes_of(c);
            auto& stages = result.emplace_back();
            for (std::size_t t = 0; t < loads_[c].size(); ++t)
                stages.push_back(loads_[c][t].price(std::max(nodes[t].sent, nodes[t].received)));
        }
        return result;
    }

  private:
    const topology& regions() const { return layout_.regions(); }

    static bool is_by_speakers(const route& r) { return r.is_balanced(); }
    static bool is_by_counterparts(const route& r) {
        return dynamic_cast<const two_step_route*>(&r) != nullptr;
    }

    static count_t part_of(count_t num_items, double part) {
        return static_cast<count_t>(std::llround(static_cast<double>(num_items) * part));
    }

    std::span<node_bytes> node_bytes_of(std::size_t candidate) {
        return std::span(node_bytes_).subspan(first_stage(candidate), loads_[candidate].size());
    }
    std::span<const node_bytes> node_bytes_of(std::size_t candidate) const {
        return std::span(node_bytes_).subspan(first_stage(candidate), loads_[candidate].size());
    }
    std::size_t first_stage(std::size_t candidate) const {
        std::size_t first = 0;
        for (std::size_t c = 0; c < candidate; ++c) first += loads_[c].size();
        return first;
    }

    void find_regions() {
        const auto by_region = [&](const neighbor_list& list, bool deduplicate) {
            region_table table;
            const auto region_of = [&](rank_t rank) { return regions().region_of(rank); };
            for (const auto& [region, num_items] :
                 group_items(list, pattern_.num_items, deduplicate, region_of)) {
                if (region != own_region_)
                    table.push_back({static_cast<region_t>(region), num_items});
            }
            return table;
        };
        sends_by_region_ = by_region(pattern_.sends, options_.deduplicate);
        for (const auto& [region, num_items] : sends_by_region_) across_.num_sent += num_items;
        for (const auto& [region, num_items] : by_region(pattern_.sends, false))
            across_.num_asked += num_items;
        receives_by_region_ = by_region(pattern_.receives, false);
    }

    count_t bytes_of(count_t num_items) const { return num_items * options_.travel.item_bytes; }

    bool is_shared(locality_level level) const {
        return options_.travel.shares_memory && level != locality_level::network;
    }

    void add_send(stage_pricer& stage, locality_level level, count_t num_items) const {
        if (is_shared(level)) return stage.hand_over(bytes_of(num_items), num_items);
        stage.send(level, bytes_of(num_items), num_items);
    }

    void add_receive(stage_pricer& stage, locality_level level, count_t num_items) const {
        if (!is_shared(level)) stage.receive(level, bytes_of(num_items), 0);
    }

    void add_deliveries(stage_pricer& last) const {
        const auto num_slots = static_cast<count_t>(pattern_.receives.indices.size());
        last.copy(bytes_of(num_slots), num_slots);
    }

    // A step of some item from one rank to another.
    struct step {
        locality_level level;
        count_t num_items = 0;
    };
    // By how far the rank numbers are apart: steps of other items that are alike in this are taken to be
    // one message of a rank in this one's place.
    using steps = std::map<rank_t, step>;

    void add_step(steps& all, rank_t from, rank_t to, count_t num_items) const {
        const auto [entry, is_new] = all.try_emplace(to - from, step{layout_.level_of(from, to)});
        entry->second.num_items += num_items;
    }

    // Returns the part of the items that is left in each stage when equal ones are sent once.
    std::vector<double> follow_sends(const route& r, std::vector<stage_pricer>& stages) const {
        const speaker_table none;
        std::vector<double> kept;
        std::vector<rank_t> here(pattern_.sends.size(), pattern_.rank);
        const int num_stages = is_by_counterparts(r) ? 1 : r.num_stages();
        for (int t = 0; t < num_stages; ++t) {
            std::vector<hop> hops;
            for (std::size_t e = 0; e < here.size(); ++e) {
                const rank_t next = r.next_hop(here[e], pattern_.sends.ranks[e], t, none);
                hops.push_back({here[e], next});
                here[e] = next;
            }
            steps all;
            count_t num_sent = 0;
            for (const auto& [at, num_items] :
                 group_items(pattern_.sends, pattern_.num_items, options_.deduplicate, hops)) {
                if (at.from == at.to) continue;
                add_step(all, at.from, at.to, num_items);
                num_sent += num_items;
            }
            count_t num_all = 0;
            for (std::size_t e = 0; e < hops.size(); ++e) {
                if (hops[e].from != hops[e].to)
                    num_all += static_cast<count_t>(pattern_.sends[e].size());
            }
            kept.push_back(
                num_all > 0 ? static_cast<double>(num_sent) / static_cast<double>(num_all) : 1.0);
            for (const auto& [distance, one] : all)
                add_send(stages[static_cast<std::size_t>(t)], one.level, one.num_items);
        }
        return kept;
    }

    void follow_receives(const route& r, const std::vector<double>& kept,
                         std::vector<stage_pricer>& stages) const {
        const speaker_table none;
        const auto& list = pattern_.receives;
        std::vector<steps> all(stages.size());
        for (std::size_t e = 0; e < list.size(); ++e) {
            rank_t here = list.ranks[e];
            const auto num_items = static_cast<count_t>(list[e].size());
            for (int t = 0; t < r.num_stages(); ++t) {
                const rank_t next = r.next_hop(here, pattern_.rank, t, none);
                if (next != here) add_step(all[static_cast<std::size_t>(t)], here, next, num_items);
                here = next;
            }
        }
        for (std::size_t t = 0; t < stages.size(); ++t) {
            for (const auto& [distance, one] : all[t])
                add_receive(stages[t], one.level, part_of(one.num_items, kept[t]));
        }
        if (!stages.empty()) add_deliveries(stages.back());
    }

    // What comes from each rank for members of the region.
    struct member_receive {
        rank_t member;
        rank_t source;
        count_t num_items;
    };

    // All that a counterpart receives for others is for members of its region.
    void follow_counterparts(const route& r, std::vector<stage_pricer>& stages) const {
        const speaker_table none;
        std::map<rank_t, count_t> crossing;
        std::map<rank_t, count_t> sent_on;
        std::map<rank_t, count_t> received;
        for (const auto& [member, source, num_items] : receives_) {
            const rank_t counterpart = r.next_hop(source, member, 0, none);
            if (counterpart == pattern_.rank && source != counterpart)
                crossing[source] += num_items;
            if (counterpart == member) continue;
            if (counterpart == pattern_.rank) sent_on[member] += num_items;
            if (member == pattern_.rank) received[counterpart] += num_items;
        }
        for (const auto& [source, num_items] : crossing)
            add_receive(stages[0], level_to(source), arriving(source, num_items));
        for (const auto& [member, num_items] : sent_on)
            add_send(stages[1], level_to(member), num_items);
        for (const auto& [counterpart, num_items] : received)
            add_receive(stages[1], level_to(counterpart), num_items);
        add_deliveries(stages[1]);
    }

    // The three stages of `three_step`, as all members of the region know them.
    void follow_speakers(std::vector<stage_pricer>& stages, std::span<node_bytes> nodes) const {
        bring_to_speakers(stages[0]);
        cross(stages[1]);
        share_out(stages[2]);
        add_deliveries(stages[2]);
        for (const auto& [region, sum] : senders_.sums()) nodes[1].sent += bytes_of(sum.num_items);
        for (const auto& [region, sum] : receivers_.sums())
            nodes[1].received += bytes_of(part_of(sum.num_items, kept_across_));
    }

    // What items that are asked for become on their way from another region: equal ones travel once.
    count_t arriving(rank_t source, count_t num_items) const {
        return regions().region_of(source) == own_region_ ? num_items
                                                          : part_of(num_items, kept_across_);
    }

    locality_level level_to(rank_t other) const { return layout_.level_of(pattern_.rank, other); }

    void bring_to_speakers(stage_pricer& stage) const {
        const auto next_of = [&](rank_t destination) {
            const region_t region = regions().region_of(destination);
            return region == own_region_ ? destination : senders_.speaker_for(region);
        };
        for (const auto& [next, num_items] :
             group_items(pattern_.sends, pattern_.num_items, options_.deduplicate, next_of)) {
            if (next != pattern_.rank) add_send(stage, level_to(next), num_items);
        }
        std::map<rank_t, count_t> from_members;
        for (std::size_t e = 0; e < pattern_.receives.size(); ++e) {
            const rank_t source = pattern_.receives.ranks[e];
            if (source != pattern_.rank && regions().region_of(source) == own_region_)
                from_members[source] += static_cast<count_t>(pattern_.receives[e].size());
        }
        add_shares(from_members, senders_);
        for (const auto& [member, num_items] : from_members)
            add_receive(stage, level_to(member), num_items);
    }

    // The other members' parts of what this rank speaks for.
    void add_shares(std::map<rank_t, count_t>& of_members, const region_speakers& speakers) const {
        for (const auto& [region, sum] : speakers.sums()) {
            if (sum.speaker != pattern_.rank) continue;
            for (const auto& [member, num_items] : sum.shares) {
                if (member != pattern_.rank) of_members[member] += num_items;
            }
        }
    }

    void cross(stage_pricer& stage) const {
        for (const auto& [region, sum] : senders_.sums()) {
            if (sum.speaker == pattern_.rank)
                add_send(stage, level_to(regions().rank_at(region, 0)), sum.num_items);
        }
        for (const auto& [region, sum] : receivers_.sums()) {
            if (sum.speaker == pattern_.rank)
                add_receive(stage, level_to(regions().rank_at(region, 0)),
                            part_of(sum.num_items, kept_across_));
        }
    }

    void share_out(stage_pricer& stage) const {
        std::map<rank_t, count_t> to_members;
        add_shares(to_members, receivers_);
        for (const auto& [member, num_items] : to_members)
            add_send(stage, level_to(member), num_items);
        std::map<rank_t, count_t> from_receivers;
        for (const auto& [region, num_items] : receives_by_region_) {
            const rank_t receiver = receivers_.speaker_for(region);
            if (receiver != pattern_.rank) from_receivers[receiver] += num_items;
        }
        for (const auto& [receiver, num_items] : from_receivers)
            add_receive(stage, level_to(receiver), num_items);
    }

    const rank_layout& layout_;
    const pattern& pattern_;
    const std::vector<std::unique_ptr<route>>& candidates_;
    const machine& machine_;
    const estimate_options options_;

    region_t own_region_;
    region_table sends_by_region_;
    region_table receives_by_region_;
    std::vector<std::vector<stage_pricer>> loads_;  // by candidate and stage
    std::vector<node_bytes> node_bytes_;            // of the same
    region_speakers senders_;
    region_speakers receivers_;
    std::vector<member_receive> receives_;  // of all members
    // The region's items for other regions: as they travel, and as they are asked for.
    struct {
        count_t num_sent = 0;
        count_t num_asked = 0;
    } across_;
    double kept_across_ = 1;
};

route_estimator::route_estimator(const rank_layout& layout, const pattern& p,
                                 const std::vector<std::unique_ptr<route>>& candidates,
                                 const machine& m, const estimate_options& options)
    : state_(std::make_unique<implementation>(layout, p, candidates, m, options)) {}

route_estimator::~route_estimator() = default;

std::vector<word_message> route_estimator::send() const { return state_->send(); }

void route_estimator::receive(const std::vector<word_message>& inbox) { state_->receive(inbox); }

std::vector<std::vector<stage_price>> route_estimator::prices() const { return state_->prices(); }

}  // namespace crossdock
