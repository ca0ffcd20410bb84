/// @file
/// @brief Whether the library pays for a pattern, as far as measured times say.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/crossdock/round_ratio.hpp"

namespace crossdock::tool {

/// @brief What was measured of one contender, in seconds of an exchange.
struct measured_contender {
    std::string name;
    bool is_route = false;  ///< of the library; else of MPI alone
    bool is_verified = true;
    std::vector<double> rounds;  ///< of each round
    double median = 0;           ///< of all rounds
    double setup_seconds = 0;
};

enum class outcome {
    gain,  ///< the `decision` of that name, as the next two
    no_gain,
    undecided,
    wrong,         ///< a contender brought wrong values
    nothing_sent,  ///< no rank sends to another
};

/// @brief "gain", "no_gain", "undecided", "wrong" or "nothing_sent".
const char* to_string(outcome found);

/// @brief What follows, and a sentence that says so.
struct finding {
    outcome found = outcome::nothing_sent;
    std::string mpi;      ///< the fastest of MPI alone; or the contender that is wrong
    std::string route;    ///< the one that is judged
    round_ratio ratio{};  ///< of the route's times to MPI's
    std::optional<double>
        exchanges_to_pay;  ///< those that pay for the route's set-up; if there is a gain
    std::string text;
};

/// @brief What a contender is called in sentences and pictures.
std::string label_of(const std::string& name);

/// @brief Compares the route with the lowest median with that of MPI alone, by `compare_rounds`.
///
/// In its place it judges `direct`, as that forwards nothing, if the decision is the same, and the other route does not
/// gain over `direct`.
/// @param contenders    at least one of each kind
/// @param num_messages  that all ranks together send to others when none is forwarded
finding judge(std::span<const measured_contender> contenders, long long num_messages);

}  // namespace crossdock::tool
