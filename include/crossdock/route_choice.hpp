/// @file
/// @brief The choice of a route for a pattern: every candidate with its estimated time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/price.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The name "auto", in place of which the library takes the route that `choose_route` finds.
inline constexpr const char* automatic_route = "auto";

/// @brief The name "auto:measure": an exchange tries the cheapest candidates of "auto", and keeps the fastest.
inline constexpr const char* measured_route = "auto:measure";

/// @brief What an estimate is made for; equal on all ranks.
struct estimate_options {
    travel_options travel;
    /// An item whose destinations share the next hop is sent there once.
    bool deduplicate = true;
    /// How often a rank goes through its slots: once to fill them, and again if it combines them.
    count_t passes_over_slots = 1;
};

/// @brief The routes that may be cheapest on these ranks, by what `registered_routes` say of themselves; `direct`
/// first.
///
/// Of those of the library: those by region where there are several regions of several ranks; grids of 2, 3 and 4
/// dimensions and the hypercube where there are ranks enough for each to differ. `three_step:1` where ranks share
/// cores: a rank that waits for messages takes time from others.
std::vector<std::string> candidate_routes(const topology& regions, const machine& m);

/// @brief What a candidate costs a rank, stage by stage.
///
/// Of a stage in the middle a rank knows its own items, which several ranks have then, and not those of others that it
/// has itself. If all ranks were like it, it would have as many.
struct estimated_route {
    std::vector<stage_price> alone;     ///< one of those ranks with nothing of others
    std::vector<stage_price> together;  ///< if all ranks were like this one
};

/// @brief How "auto:measure" tries routes; equal on all ranks but for `clock`.
struct measure_options {
    /// At most so many are tried, of those whose estimate is within `most_estimate_ratio` of the best.
    int max_candidates = 3;
    /// Each is tried until it had so many exchanges of one kind, or twice as many of all.
    int exchanges_each = 8;
    /// No further route is tried if trials so far lost, and its own are expected to lose, more than this: the time of
    /// their exchanges on the slowest rank, beyond that of as many of the fastest. Time to set routes up is not
    /// counted.
    double max_lost_seconds = 0.1;
    /// Seconds since any moment; null: a steady clock.
    double (*clock)() = nullptr;

    static constexpr double most_estimate_ratio = 3;
};

/// @brief A route that was tried, and how long an exchange took: the lower quartile on the slowest rank, and of several
/// kinds their mean, weighed by how often the first trial had each.
struct tried_route {
    std::string route;
    double seconds = 0;

    friend bool operator==(const tried_route&, const tried_route&) = default;
};

/// @brief A candidate and its price.
struct candidate_price {
    std::string route;
    double seconds = 0;
    std::string dominating_term;  ///< the largest term of its slowest ranks, such as "sending"
};

/// @brief All candidates, the cheapest first. Candidates of equal price are in the order of `candidate_routes`.
struct route_choice {
    std::vector<candidate_price> candidates;

    const std::string& route() const { return candidates.front().route; }
};

/// @brief The choice as text for people: each candidate, its price, and what takes most of the time.
std::string to_string(const route_choice& choice);

/// @brief The maximum and the sum of one number over the ranks.
struct reduced_word {
    std::int64_t max = 0;
    std::int64_t sum = 0;
};

/// @brief The words that ranks reduce in order to choose alike, and the choice that follows from them.
///
/// The price of a route is `exchange_seconds` of the slowest rank and of the slowest in each stage. Their seconds are
/// those with their own items alone, and what ranks forward for others on average; an eighth of it is what they are if
/// a rank forwards as much for others as others do for it. Where ranks forward items that they do not know, the price
/// is 1.1 times that, as some forward more than others. Words are whole picoseconds, so that all ranks compute the
/// same.
class route_vote {
  public:
    /// @param candidates  the names of the candidates, equal on all ranks
    /// @param prices      this rank's prices of them
    /// @param m           the machine that the prices are for, equal on all ranks
    route_vote(std::vector<std::string> candidates, const std::vector<estimated_route>& prices,
               const machine& m);

    /// @brief The words, equally many on all ranks; the caller reduces them in place over all ranks.
    std::span<reduced_word> words() { return words_; }

    /// @brief Says that this rank has no prices to vote with.
    void spoil() noexcept { words_.back().max = 1; }

    /// @brief Whether any rank said so, after the words were reduced.
    bool is_spoiled() const noexcept { return words_.back().max != 0; }

    /// @brief The choice, after the words were reduced.
    route_choice decide(const machine& m) const;

  private:
    std::vector<std::string> candidates_;
    std::vector<std::size_t> num_stages_;  // of each
    std::vector<reduced_word> words_;
};

/// @brief Chooses a route offline, for the patterns of all ranks. The choice is the same that the ranks make together,
/// and its time that of their estimates.
/// @param patterns  entry p for rank p
/// @throws error(errc::size_mismatch)  there are not as many patterns as ranks
/// @throws as `validate(machine)` and `validate(pattern)`
[[nodiscard]] route_choice choose_route(const rank_layout& layout,
                                        std::span<const pattern> patterns, const machine& m,
                                        const estimate_options& options = {});

}  // namespace crossdock
