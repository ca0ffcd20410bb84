#include "satellites/studies/replay.hpp"

#include <algorithm>

#include "src/plan/planning_rounds.hpp"

namespace crossdock::bench {

using nlohmann::json;

namespace {

constexpr double seconds_per_picosecond = 1e-12;
constexpr count_t word_bytes = 8;
constexpr count_t reduced_words = 6;

// Of all ranks' time; what a rank does by itself is copying.
json shares_json(const time_shares& shares) {
    double sum = shares.copying + shares.idle;
    for (const double time : shares.by_level) sum += time;
    const auto share = [&](double time) { return sum > 0 ? time / sum : 0; };
    json result{{"waiting", share(shares.idle)}, {"copying", share(shares.copying)}};
    for (std::size_t level = 1; level < num_locality_levels; ++level)
        result[locality_level_names[level]] = share(shares.by_level[level]);
    return result;
}

const stage_price& longest(const plan_price& price) {
    return std::max_element(price.stages.begin(), price.stages.end(),
                            [](const stage_summary_price& a, const stage_summary_price& b) {
                                return a.slowest.path() < b.slowest.path();
                            })
        ->slowest;
}

operation message(operation_kind kind, rank_t peer, int tag, count_t bytes) {
    operation what;
    what.kind = kind;
    what.peer = peer;
    what.tag = tag;
    what.message_bytes = bytes;
    what.copied_bytes = bytes;
    return what;
}

// A header on its way, as one of its ends sees it.
struct header {
    rank_t peer;
    count_t bytes;
};

// What one rank sends and receives in a round of planning.
struct planning_round {
    std::vector<header> sent;
    std::vector<header> received;
};

// Entry p for rank p, round by round.
std::vector<std::vector<planning_round>> rounds_of(const topology& regions,
                                                   std::span<const pattern> patterns,
                                                   const route& way, bool deduplicate) {
    std::vector<plan_compiler> ranks;
    ranks.reserve(patterns.size());
    for (const auto& p : patterns)
        ranks.emplace_back(regions, p, way, compile_options{.deduplicate = deduplicate});
    std::vector<std::vector<planning_round>> rounds(ranks.size());
    run_planning_rounds(ranks, [&](int, const auto& inboxes) {
        for (auto& of_rank : rounds) of_rank.emplace_back();
        for (std::size_t p = 0; p < inboxes.size(); ++p) {
            for (const auto& [source, words] : inboxes[p]) {
                const auto bytes = static_cast<count_t>(words.size()) * word_bytes;
                rounds[p].back().received.push_back({source, bytes});
                rounds[static_cast<std::size_t>(source)].back().sent.push_back(
                    {static_cast<rank_t>(p), bytes});
            }
        }
    });
    return rounds;
}

// One rank's operations; each round begins when the one before is over.
class planning_writer {
  public:
    planning_writer(rank_t rank, rank_t num_ranks, schedule& into)
        : rank_(rank), num_ranks_(num_ranks), into_(into) {}

    void write(const planning_round& round) {
        std::vector<std::uint32_t> done;
        for (const auto& [peer, bytes] : round.sent)
            done.push_back(into_.add(message(operation_kind::send, peer, tag_, bytes), before_));
        for (const auto& [peer, bytes] : round.received)
            done.push_back(into_.add(message(operation_kind::receive, peer, tag_, bytes), before_));
        if (!done.empty()) before_ = std::move(done);
        ++tag_;
        reduce();
    }

  private:
    void reduce() {
        constexpr count_t bytes = reduced_words * word_bytes;
        for (rank_t distance = 1; distance < num_ranks_; distance *= 2, ++tag_) {
            const rank_t next = (rank_ + distance) % num_ranks_;
            const rank_t previous = (rank_ + num_ranks_ - distance) % num_ranks_;
            const auto sent = into_.add(message(operation_kind::send, next, tag_, bytes), before_);
            const auto received =
                into_.add(message(operation_kind::receive, previous, tag_, bytes), before_);
            before_ = {sent, received};
        }
    }

    rank_t rank_;
    rank_t num_ranks_;
    schedule& into_;
    std::vector<std::uint32_t> before_;
    int tag_ = 0;
};

}  // namespace

count_t items_at_once(const plan& p) {
    const auto is_received = [&](count_t position) { return position >= p.num_items(); };
    std::vector<std::size_t> last_stage(static_cast<std::size_t>(p.num_positions()));
    for (std::size_t t = 0; t < p.stages().size(); ++t) {
        for (const auto& m : p.stages()[t].receives) {
            const auto first = last_stage.begin() + m.first_position;
            std::fill(first, first + m.num_items, t);
        }
        for (const auto& m : p.stages()[t].sends) {
            for (const count_t position : m.positions)
                if (is_received(position)) last_stage[static_cast<std::size_t>(position)] = t;
        }
    }
    count_t most = 0;
    count_t first_later = p.num_items();  // of the positions that later stages receive
    for (std::size_t t = 0; t < p.stages().size(); ++t) {
        count_t sum = 0;
        for (const auto& m : p.stages()[t].sends) sum += std::ssize(m.positions);
        for (const auto& m : p.stages()[t].receives) first_later += m.num_items;
        sum += std::count_if(last_stage.begin() + p.num_items(), last_stage.begin() + first_later,
                             [&](std::size_t last) { return last >= t; });
        most = std::max(most, sum);
    }
    return most;
}

route_traffic count(const topology& regions, std::span<const plan> plans) {
    const auto counted = analyze(regions, plans);
    std::vector<count_t> intra_region;
    for (const auto& p : plans) {
        const auto sent = total_traffic(regions, p);
        intra_region.push_back(sent.messages - sent.inter_region_messages);
    }
    return {counted.total, summarize(intra_region), counted.buffer_items};
}

json to_json(const summary& s) { return {{"total", s.total}, {"max", s.max}, {"mean", s.mean}}; }

json to_json(const route_traffic& traffic) {
    return {{"messages", to_json(traffic.sent.messages)},
            {"inter_region_messages", to_json(traffic.sent.inter_region_messages)},
            {"intra_region_messages", to_json(traffic.intra_region_messages)},
            {"items", to_json(traffic.sent.items)},
            {"inter_region_items", to_json(traffic.sent.inter_region_items)},
            {"buffer_items", to_json(traffic.buffer_items)}};
}

schedule stage_by_stage(std::span<const plan> plans, count_t item_bytes) {
    schedule work;
    std::vector<std::uint32_t> before;
    for (const auto& p : plans) {
        work.begin_rank();
        before.clear();
        for (std::size_t t = 0; t < p.stages().size(); ++t) {
            const auto& [sends, receives] = p.stages()[t];
            const int tag = static_cast<int>(t);
            std::vector<std::uint32_t> done;
            for (const auto& m : sends) {
                const auto num_items = static_cast<count_t>(m.positions.size());
                auto what =
                    message(operation_kind::send, m.destination, tag, num_items * item_bytes);
                what.copied_items = num_items;
                done.push_back(work.add(what, before));
            }
            for (const auto& m : receives) {
                auto what =
                    message(operation_kind::receive, m.source, tag, m.num_items * item_bytes);
                what.copied_items = m.num_items;
                done.push_back(work.add(what));
            }
            if (!done.empty()) before = std::move(done);
        }
    }
    return work;
}

schedule planning(const topology& regions, std::span<const pattern> patterns, const route& way,
                  bool deduplicate) {
    schedule work;
    const auto rounds = rounds_of(regions, patterns, way, deduplicate);
    for (std::size_t p = 0; p < rounds.size(); ++p) {
        work.begin_rank();
        planning_writer rank(static_cast<rank_t>(p), regions.num_ranks(), work);
        for (const auto& round : rounds[p]) rank.write(round);
    }
    return work;
}

std::vector<double> finish_seconds(const rank_layout& layout, const schedule& work,
                                   const machine& m) {
    std::vector<double> seconds;
    for (const auto finish : simulate(layout, work, m).finish)
        seconds.push_back(static_cast<double>(finish) * seconds_per_picosecond);
    return seconds;
}

double simulated_seconds(const rank_layout& layout, const schedule& work, const machine& m) {
    return static_cast<double>(simulate(layout, work, m).slowest) * seconds_per_picosecond;
}

json times(const rank_layout& layout, std::span<const plan> plans, const machine& m,
           const travel_options& travel) {
    const auto outcome = simulate(layout, schedule_of(layout, plans, travel), m);
    const auto priced = price(layout, plans, m, travel);
    return {{"seconds", static_cast<double>(outcome.slowest) * seconds_per_picosecond},
            {"priced_seconds", priced.seconds},
            {"dominating_term", dominating_term(longest(priced))},
            {"share_of_time", shares_json(outcome.shares)}};
}

}  // namespace crossdock::bench
