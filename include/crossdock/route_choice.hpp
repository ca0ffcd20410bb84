/// @file
/// @brief The route that a pattern should take, and why.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/select/route_estimate.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The route "auto": `choose_route` names another in its place.
inline constexpr const char* automatic_route = "auto";

/// @brief The route "auto:measure": the cheapest candidates of "auto" are tried, and the fastest is kept.
inline constexpr const char* measured_route = "auto:measure";

/// @brief One candidate with its price.
struct candidate_price {
    std::string route;
    double seconds = 0;
    std::string dominating_term;  ///< of its slowest ranks, as `dominating_term(stage_price)`
};

/// @brief All candidates, the cheapest first; those of one price in the order of `candidate_routes`.
struct route_choice {
    std::vector<candidate_price> candidates;

    const std::string& route() const { return candidates.front().route; }
};

/// @brief The choice in a few lines, for people: candidates, prices and what most of the time goes to.
std::string to_string(const route_choice& choice);

/// @brief A number that is known of all ranks: the largest, and the sum.
struct reduced_word {
    std::int64_t max = 0;
    std::int64_t sum = 0;
};

/// @brief What ranks reduce to choose alike, and the choice that all make of it.
///
/// A route takes as long as the slowest rank alone, and what ranks have of others' items on average. Whole
/// picoseconds, so that no rank rounds otherwise than another.
class route_vote {
  public:
    /// @param candidates  names, equal on all ranks
    /// @param prices      this rank's, by `route_estimator`
    /// @param m           that they are for, equal on all ranks
    route_vote(std::vector<std::string> candidates, const std::vector<estimated_route>& prices,
               const machine& m);

    /// @brief To be reduced in place over all ranks, word by word; as many on all ranks.
    std::span<reduced_word> words() { return words_; }

    /// @brief The choice, once the words are those of all ranks.
    route_choice decide(const machine& m) const;

  private:
    std::vector<std::string> candidates_;
    std::vector<reduced_word> words_;
};

/// @brief Chooses for the patterns of all ranks; exactly as `choose_route` does.
/// @param patterns  entry p for rank p
/// @throws error(errc::size_mismatch)  there are not as many patterns as ranks
/// @throws as `validate(machine)` and `validate(pattern)`
/// @par Complexity
/// That of `route_estimator`, for all ranks.
route_choice choose_route(const rank_layout& layout, std::span<const pattern> patterns,
                          const machine& m, const estimate_options& options = {});

}  // namespace crossdock
