#include "crossdock/route_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "../base/throw_error.hpp"
#include "crossdock/detail/base/picoseconds.hpp"
#include "route_estimate.hpp"

namespace crossdock {

namespace {

// How much of the time is what it would be if each rank forwarded as much for others as others do for
// it. Else all forward alike much. Found by simulation.
constexpr double share_in_kind = 0.125;
// How much longer an exchange takes than that if others' items pass through a rank: they are not spread evenly.
// Found by simulation.
constexpr double unevenness = 1.1;

template <class Part>
double sum_of(const std::vector<stage_price>& stages, Part&& part) {
    double sum = 0;
    for (const auto& stage : stages) sum += part(stage);
    return sum;
}

// Of a candidate: its seconds, those of a core, its terms, and the seconds of each stage. The last
// word of all counts the ranks, and says whether one has no prices.
void add_words(std::vector<reduced_word>& words, const estimated_route& prices, const machine& m) {
    // The largest number alone, and the sum of what others' items add.
    const auto add = [&](auto&& number_of) {
        const auto alone = to_picoseconds(number_of(prices.alone));
        words.push_back({alone, to_picoseconds(number_of(prices.together)) - alone});
    };
    const auto add_seconds = [&](auto&& seconds_of) {
        add(seconds_of);
        words.push_back({to_picoseconds(seconds_of(prices.together)), 0});
    };
    add_seconds([](const auto& stages) { return rank_seconds(stages); });
    const auto core = to_picoseconds(core_seconds(prices.together, m));
    words.push_back({core, core});
    for (const auto& term : price_terms) {
        add([&](const auto& stages) {
            return sum_of(stages, [&](const stage_price& stage) { return stage.*term.seconds; });
        });
    }
    for (std::size_t t = 0; t < prices.alone.size(); ++t)
        add_seconds([&](const auto& stages) { return stage_seconds(stages[t]); });
}

}  // namespace

route_vote::route_vote(std::vector<std::string> candidates,
                       const std::vector<estimated_route>& prices, const machine& m)
    : candidates_(std::move(candidates)) {
    for (const auto& one : prices) {
        add_words(words_, one, m);
        num_stages_.push_back(one.alone.size());
    }
    words_.push_back({0, 1});
}

route_choice route_vote::decide(const machine& m) const {
    const std::int64_t num_ranks = words_.back().sum;
    const auto largest_of = [&](const reduced_word& word) {
        return to_seconds(word.max + word.sum / num_ranks);
    };
    auto rest = std::span<const reduced_word>(words_);
    const auto take = [&] {
        const reduced_word word = rest.front();
        rest = rest.subspan(1);
        return word;
    };
    const auto take_seconds = [&] {
        const double alike = largest_of(take());
        return alike + share_in_kind * (to_seconds(take().max) - alike);
    };
    route_choice choice;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
        const bool forwards_unknown_items = rest.front().sum > 0;
        const double slowest_rank = take_seconds();
        const auto core = take();
        stage_price largest;
        for (const auto& term : price_terms) largest.*term.seconds = largest_of(take());
        double slowest_stages = 0;
        for (std::size_t t = 0; t < num_stages_[c]; ++t) slowest_stages += take_seconds();
        double seconds = exchange_seconds(slowest_rank, slowest_stages);
        if (forwards_unknown_items) seconds *= unevenness;
        if (m.num_cores > 0) seconds = std::max(seconds, to_seconds(core.sum) / m.num_cores);
        choice.candidates.push_back({candidates_[c], seconds, dominating_term(largest)});
    }
    std::stable_sort(choice.candidates.begin(), choice.candidates.end(),
                     [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    return choice;
}

std::string to_string(const route_choice& choice) {
    std::string text;
    for (const auto& [route, seconds, term] : choice.candidates)
        text += fmt::format("{:<12} {:>12.3f} us  mostly {}\n", route, seconds * 1e6, term);
    return text;
}

route_choice choose_route(const rank_layout& layout, std::span<const pattern> patterns,
                          const machine& m, const estimate_options& options) {
    const auto num_ranks = static_cast<std::size_t>(layout.num_ranks());
    if (patterns.size() != num_ranks) {
        throw_error(errc::size_mismatch, "there are {} patterns, but {} ranks", patterns.size(),
                    num_ranks);
    }
    validate(m);
    const auto names = candidate_routes(layout.regions(), m);
    std::vector<std::unique_ptr<route>> candidates;
    for (const auto& name : names) candidates.push_back(make_route(name, layout.regions()));
    std::vector<std::unique_ptr<route_estimator>> parts;
    std::vector<std::vector<word_message>> inboxes(num_ranks);
    for (const auto& p : patterns) {
        validate(p);
        parts.push_back(std::make_unique<route_estimator>(layout, p, candidates, m, options));
        for (auto& message : parts.back()->send())
            inboxes[static_cast<std::size_t>(message.peer)].push_back(
                {p.rank, std::move(message.words)});
    }
    std::optional<route_vote> all;
    for (std::size_t p = 0; p < num_ranks; ++p) {
        parts[p]->receive(inboxes[p]);
        route_vote one(names, parts[p]->prices(), m);
        if (!all) {
            all = std::move(one);
            continue;
        }
        for (std::size_t w = 0; w < one.words().size(); ++w) {
            auto& word = all->words()[w];
            word.max = std::max(word.max, one.words()[w].max);
            word.sum += one.words()[w].sum;
        }
    }
    return all->decide(m);
}

}  // namespace crossdock
