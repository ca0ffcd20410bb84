#include "exchange_schedule.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "../exchange/forwarder.hpp"
#include "../exchange/inside_route.hpp"
#include "../exchange/message_check.hpp"
#include "../exchange/node_leaders.hpp"
#include "../route/members.hpp"
#include "collective_schedule.hpp"

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
    void copy(rank_t, count_t) {}

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
};

// Numbers of operations by rank, which become what the ranks are ready with.
class gathered {
  public:
    explicit gathered(schedule_builder& of)
        : of_(of), last_(static_cast<std::size_t>(of.num_ranks())) {}

    void add(rank_t rank, std::uint32_t number) {
        last_[static_cast<std::size_t>(rank)].push_back(number);
    }

    // Ranks without any stay ready with what they were.
    void make_ready() {
        rank_t rank = 0;
        for (auto& last : last_) of_.set_ready(rank++, std::exchange(last, {}));
    }

  private:
    schedule_builder& of_;
    std::vector<numbers> last_;
};

// @tparam Into  a full_schedule, or a traffic_counter, for which all is left out but the sends that count
template <class Into>
class exchange_writer {
  public:
    exchange_writer(const topology& regions, Into& into) : regions_(regions), into_(into) {}

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
    void draw_tickets(const directed_messages& messages) {
        auto requests = messages;
        for (auto& request : requests) request.bytes = ticket_bytes;
        send_and_answer(requests, ticket_tag, matching_kind::known, ticket_bytes, ticket_tag);
    }

    // Its core answers that all has come, as MPI does where puts are messages.
    void put(const directed_messages& messages) {
        send_and_answer(messages, message_tag, matching_kind::known, 0, acknowledgement_tag);
    }

    // Into places for all ranks. The first fence is a barrier; in the second ranks sum how many puts come to each, and
    // wait for these. Then a rank looks through all places.
    void put_between_fences(const directed_messages& messages) {
        if (messages.empty()) return;
        if constexpr (Into::keeps_order) add_allreduce(into_, 1, first_collective_tag);
        send_all(messages);
        if constexpr (Into::keeps_order) take_puts(messages);
    }

    void take_puts(const directed_messages& messages) {
        const count_t num_words = (into_.num_ranks() + 1) / 2;  // a count takes half of one
        add_reduce_scatter(into_, num_words, first_collective_tag);
        gathered last(into_);
        for (const auto& message : messages) {
            last.add(message.destination,
                     into_.add_receive(message.source, message.destination, message.bytes,
                                       message_tag, {}, copies_of(message), matching_kind::known));
        }
        const count_t num_places = most_between_two(messages) * into_.num_ranks();
        for (rank_t rank = 0; rank < into_.num_ranks(); ++rank) {
            for (const auto earlier : into_.ready(rank)) last.add(rank, earlier);
        }
        last.make_ready();
        for (rank_t rank = 0; rank < into_.num_ranks(); ++rank)
            into_.copy(rank, num_places * source_bytes);
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
        for (int stage = 0; stage < way.num_stages(); ++stage) {
            bundles leaving(into_);
            for (auto& [here, destination, bytes, num_envelopes] : messages) {
                const rank_t next = way.next_hop(here, destination, stage, nobody_agreed);
                if (next != here)
                    leaving.put(here, next, ranks[static_cast<std::size_t>(here)],
                                ranks[static_cast<std::size_t>(next)], bytes);
                here = next;
            }
            send_bundles(leaving, way, stage, ranks);
        }
    }

    void carry_over_all(const route& way, directed_messages&& messages,
                        count_t max_forwarded_bytes) {
        directed_messages announced;
        for (auto& message : messages) {
            if (message.bytes <= max_forwarded_bytes) continue;
            announced.push_back(message);
            message.bytes = 0;
        }
        std::vector<rank_t> ranks(static_cast<std::size_t>(into_.num_ranks()));
        std::iota(ranks.begin(), ranks.end(), 0);
        for (const auto& [source, destination, bytes, num_envelopes] : announced)
            into_.add_send(source, destination, bytes, announced_tag, {});
        carry(way, ranks, std::move(messages));
        receive_announced(announced);
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
    void carry_by_node(const directed_messages& messages, count_t max_forwarded_bytes) {
        directed_messages announced;
        hand_over before(regions_), after(regions_);
        bundles between(into_);
        for (const auto& [source, destination, bytes, num_envelopes] : messages) {
            const region_t from = regions_.region_of(source), to = regions_.region_of(destination);
            if (from == to) {
                before.put(source, destination, bytes);
                continue;
            }
            const bool is_announced = bytes > max_forwarded_bytes;
            if (is_announced) announced.push_back({source, destination, bytes});
            const count_t carried = is_announced ? 0 : bytes;
            const auto [sender, receiver] = leaders_between(regions_, from, to);
            before.put(source, sender, carried);
            between.put(from, to, sender, receiver, carried);
            after.put(receiver, destination, carried);
        }
        for (const auto& [source, destination, bytes, num_envelopes] : announced)
            into_.add_send(source, destination, bytes, announced_tag, {});
        hand(before);
        if (num_regions() == 1) return;
        send_between(between);
        hand(after);
        receive_announced(announced);
    }

    // What crosses to other regions in bundles, and what is then carried inside of each.
    struct by_region {
        directed_messages crossing;
        std::vector<directed_messages> inside;  // of each region, by places
    };

    by_region divide(const directed_messages& messages) const {
        by_region result{{}, std::vector<directed_messages>(num_regions())};
        std::unordered_map<region_t, std::size_t> place_of;  // of the present source's bundles
        rank_t present = -1;
        for (const auto& [source, destination, bytes, num_envelopes] : messages) {
            if (std::exchange(present, source) != source) place_of.clear();
            const region_t region = regions_.region_of(destination);
            const rank_t entry = counterpart(regions_, source, region);
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

    // A message for every member that there is something for, and a sum of counts meanwhile.
    void deliver_inside(const by_region& divided) {
        for (region_t region = 0; region < regions_.num_regions(); ++region) {
            std::vector<rank_t> members;
            for (rank_t local = 0; local < regions_.region_size(region); ++local)
                members.push_back(regions_.rank_at(region, local));
            std::map<std::pair<rank_t, rank_t>, load> loads;
            for (const auto& [here, destination, bytes, num_envelopes] :
                 divided.inside[static_cast<std::size_t>(region)]) {
                if (here != destination) loads[{here, destination}].put(bytes);
            }
            directed_messages leaving;
            for (const auto& [ends, one] : loads) {
                leaving.push_back({members[static_cast<std::size_t>(ends.first)],
                                   members[static_cast<std::size_t>(ends.second)],
                                   bundle_overhead_bytes(0) + one.bytes, one.num_envelopes});
            }
            send_all(leaving, first_stage_tag);
            if constexpr (Into::keeps_order)
                add_allreduce(into_, members, static_cast<count_t>(members.size()),
                              first_collective_tag);
            probe_for_all(leaving, first_stage_tag);
        }
    }

    void carry_inside(by_region&& divided, const machine& m) {
        std::unordered_map<rank_t, std::unique_ptr<route>> links;
        for (region_t region = 0; region < regions_.num_regions(); ++region) {
            const rank_t size = regions_.region_size(region);
            auto& way = links[size];
            if (!way) way = make_inside_route(size, m);
            std::vector<rank_t> ranks;
            for (rank_t local = 0; local < size; ++local)
                ranks.push_back(regions_.rank_at(region, local));
            carry(*way, ranks, std::move(divided.inside[static_cast<std::size_t>(region)]));
        }
    }

  private:
    struct load {
        count_t num_envelopes = 0;
        count_t bytes = 0;

        void put(count_t more) {
            ++num_envelopes;
            bytes += envelope_bytes() + more;
        }
        load& operator+=(const load& other) {
            num_envelopes += other.num_envelopes;
            bytes += other.bytes;
            return *this;
        }
    };

    // What the members of every region hand each other, each to all others, if only that it is nothing.
    class hand_over {
      public:
        explicit hand_over(const topology& regions) : regions_(regions) {
            if constexpr (!Into::keeps_order) return;
            for (rank_t rank = 0; rank < regions.num_ranks(); ++rank) {
                const rank_t size = regions.region_size(regions.region_of(rank));
                loads_.emplace_back(static_cast<std::size_t>(size));
            }
        }

        void put(rank_t source, rank_t member, count_t bytes) {
            if (!Into::keeps_order || source == member) return;
            loads_[static_cast<std::size_t>(source)]
                  [static_cast<std::size_t>(regions_.local_rank(member))]
                      .put(bytes);
        }

        template <class Use>
        void for_each(Use&& use) const {
            for (rank_t source = 0; source < regions_.num_ranks(); ++source) {
                const region_t region = regions_.region_of(source);
                rank_t local = 0;
                for (const auto& one : loads_[static_cast<std::size_t>(source)]) {
                    const rank_t member = regions_.rank_at(region, local++);
                    if (member != source) use(source, member, one);
                }
            }
        }

      private:
        const topology& regions_;
        std::vector<std::vector<load>> loads_;
    };

    // What the bundles of one stage carry.
    class bundles {
      public:
        explicit bundles(Into& into) : into_(into) {}

        // From a place to another, which are these ranks.
        void put(rank_t here, rank_t next, rank_t source, rank_t destination, count_t bytes) {
            if constexpr (Into::keeps_order) {
                carried_.push_back({here, next, {}});
                carried_.back().what.put(bytes);
            } else {
                into_.carry(source, destination, envelope_bytes() + bytes);
            }
        }

        // Calls `use(here, next, load)` for each of `partners(here)`, whether there is something for it or not.
        template <class Partners, class Use>
        void for_each(rank_t num_places, Partners&& partners, Use&& use) {
            std::ranges::sort(carried_, {},
                              [](const auto& one) { return std::pair(one.here, one.next); });
            auto one = carried_.begin();
            for (rank_t here = 0; here < num_places; ++here) {
                for (const rank_t next : partners(here)) {
                    load all;
                    for (; one != carried_.end() && one->here == here && one->next == next; ++one)
                        all += one->what;
                    use(here, next, all);
                }
            }
            if (one != carried_.end())
                throw error(errc::internal, "the next hop is none of the stage's partners");
        }

      private:
        struct part {
            rank_t here, next;
            load what;
        };

        Into& into_;
        std::vector<part> carried_;
    };

    std::size_t num_regions() const { return static_cast<std::size_t>(regions_.num_regions()); }

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

    std::uint32_t receive(const directed_message& message, int tag, matching_kind matching) {
        return into_.add_receive(message.source, message.destination, message.bytes, tag,
                                 into_.ready(message.destination), copies_of(message), matching);
    }

    // A rank is ready when its own have left.
    void send_all(const directed_messages& messages, int tag = message_tag) {
        if constexpr (Into::keeps_order) {
            gathered last(into_);
            for (const auto& message : messages) last.add(message.source, send(message, tag));
            last.make_ready();
        } else {
            for (const auto& message : messages) send(message, tag);
        }
    }

    // A rank is ready when all have come.
    void probe_for_all(const directed_messages& messages, int tag) {
        if constexpr (Into::keeps_order) {
            gathered last(into_);
            for (const auto& message : messages)
                last.add(message.destination, receive(message, tag, matching_kind::probed));
            last.make_ready();
        }
    }

    void send_and_answer(const directed_messages& messages, int tag, matching_kind matching,
                         count_t answer_bytes, int answer_tag) {
        if constexpr (Into::keeps_order) {
            answer(messages, send_to_anyone(messages, tag, matching), answer_bytes, answer_tag);
        } else {
            for (const auto& message : messages) send(message, tag);
        }
    }

    // Destinations take them whatever else they wait for, once they have sent their own.
    // @return the receives
    numbers send_to_anyone(const directed_messages& messages, int tag, matching_kind matching) {
        for (const auto& message : messages) send(message, tag);
        numbers received;
        for (const auto& message : messages) {
            received.push_back(into_.add_receive(message.source, message.destination, message.bytes,
                                                 tag, {}, copies_of(message), matching));
        }
        return received;
    }

    // Every destination answers what it has received; a source is ready when all is answered.
    void answer(const directed_messages& messages, const numbers& received, count_t bytes,
                int tag) {
        gathered last(into_);
        for (std::size_t k = 0; k < messages.size(); ++k) {
            const rank_t source = messages[k].source;
            const auto ends = into_.send(messages[k].destination, source, bytes, tag,
                                         std::span(&received[k], 1), {}, {}, matching_kind::known);
            last.add(source, ends.received);
        }
        last.make_ready();
    }

    // A stage is over for a rank when it has heard from all partners; the next one begins then.
    void send_bundles(bundles& leaving, const route& way, int stage,
                      const std::vector<rank_t>& ranks) {
        const auto num_places = static_cast<rank_t>(ranks.size());
        const auto rank_of = [&](rank_t place) { return ranks[static_cast<std::size_t>(place)]; };
        const auto partners = [&](rank_t here) { return way.partners(here, stage).destinations; };
        const int tag = first_stage_tag + stage;
        const auto bundle_of = [&](rank_t here, rank_t next, const load& carried) {
            return full_bundle(rank_of(here), rank_of(next), carried);
        };
        leaving.for_each(num_places, partners, [&](rank_t here, rank_t next, const load& carried) {
            send(bundle_of(here, next, carried), tag);
        });
        if constexpr (Into::keeps_order) {
            std::vector<numbers> last(ranks.size());
            leaving.for_each(
                num_places, partners, [&](rank_t here, rank_t next, const load& carried) {
                    last[static_cast<std::size_t>(next)].push_back(
                        receive(bundle_of(here, next, carried), tag, matching_kind::probed));
                });
            for (rank_t place = 0; place < num_places; ++place)
                into_.set_ready(rank_of(place), std::move(last[static_cast<std::size_t>(place)]));
        }
    }

    // A bundle is copied, even without messages.
    static directed_message full_bundle(rank_t source, rank_t destination, const load& carried) {
        return {source, destination, bundle_overhead_bytes(0) + carried.bytes,
                std::max<count_t>(carried.num_envelopes, 1)};
    }

    // Others' memory is read as if it came in a message.
    void hand(const hand_over& handed) {
        if constexpr (Into::keeps_order) write_hand_over(handed);
    }

    void write_hand_over(const hand_over& handed) {
        handed.for_each([&](rank_t source, rank_t member, const load& one) {
            send({source, member, one.bytes, one.num_envelopes}, memory_tag);
        });
        gathered last(into_);
        handed.for_each([&](rank_t source, rank_t member, const load& one) {
            last.add(member, receive({source, member, one.bytes, one.num_envelopes}, memory_tag,
                                     matching_kind::known));
        });
        last.make_ready();
    }

    // By node, and then by the node that it is for.
    void send_between(bundles& between) {
        const auto others = [&](region_t from) {
            return std::views::iota(region_t{0}, regions_.num_regions()) |
                   std::views::filter([=](region_t to) { return to != from; });
        };
        directed_messages all;
        between.for_each(regions_.num_regions(), others,
                         [&](region_t from, region_t to, const load& carried) {
                             const auto [sender, receiver] = leaders_between(regions_, from, to);
                             const auto bundle = full_bundle(sender, receiver, carried);
                             send(bundle, first_stage_tag);
                             if (Into::keeps_order) all.push_back(bundle);
                         });
        probe_for_all(all, first_stage_tag);
    }

    const topology& regions_;
    Into& into_;
};

template <class Into>
void write_exchange(Into& into, const topology& regions,
                    std::span<const std::vector<sized_message>> messages,
                    const exchange_algorithm& algorithm, const exchange_variant& variant,
                    count_t max_forwarded_bytes, const machine& m) {
    check_messages(regions, messages, algorithm.method);
    exchange_writer writer(regions, into);
    auto leaving = leaving_messages(messages);
    const auto go_on_inside = [&](auto&& divided) {
        if (variant.is_personalized_inside) {
            writer.deliver_inside(divided);
        } else {
            writer.carry_inside(std::move(divided), m);
        }
    };
    switch (algorithm.method) {
        case exchange_method::personalized:
        case exchange_method::reduce_scatter:
            // As many words check known numbers as `nonblocking` reduces.
            writer.deliver(leaving, variant.knows_num_sources
                                        ? exchange_algorithm{exchange_method::nonblocking, {}}
                                        : algorithm);
            break;
        case exchange_method::nonblocking:
            writer.deliver_synchronously(leaving);
            writer.add_collective(algorithm);
            break;
        case exchange_method::rma:
            writer.draw_tickets(leaving);
            for (auto& message : leaving) message.bytes += source_bytes;
            writer.put(leaving);
            writer.add_collective(algorithm);
            break;
        case exchange_method::rma_fence:
            for (auto& message : leaving) message.bytes += source_bytes;
            writer.add_collective(algorithm);
            writer.put_between_fences(leaving);
            break;
        case exchange_method::locality_personalized: {
            auto divided = writer.divide(leaving);
            writer.deliver(divided.crossing, algorithm);
            go_on_inside(std::move(divided));
            break;
        }
        case exchange_method::locality_nonblocking: {
            auto divided = writer.divide(leaving);
            writer.deliver_synchronously(divided.crossing);
            writer.add_collective(algorithm);
            go_on_inside(std::move(divided));
            break;
        }
        case exchange_method::locality_rma: {
            auto divided = writer.divide(leaving);
            for (auto& bundle : divided.crossing) bundle.bytes += source_bytes;
            writer.add_collective(algorithm);
            writer.put_between_fences(divided.crossing);
            go_on_inside(std::move(divided));
            break;
        }
        case exchange_method::shared_memory:
            writer.carry_by_node(leaving, max_forwarded_bytes);
            break;
        case exchange_method::routed:
            writer.carry_over_all(*make_route(algorithm.route, regions), std::move(leaving),
                                  max_forwarded_bytes);
            break;
    }
}

}  // namespace

std::vector<exchange_traffic> count_exchange(const topology& regions,
                                             std::span<const std::vector<sized_message>> messages,
                                             const exchange_algorithm& algorithm,
                                             count_t max_forwarded_bytes, const machine& m) {
    traffic_counter counter(regions);
    write_exchange(counter, regions, messages, algorithm, {}, max_forwarded_bytes, m);
    return std::move(counter).take();
}

schedule schedule_of_exchange(const topology& regions,
                              std::span<const std::vector<sized_message>> messages,
                              const exchange_algorithm& algorithm, count_t max_forwarded_bytes,
                              const machine& m) {
    return schedule_of_variant(regions, messages, algorithm, {}, max_forwarded_bytes, m);
}

schedule schedule_of_variant(const topology& regions,
                             std::span<const std::vector<sized_message>> messages,
                             const exchange_algorithm& algorithm, const exchange_variant& variant,
                             count_t max_forwarded_bytes, const machine& m) {
    full_schedule all(regions.num_ranks());
    write_exchange(all, regions, messages, algorithm, variant, max_forwarded_bytes, m);
    return std::move(all).take();
}

}  // namespace crossdock
