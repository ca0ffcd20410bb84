/// @file
/// @brief The choice of a route for a pattern: every candidate with its estimated time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/select/route_estimate.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The name "auto", in place of which the library takes the route that `choose_route` finds.
inline constexpr const char* automatic_route = "auto";

/// @brief The name "auto:measure": an exchange tries the cheapest candidates of "auto", and keeps
/// the fastest.
inline constexpr const char* measured_route = "auto:measure";

/// @brief A candidate and its price.
struct candidate_price {
    std::string route;
    double seconds = 0;
    std::string dominating_term;  ///< the largest term of its slowest ranks, such as "sending"
};

/// @brief All candidates, the cheapest first. Candidates of equal price are in the order of
/// `candidate_routes`.
struct route_choice {
    std::vector<candidate_price> candidates;

    const std::string& route() const { return candidates.front().route; }
};

/// @brief The choice as text for people: each candidate, its price, and what takes most of the
/// time.
std::string to_string(const route_choice& choice);

/// @brief The maximum and the sum of one number over the ranks.
struct reduced_word {
    std::int64_t max = 0;
    std::int64_t sum = 0;
};

/// @brief The words that ranks reduce in order to choose alike, and the choice that follows from
/// them.
///
/// The price of a route is `exchange_seconds` of the slowest rank and of the slowest in each stage.
/// Their seconds are those with their own items alone, and what ranks forward for others on
/// average; an eighth of it is what they are if a rank forwards as much for others as others do for
/// it. Words are whole picoseconds, so that all ranks compute the same.
class route_vote {
  public:
    /// @param candidates  the names of the candidates, equal on all ranks
    /// @param prices      this rank's prices of them, by `route_estimator`
    /// @param m           the machine that the prices are for, equal on all ranks
    route_vote(std::vector<std::string> candidates, const std::vector<estimated_route>& prices,
               const machine& m);

    /// @brief The words, equally many on all ranks; the caller reduces them in place over all
    /// ranks.
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

/// @brief Chooses a route offline, for the patterns of all ranks.
///
/// The choice is the same that the ranks make together.
/// @param patterns  entry p for rank p
/// @throws error(errc::size_mismatch)  there are not as many patterns as ranks
/// @throws as `validate(machine)` and `validate(pattern)`
/// @par Complexity
/// That of a `route_estimator` for each rank.
[[nodiscard]] route_choice choose_route(const rank_layout& layout,
                                        std::span<const pattern> patterns, const machine& m,
                                        const estimate_options& options = {});

}  // namespace crossdock
