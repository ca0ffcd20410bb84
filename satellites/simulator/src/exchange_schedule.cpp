#include "exchange_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "crossdock/detail/exchange/exchange_rules.hpp"
#include "schedule_builder.hpp"

namespace crossdock {

namespace {

using numbers = schedule_builder::numbers;

constexpr count_t ticket_bytes = 8;
// What names the source of a message in a window, or says that it is there.
constexpr count_t source_bytes = 8;

count_t envelope_bytes() {
    static const count_t bytes = bundle_overhead_bytes(1) - bundle_overhead_bytes(0);
    return bytes;
}

// A message with a source. Of one source, or to one destination, they keep their order.
struct directed_message {
    rank_t source;
    rank_t destination;
    count_t bytes;
    count_t num_envelopes = 0;  // of a bundle, which is copied together
};

using directed_messages = std::vector<directed_message>;

directed_messages leaving_messages(std::span<const std::vector<sized_message>> messages) {
    directed_messages result;
    rank_t source = 0;
    for (const auto& list : messages) {
        for (const auto& [destination, bytes] : list) {
            if (destination != source) result.push_back({source, destination, bytes});
        }
        ++source;
    }
    return result;
}

// In place of a schedule, what the messages of the exchange come to. It keeps nothing of them.
class traffic_counter {
  public:
    static constexpr bool keeps_order = false;

    explicit traffic_counter(const topology& regions)
        : sent_(static_cast<std::size_t>(regions.num_ranks())) {
        for (rank_t rank = 0; rank < regions.num_ranks(); ++rank)
            region_of_.push_back(regions.region_of(rank));
    }

    rank_t num_ranks() const { return static_cast<rank_t>(sent_.size()); }

    std::uint32_t add_send(rank_t source, rank_t destination, count_t bytes, int tag,
                           const numbers&, const message_copies& = {}) {
        if (is_counted(tag)) add(source, destination, 1, bytes);
        return 0;
    }
    // In a bundle that is sent anyway.
    void carry(rank_t source, rank_t destination, count_t bytes) {
        add(source, destination, 0, bytes);
    }
    const numbers& ready(rank_t) const { return nothing_; }

    std::vector<exchange_traffic> take() && { return std::move(sent_); }

  private:
    void add(rank_t source, rank_t destination, count_t messages, count_t bytes) {
        auto& sent = sent_[static_cast<std::size_t>(source)];
        sent.messages += messages;
        sent.message_bytes += bytes;
        if (region_of_[static_cast<std::size_t>(source)] ==
            region_of_[static_cast<std::size_t>(destination)])
            return;
        sent.inter_region_messages += messages;
        sent.inter_region_message_bytes += bytes;
    }

    std::vector<exchange_traffic> sent_;
    std::vector<region_t> region_of_;  // asked for too often to be looked up in the topology
    numbers nothing_;
};

// A schedule with all there is.
struct full_schedule : schedule_builder {
    static constexpr bool keeps_order = true;
    using schedule_builder::schedule_builder;
    void carry(rank_t, rank_t, count_t) {}
};

// Numbers of operations by rank, which become what the ranks are ready with.
class gathered {
  public:
    void add(rank_t rank, std::uint32_t number) { last_[rank].push_back(number); }

    // Ranks without any stay ready with what they were.
    void make_ready(schedule_builder& of) {
        for (auto& [rank, last] : last_) of.set_ready(rank, std::move(last));
    }

  private:
    std::unordered_map<rank_t, numbers> last_;
};

// What messages that travel together come to.
struct load {
    count_t num_envelopes = 0;
    count_t bytes = 0;
};

// What places have for each other.
class place_loads {
  public:
    struct part {
        rank_t here;
        rank_t next;
        load what;
    };

    void put(rank_t here, rank_t next, count_t bytes) {
        parts_.push_back({here, next, {1, envelope_bytes() + bytes}});
    }

    // One for each two places that have something, in their order.
    const std::vector<part>& joined() {
        std::ranges::sort(parts_, {}, ends_of);
        std::size_t num_joined = 0;
        for (const part& one : parts_) {
            if (num_joined == 0 || ends_of(parts_[num_joined - 1]) != ends_of(one)) {
                parts_[num_joined++] = one;
            } else {
                parts_[num_joined - 1].what.num_envelopes += one.what.num_envelopes;
                parts_[num_joined - 1].what.bytes += one.what.bytes;
            }
        }
        parts_.resize(num_joined);
        return parts_;
    }

    // Calls `use(here, next, load)` for each of `partners(here)`, whether there is something for it or not.
    template <class Partners, class Use>
    void for_each(rank_t num_places, Partners&& partners, Use&& use) {
        const auto& all = joined();
        auto one = all.begin();
        for (rank_t here = 0; here < num_places; ++here) {
            for (const rank_t next : partners(here)) {
                const bool has_some = one != all.end() && one->here == here && one->next == next;
                use(here, next, has_some ? (one++)->what : load());
            }
        }
        if (one != all.end())
            throw error(errc::internal, "the next hop is none of the stage's partners");
    }

  private:
    static std::pair<rank_t, rank_t> ends_of(const part& one) { return {one.here, one.next}; }

    std::vector<part> parts_;
};

// @tparam Into  a full_schedule, or a traffic_counter, for which all is left out but the sends that count
template <class Into>
class exchange_writer {
  public:
    exchange_writer(const topology& regions, const machine& m, count_t max_forwarded_bytes,
                    Into& into)
        : regions_(regions), machine_(m), max_forwarded_bytes_(max_forwarded_bytes), into_(into) {}

    void write(directed_messages&& messages, const exchange_algorithm& algorithm,
               const exchange_variant& variant) {
        switch (algorithm.method) {
            case exchange_method::personalized:
            case exchange_method::reduce_scatter:
                // As many words check known numbers as `nonblocking` reduces.
                return deliver(messages, variant.knows_num_sources
                                             ? exchange_algorithm{exchange_method::nonblocking, {}}
                                             : algorithm);
            case exchange_method::nonblocking:
                deliver_synchronously(messages);
                return add_collective(algorithm);
            case exchange_method::rma:
                draw_tickets(messages);
                add_source_bytes(messages);
                // The owner's core answers that all has come, as MPI does where puts are messages.
                send_and_answer(messages, message_tag, matching_kind::known, 0,
                                acknowledgement_tag);
                return add_collective(algorithm);
            case exchange_method::rma_fence:
                add_source_bytes(messages);
                add_collective(algorithm);
                return put_between_fences(messages);
            case exchange_method::locality_personalized:
            case exchange_method::locality_nonblocking:
            case exchange_method::locality_rma:
                return deliver_by_region(divide(messages), algorithm, variant);
            case exchange_method::shared_memory: return carry_by_node(messages);
            case exchange_method::routed:
                return carry_over_all(*make_route(algorithm.route, regions_), std::move(messages));
        }
    }

  private:
    static void add_source_bytes(directed_messages& messages) {
        for (auto& message : messages) message.bytes += source_bytes;
    }

    // Sends at once, while a collective counts. Then ranks look for as many messages as were counted.
    void deliver(const directed_messages& messages, const exchange_algorithm& counted_by) {
        send_all(messages);
        add_collective(counted_by);
        probe_for_all(messages, message_tag);
    }

    // Sends at once, and looks for messages meanwhile; a rank is ready when what it has sent is received.
    void deliver_synchronously(const directed_messages& messages) {
        send_and_answer(messages, message_tag, matching_kind::probed, 0, acknowledgement_tag);
    }

    // The owner of a window answers as soon as it is asked.
    void draw_tickets(directed_messages requests) {
        for (auto& request : requests) request.bytes = ticket_bytes;
        send_and_answer(requests, ticket_tag, matching_kind::known, ticket_bytes, ticket_tag);
    }

    // Into places for all ranks. The first fence is a barrier; in the second ranks sum how many puts come to each, and
    // wait for these. Then a rank looks through all places.
    void put_between_fences(const directed_messages& messages) {
        if (messages.empty()) return;
        if constexpr (Into::keeps_order) add_allreduce(into_, 1, first_collective_tag);
        send_all(messages);
        if constexpr (Into::keeps_order) {
            const count_t num_words = (into_.num_ranks() + 1) / 2;  // a count takes half of one
            add_reduce_scatter(into_, num_words, first_collective_tag);
            gathered last;
            for (const auto& message : messages)
                last.add(message.destination, receive(message, message_tag, {}));
            const count_t num_places = most_between_two(messages) * into_.num_ranks();
            for (rank_t rank = 0; rank < into_.num_ranks(); ++rank) {
                for (const auto earlier : into_.ready(rank)) last.add(rank, earlier);
            }
            last.make_ready(into_);
            for (rank_t rank = 0; rank < into_.num_ranks(); ++rank)
                into_.copy(rank, num_places * source_bytes);
        }
    }

    void add_collective(const exchange_algorithm& algorithm) {
        if constexpr (Into::keeps_order) {
            const auto num_words = reduction_words(algorithm, into_.num_ranks());
            if (algorithm.method == exchange_method::reduce_scatter) {
                add_reduce_scatter(into_, num_words, first_collective_tag);
            } else {
                add_allreduce(into_, num_words, first_collective_tag);
            }
        }
    }

    // Messages along a route whose places are ranks, a bundle for every partner in every stage.
    // Sources and destinations are places.
    void carry(const route& way, const std::vector<rank_t>& ranks, directed_messages&& messages) {
        const leader_table nobody_agreed;
        const auto rank_of = [&](rank_t place) { return ranks[static_cast<std::size_t>(place)]; };
        for (int stage = 0; stage < way.num_stages(); ++stage) {
            place_loads leaving;
            for (auto& [here, destination, bytes, num_envelopes] : messages) {
                const rank_t next = way.next_hop(here, destination, stage, nobody_agreed);
                if (next != here) put(leaving, here, next, rank_of(here), rank_of(next), bytes);
                here = next;
            }
            send_bundles(
                leaving, static_cast<rank_t>(ranks.size()),
                [&](rank_t here) { return way.partners(here, stage).destinations; },
                [&](rank_t here, rank_t next) { return std::pair(rank_of(here), rank_of(next)); },
                first_stage_tag + stage);
        }
    }

    void carry_over_all(const route& way, directed_messages&& messages) {
        directed_messages announced;
        for (auto& message : messages) {
            if (message.bytes <= max_forwarded_bytes_) continue;
            announced.push_back(message);
            message.bytes = 0;
        }
        std::vector<rank_t> ranks(static_cast<std::size_t>(into_.num_ranks()));
        std::iota(ranks.begin(), ranks.end(), 0);
        send_announced(announced);
        carry(way, ranks, std::move(messages));
        receive_announced(announced);
    }

    void send_announced(const directed_messages& announced) {
        for (const auto& [source, destination, bytes, num_envelopes] : announced)
            into_.add_send(source, destination, bytes, announced_tag, {});
    }

    // Only when all else has come do their receivers know of them.
    void receive_announced(const directed_messages& announced) {
        if constexpr (Into::keeps_order) {
            for (const auto& [source, destination, bytes, num_envelopes] : announced)
                into_.add_receive(source, destination, bytes, announced_tag,
                                  into_.ready(destination));
        }
    }

    // Hands over in memory inside the regions, which are nodes, before and after a message from each to every other.
    void carry_by_node(const directed_messages& messages) {
        directed_messages announced;
        place_loads before, between, after;
        const auto hand_to = [](place_loads& handed, rank_t source, rank_t member, count_t bytes) {
            if (Into::keeps_order && source != member) handed.put(source, member, bytes);
        };
        for (const auto& [source, destination, bytes, num_envelopes] : messages) {
            const region_t from = regions_.region_of(source), to = regions_.region_of(destination);
            if (from == to) {
                hand_to(before, source, destination, bytes);
                continue;
            }
            const bool is_announced = bytes > max_forwarded_bytes_;
            if (is_announced) announced.push_back({source, destination, bytes});
            const count_t carried = is_announced ? 0 : bytes;
            const auto [sender, receiver] = leaders_between(regions_, from, to);
            hand_to(before, source, sender, carried);
            put(between, from, to, sender, receiver, carried);
            hand_to(after, receiver, destination, carried);
        }
        send_announced(announced);
        hand(before);
        if (regions_.num_regions() == 1) return;
        send_bundles(
            between, regions_.num_regions(),
            [&](region_t from) {
                return std::views::iota(region_t{0}, regions_.num_regions()) |
                       std::views::filter([=](region_t to) { return to != from; });
            },
            [&](region_t from, region_t to) {
                const auto [sender, receiver] = leaders_between(regions_, from, to);
                return std::pair(sender, receiver);
            },
            first_stage_tag);
        hand(after);
        receive_announced(announced);
    }

    // What crosses to other regions in bundles, and what is then carried inside of each.
    struct by_region {
        directed_messages crossing;
        std::vector<directed_messages> inside;  // of each region, by places
    };

    by_region divide(const directed_messages& messages) const {
        by_region result{
            {}, std::vector<directed_messages>(static_cast<std::size_t>(regions_.num_regions()))};
        std::unordered_map<region_t, std::size_t> place_of;  // of the present source's bundles
        rank_t present = -1;
        for (const auto& [source, destination, bytes, num_envelopes] : messages) {
            if (std::exchange(present, source) != source) place_of.clear();
            const region_t region = regions_.region_of(destination);
            // The member with the same local rank, modulo the region's size.
            const rank_t entry = regions_.rank_at(
                region, regions_.local_rank(source) % regions_.region_size(region));
            result.inside[static_cast<std::size_t>(region)].push_back(
                {regions_.local_rank(entry), regions_.local_rank(destination), bytes});
            if (region == regions_.region_of(source)) continue;
            const auto [place, is_new] = place_of.try_emplace(region, result.crossing.size());
            if (is_new) result.crossing.push_back({source, entry, bundle_overhead_bytes(0)});
            auto& bundle = result.crossing[place->second];
            bundle.bytes += envelope_bytes() + bytes;
            ++bundle.num_envelopes;
        }
        return result;
    }

    void deliver_by_region(by_region&& divided, const exchange_algorithm& algorithm,
                           const exchange_variant& variant) {
        if (algorithm.method == exchange_method::locality_personalized) {
            deliver(divided.crossing, algorithm);
        } else if (algorithm.method == exchange_method::locality_nonblocking) {
            deliver_synchronously(divided.crossing);
            add_collective(algorithm);
        } else {
            add_source_bytes(divided.crossing);
            add_collective(algorithm);
            put_between_fences(divided.crossing);
        }
        std::unordered_map<rank_t, std::unique_ptr<route>> ways;  // by the size of a region
        for (region_t region = 0; region < regions_.num_regions(); ++region) {
            const auto members = members_of(region);
            auto& messages = divided.inside[static_cast<std::size_t>(region)];
            if (variant.is_personalized_inside) {
                deliver_inside(members, messages);
                continue;
            }
            const rank_t size = regions_.region_size(region);
            auto& way = ways[size];
            if (!way) way = make_inside_route(size, machine_);
            carry(*way, members, std::move(messages));
        }
    }

    std::vector<rank_t> members_of(region_t region) const {
        std::vector<rank_t> members;
        for (rank_t local = 0; local < regions_.region_size(region); ++local)
            members.push_back(regions_.rank_at(region, local));
        return members;
    }

    // A message for every member that there is something for, and a sum of counts meanwhile.
    void deliver_inside(const std::vector<rank_t>& members, const directed_messages& messages) {
        place_loads loads;
        for (const auto& [here, destination, bytes, num_envelopes] : messages) {
            if (here != destination) loads.put(here, destination, bytes);
        }
        directed_messages leaving;
        for (const auto& [here, next, one] : loads.joined()) {
            leaving.push_back({members[static_cast<std::size_t>(here)],
                               members[static_cast<std::size_t>(next)],
                               bundle_overhead_bytes(0) + one.bytes, one.num_envelopes});
        }
        send_all(leaving, first_stage_tag);
        if constexpr (Into::keeps_order)
            add_allreduce(into_, members, static_cast<count_t>(members.size()),
                          first_collective_tag);
        probe_for_all(leaving, first_stage_tag);
    }

    // From a place to another, which are these ranks.
    void put(place_loads& bundles, rank_t here, rank_t next, rank_t source, rank_t destination,
             count_t bytes) {
        into_.carry(source, destination, envelope_bytes() + bytes);
        if (Into::keeps_order) bundles.put(here, next, bytes);
    }

    // The most messages of a rank to another one.
    static count_t most_between_two(const directed_messages& messages) {
        count_t most = 0;
        rank_t present = -1;
        std::unordered_map<rank_t, count_t> num_to;  // of the present source's
        for (const auto& message : messages) {
            if (std::exchange(present, message.source) != message.source) num_to.clear();
            most = std::max(most, ++num_to[message.destination]);
        }
        return most;
    }

    static message_copies copies_of(const directed_message& message) {
        return {message.num_envelopes > 0 ? message.bytes : 0, message.num_envelopes, 0};
    }

    std::uint32_t send(const directed_message& message, int tag) {
        return into_.add_send(message.source, message.destination, message.bytes, tag,
                              into_.ready(message.source), copies_of(message));
    }

    std::uint32_t receive(const directed_message& message, int tag, const numbers& required,
                          matching_kind matching = matching_kind::known) {
        return into_.add_receive(message.source, message.destination, message.bytes, tag, required,
                                 copies_of(message), matching);
    }

    // A rank is ready when its own have left.
    void send_all(const directed_messages& messages, int tag = message_tag) {
        gathered last;
        for (const auto& message : messages) {
            const auto number = send(message, tag);
            if (Into::keeps_order) last.add(message.source, number);
        }
        if constexpr (Into::keeps_order) last.make_ready(into_);
    }

    // A rank is ready when all have come.
    void probe_for_all(const directed_messages& messages, int tag,
                       matching_kind matching = matching_kind::probed) {
        if constexpr (Into::keeps_order) {
            gathered last;
            for (const auto& message : messages)
                last.add(message.destination,
                         receive(message, tag, into_.ready(message.destination), matching));
            last.make_ready(into_);
        }
    }

    // Destinations take them whatever else they wait for, once they have sent their own, and answer each; a source is
    // ready when all is answered.
    void send_and_answer(const directed_messages& messages, int tag, matching_kind matching,
                         count_t answer_bytes, int answer_tag) {
        for (const auto& message : messages) send(message, tag);
        if constexpr (Into::keeps_order) {
            numbers received;
            for (const auto& message : messages)
                received.push_back(receive(message, tag, {}, matching));
            gathered last;
            for (std::size_t k = 0; k < messages.size(); ++k) {
                const auto& [source, destination, bytes, num_envelopes] = messages[k];
                const auto ends =
                    into_.send(destination, source, answer_bytes, answer_tag,
                               std::span(&received[k], 1), {}, {}, matching_kind::known);
                last.add(source, ends.received);
            }
            last.make_ready(into_);
        }
    }

    // A bundle from every place to each of its partners, whether it carries something or not: it is copied even without
    // messages. A rank is ready when it has heard from all.
    template <class Partners, class Ends>
    void send_bundles(place_loads& leaving, rank_t num_places, Partners&& partners, Ends&& ends_of,
                      int tag) {
        directed_messages sent;
        leaving.for_each(num_places, partners, [&](rank_t here, rank_t next, const load& carried) {
            const auto [source, destination] = ends_of(here, next);
            const directed_message bundle{source, destination,
                                          bundle_overhead_bytes(0) + carried.bytes,
                                          std::max<count_t>(carried.num_envelopes, 1)};
            send(bundle, tag);
            if (Into::keeps_order) sent.push_back(bundle);
        });
        probe_for_all(sent, tag);
    }

    // What the members of every region hand each other, each to all others, if only that it is nothing. Others' memory
    // is read as if it came in a message.
    void hand(place_loads& handed) {
        if constexpr (Into::keeps_order) {
            directed_messages sent;
            const auto others = [&](rank_t here) {
                auto members = members_of(regions_.region_of(here));
                std::erase(members, here);
                return members;
            };
            handed.for_each(into_.num_ranks(), others,
                            [&](rank_t source, rank_t member, const load& one) {
                                sent.push_back({source, member, one.bytes, one.num_envelopes});
                                send(sent.back(), memory_tag);
                            });
            probe_for_all(sent, memory_tag, matching_kind::known);
        }
    }

    const topology& regions_;
    const machine& machine_;
    count_t max_forwarded_bytes_;
    Into& into_;
};

using all_messages = std::span<const std::vector<sized_message>>;

void check_messages(const topology& regions, all_messages messages, exchange_method method) {
    const auto num_ranks = static_cast<std::size_t>(regions.num_ranks());
    if (messages.size() != num_ranks) {
        throw error(errc::size_mismatch,
                    fmt::format("there are messages of {} ranks, but the topology has {}",
                                messages.size(), num_ranks));
    }
    for (rank_t source = 0; source < regions.num_ranks(); ++source) {
        for (const auto& [destination, bytes] : messages[static_cast<std::size_t>(source)])
            check_sized_message(source, destination, bytes, regions.num_ranks());
    }
    if (!takes_one_size_only(method)) return;
    std::optional<count_t> size;
    for (const auto& list : messages) {
        for (const auto& message : list) {
            if (message.bytes != size.value_or(message.bytes)) {
                throw error(
                    errc::invalid_argument,
                    fmt::format("the algorithm {} exchanges messages of one size only, "
                                "not of {} and {} bytes",
                                to_string(exchange_algorithm{method, {}}), *size, message.bytes));
            }
            size = message.bytes;
        }
    }
}

template <class Into>
void write_exchange(Into& into, const topology& regions, all_messages messages,
                    const exchange_algorithm& algorithm, const exchange_variant& variant,
                    count_t max_forwarded_bytes, const machine& m) {
    check_messages(regions, messages, algorithm.method);
    exchange_writer(regions, m, max_forwarded_bytes, into)
        .write(leaving_messages(messages), algorithm, variant);
}

}  // namespace

std::vector<exchange_traffic> count_exchange(const topology& regions, all_messages messages,
                                             const exchange_algorithm& algorithm,
                                             count_t max_forwarded_bytes, const machine& m) {
    traffic_counter counter(regions);
    write_exchange(counter, regions, messages, algorithm, {}, max_forwarded_bytes, m);
    return std::move(counter).take();
}

schedule schedule_of_exchange(const topology& regions, all_messages messages,
                              const exchange_algorithm& algorithm, count_t max_forwarded_bytes,
                              const machine& m) {
    return schedule_of_variant(regions, messages, algorithm, {}, max_forwarded_bytes, m);
}

schedule schedule_of_variant(const topology& regions, all_messages messages,
                             const exchange_algorithm& algorithm, const exchange_variant& variant,
                             count_t max_forwarded_bytes, const machine& m) {
    full_schedule all(regions.num_ranks());
    write_exchange(all, regions, messages, algorithm, variant, max_forwarded_bytes, m);
    return std::move(all).take();
}

}  // namespace crossdock
