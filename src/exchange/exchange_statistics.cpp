#include "crossdock/detail/exchange/exchange_statistics.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "../route/members.hpp"
#include "agreement.hpp"
#include "crossdock/route.hpp"
#include "forwarder.hpp"
#include "inside_route.hpp"
#include "message_check.hpp"
#include "node_leaders.hpp"

namespace crossdock {

namespace {

using all_messages = std::span<const std::vector<sized_message>>;

// A rank's place on a route over all ranks, or over the members of a region.
struct all_ranks {
    rank_t rank_of(rank_t place) const { return place; }
};
struct region_members {
    const topology& regions;
    region_t region;
    rank_t rank_of(rank_t place) const { return regions.rank_at(region, place); }
};

// Counts what goes out by itself, and what is carried in bundles along a route.
class traffic_counter {
  public:
    explicit traffic_counter(const topology& regions)
        : sent_(static_cast<std::size_t>(regions.num_ranks())) {
        for (rank_t rank = 0; rank < regions.num_ranks(); ++rank)
            region_of_.push_back(regions.region_of(rank));
    }

    void send(rank_t source, rank_t destination, count_t bytes) {
        add(source, destination, 1, bytes);
    }

    void send_empty_bundle(rank_t source, rank_t destination) {
        send(source, destination, bundle_overhead_bytes(0));
    }

    // Into a bundle that is sent anyway.
    void carry(rank_t source, rank_t destination, count_t bytes) {
        static const count_t envelope_bytes = bundle_overhead_bytes(1) - bundle_overhead_bytes(0);
        add(source, destination, 0, envelope_bytes + bytes);
    }

    // A bundle to every partner of every stage, whether there is something for it or not.
    template <class Places>
    void send_empty_bundles(const route& way, const Places& places, rank_t here) {
        for (int stage = 0; stage < way.num_stages(); ++stage) {
            for (const rank_t partner : way.partners(here, stage).destinations)
                send_empty_bundle(places.rank_of(here), places.rank_of(partner));
        }
    }

    template <class Places>
    void carry_along(const route& way, const Places& places, rank_t here,
                     const sized_message& message) {
        const leader_table nobody_agreed;
        for (int stage = 0; here != message.destination; ++stage) {
            const rank_t next = way.next_hop(here, message.destination, stage, nobody_agreed);
            if (next != here) carry(places.rank_of(here), places.rank_of(next), message.bytes);
            here = next;
        }
    }

    std::vector<exchange_traffic> take() { return std::move(sent_); }

  private:
    region_t region_of(rank_t rank) const { return region_of_[static_cast<std::size_t>(rank)]; }

    void add(rank_t source, rank_t destination, count_t messages, count_t bytes) {
        auto& sent = sent_[static_cast<std::size_t>(source)];
        sent.messages += messages;
        sent.message_bytes += bytes;
        if (region_of(source) == region_of(destination)) return;
        sent.inter_region_messages += messages;
        sent.inter_region_message_bytes += bytes;
    }

    std::vector<exchange_traffic> sent_;
    std::vector<region_t> region_of_;  // asked for too often to be looked up in the topology
};

// Calls `use(source, message)` for all that leave their rank, source by source.
template <class Use>
void for_each_message(all_messages messages, Use&& use) {
    rank_t source = 0;
    for (const auto& list : messages) {
        for (const auto& message : list) {
            if (message.destination != source) use(source, message);
        }
        ++source;
    }
}

// What names the source of a message that is put into a window, or says that it is there.
constexpr count_t source_bytes = sizeof(std::int64_t);

std::vector<exchange_traffic> count_direct(const topology& regions, all_messages messages,
                                           count_t head_bytes) {
    traffic_counter traffic(regions);
    for_each_message(messages, [&](rank_t source, const sized_message& message) {
        traffic.send(source, message.destination, head_bytes + message.bytes);
    });
    return traffic.take();
}

std::vector<exchange_traffic> count_routed(const topology& regions, all_messages messages,
                                           const route& way, count_t max_forwarded_bytes) {
    traffic_counter traffic(regions);
    for (rank_t rank = 0; rank < regions.num_ranks(); ++rank)
        traffic.send_empty_bundles(way, all_ranks(), rank);
    for_each_message(messages, [&](rank_t source, sized_message message) {
        if (message.bytes > max_forwarded_bytes) {
            traffic.send(source, message.destination, message.bytes);
            message.bytes = 0;  // only announced
        }
        traffic.carry_along(way, all_ranks(), source, message);
    });
    return traffic.take();
}

// The routes inside the regions, one for each size.
class inside_routes {
  public:
    explicit inside_routes(const machine& m) : machine_(m) {}

    const route& of_size(rank_t num_members) {
        auto& way = ways_[num_members];
        if (!way) way = make_inside_route(num_members, machine_);
        return *way;
    }

  private:
    const machine& machine_;
    std::unordered_map<rank_t, std::unique_ptr<route>> ways_;
};

std::vector<exchange_traffic> count_by_region(const topology& regions, all_messages messages,
                                              count_t head_bytes, const machine& m) {
    traffic_counter traffic(regions);
    inside_routes inside(m);
    const auto way_in = [&](region_t region) -> const route& {
        return inside.of_size(regions.region_size(region));
    };
    for (rank_t rank = 0; rank < regions.num_ranks(); ++rank) {
        const region_t region = regions.region_of(rank);
        traffic.send_empty_bundles(way_in(region), region_members{regions, region},
                                   regions.local_rank(rank));
    }
    // For each region the rank that sent there last, so that a rank sends one bundle to it.
    std::vector<rank_t> last_source(static_cast<std::size_t>(regions.num_regions()), -1);
    for_each_message(messages, [&](rank_t source, const sized_message& message) {
        const region_t region = regions.region_of(message.destination);
        const rank_t entry = counterpart(regions, source, region);
        if (region != regions.region_of(source)) {
            const rank_t last =
                std::exchange(last_source[static_cast<std::size_t>(region)], source);
            if (last != source) traffic.send(source, entry, head_bytes + bundle_overhead_bytes(0));
            traffic.carry(source, entry, message.bytes);
        }
        traffic.carry_along(way_in(region), region_members{regions, region},
                            regions.local_rank(entry),
                            {regions.local_rank(message.destination), message.bytes});
    });
    return traffic.take();
}

// Inside a node nothing is sent.
std::vector<exchange_traffic> count_by_node(const topology& nodes, all_messages messages,
                                            count_t max_forwarded_bytes) {
    traffic_counter traffic(nodes);
    for (region_t from = 0; from < nodes.num_regions(); ++from) {
        for (region_t to = 0; to < nodes.num_regions(); ++to) {
            if (from == to) continue;
            const auto [sender, receiver] = leaders_between(nodes, from, to);
            traffic.send_empty_bundle(sender, receiver);
        }
    }
    for_each_message(messages, [&](rank_t source, const sized_message& message) {
        const region_t from = nodes.region_of(source), to = nodes.region_of(message.destination);
        if (from == to) return;
        const bool is_announced = message.bytes > max_forwarded_bytes;
        if (is_announced) traffic.send(source, message.destination, message.bytes);
        const auto [sender, receiver] = leaders_between(nodes, from, to);
        traffic.carry(sender, receiver, is_announced ? 0 : message.bytes);
    });
    return traffic.take();
}

}  // namespace

std::vector<exchange_traffic> count_exchange(const topology& regions, all_messages messages,
                                             const exchange_algorithm& algorithm,
                                             count_t max_forwarded_bytes, const machine& m) {
    check_messages(regions, messages, algorithm.method);
    switch (algorithm.method) {
        case exchange_method::routed:
            return count_routed(regions, messages, *make_route(algorithm.route, regions),
                                max_forwarded_bytes);
        case exchange_method::locality_personalized:
        case exchange_method::locality_nonblocking: return count_by_region(regions, messages, 0, m);
        case exchange_method::locality_rma:
            return count_by_region(regions, messages, source_bytes, m);
        case exchange_method::shared_memory:
            return count_by_node(regions, messages, max_forwarded_bytes);
        case exchange_method::rma:
        case exchange_method::rma_fence: return count_direct(regions, messages, source_bytes);
        case exchange_method::personalized:
        case exchange_method::nonblocking:
        case exchange_method::reduce_scatter: break;
    }
    return count_direct(regions, messages, 0);
}

exchange_traffic_summary summarize(std::span<const exchange_traffic> per_rank) {
    const auto field = [&](count_t exchange_traffic::*member) {
        std::vector<count_t> values;
        values.reserve(per_rank.size());
        for (const auto& rank : per_rank) values.push_back(rank.*member);
        return summarize(values);
    };
    return {field(&exchange_traffic::messages), field(&exchange_traffic::message_bytes),
            field(&exchange_traffic::inter_region_messages),
            field(&exchange_traffic::inter_region_message_bytes)};
}

count_t reduction_words(const exchange_algorithm& algorithm, rank_t num_ranks) {
    constexpr count_t num_votes = std::tuple_size_v<summed_votes::words>;
    constexpr count_t num_words_of_rma = 6;
    switch (algorithm.method) {
        case exchange_method::personalized:
        case exchange_method::locality_personalized: return num_ranks + num_votes;
        case exchange_method::reduce_scatter: return num_ranks * num_votes;
        case exchange_method::nonblocking:
        case exchange_method::locality_nonblocking: return num_votes;
        case exchange_method::rma:
        case exchange_method::rma_fence:
        case exchange_method::locality_rma: return num_words_of_rma;
        case exchange_method::shared_memory:
        case exchange_method::routed: break;
    }
    return 0;
}

}  // namespace crossdock
