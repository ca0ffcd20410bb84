/// @file
/// @brief Planning of all ranks in one process.
#pragma once

#include <utility>
#include <vector>

#include "plan_compiler.hpp"

namespace crossdock {

/// @brief Runs all rounds of planning; the compilers are then ready to `finish`.
/// @param look  called in each round with its number and what every rank is about to receive, by ascending source
template <class Look>
void run_planning_rounds(std::vector<plan_compiler>& ranks, Look look) {
    std::vector<std::vector<word_message>> inboxes(ranks.size());
    for (int round = 0; round < ranks.front().num_rounds(); ++round) {
        for (std::size_t source = 0; source < ranks.size(); ++source) {
            for (auto& message : ranks[source].send()) {
                inboxes[static_cast<std::size_t>(message.peer)].push_back(
                    {static_cast<rank_t>(source), std::move(message.words)});
            }
        }
        look(round, std::as_const(inboxes));
        for (std::size_t p = 0; p < ranks.size(); ++p) {
            ranks[p].receive(inboxes[p]);
            inboxes[p].clear();
        }
    }
}

/// @brief The plans of all ranks after the rounds.
inline std::vector<plan> finish_all(std::vector<plan_compiler>& ranks) {
    std::vector<plan> plans;
    plans.reserve(ranks.size());
    for (auto& rank : ranks) plans.push_back(rank.finish());
    return plans;
}

}  // namespace crossdock
