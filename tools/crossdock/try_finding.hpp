/// @file
/// @brief Whether the library pays for a pattern, as far as measured times say.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace crossdock::tool {

/// @brief What was measured of one contender, in seconds of an exchange.
struct measured_contender {
    std::string name;
    bool is_route = false;  ///< of the library; else of MPI alone
    bool is_verified = true;
    double lower_quartile = 0;
    double median = 0;
    double setup_seconds = 0;
};

enum class outcome {
    gain,          ///< a route is faster than all that MPI offers
    no_gain,       ///< none is, or by less than rounds differ
    wrong,         ///< a contender brought wrong values
    nothing_sent,  ///< no rank sends to another
};

/// @brief "gain", "no_gain", "wrong" or "nothing_sent".
const char* to_string(outcome found);

/// @brief What follows, and a sentence that says so.
struct finding {
    outcome found = outcome::nothing_sent;
    std::string mpi;    ///< the fastest of MPI alone; or the contender that is wrong
    std::string route;  ///< `direct` if that is as fast as the fastest route
    double ratio = 1;   ///< of the route's median to MPI's
    std::optional<double>
        exchanges_to_pay;  ///< those that pay for the route's set-up; if there is a gain
    std::string text;
};

/// @brief What a contender is called in sentences and pictures.
std::string label_of(const std::string& name);

/// @brief Compares the fastest route with the fastest of MPI alone.
///
/// A gain is a median that is less than MPI's by 5 %, and below MPI's lower quartile. Of routes whose medians are
/// within 1.05 times the least, `direct` is the one, as it forwards nothing.
/// @param contenders    at least one of each kind
/// @param num_messages  that all ranks together send to others when none is forwarded
finding judge(std::span<const measured_contender> contenders, long long num_messages);

}  // namespace crossdock::tool
