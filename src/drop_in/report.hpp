/// @file
/// @brief What the drop-in did for each call of the program: CROSSDOCK_REPORT.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "planned_exchange.hpp"

namespace crossdock::drop_in {

/// @brief A plan that was compiled for a call. Sums are over all ranks.
struct plan_facts {
    std::string route;
    bool is_used = false;  ///< MPI was not faster
    trial_seconds trial;
    double set_up_seconds = 0;    ///< with the trial
    count_t bytes = 0;            ///< that all ranks send
    count_t most_neighbors = 0;   ///< that a rank sends to
    count_t messages_before = 0;  ///< between regions
    count_t messages_after = 0;
};

/// @brief What was done for the calls from one place in the program on one communicator.
struct call_facts {
    rank_t rank = 0;
    rank_t num_ranks = 0;
    count_t num_calls = 0;  ///< of a persistent request: its starts along a plan
    count_t num_planned = 0;
    std::optional<plan_facts> plan;  ///< the last one

    /// @brief What the plan saved, if each exchange took what it took in the trial.
    double seconds_saved() const;
};

/// @brief The facts of all calls of this process.
class report {
  public:
    /// @brief Null if CROSSDOCK_REPORT is not set, which it is on all ranks or none.
    static report* of_process();

    /// @param communicator  a number that no other communicator with a topology had
    /// @param address       where the program called
    call_facts& of_call(int communicator, const char* function, const void* address) {
        return calls_[{communicator, function, address}];
    }

    /// @brief Prints a table to stderr, or appends lines of JSON to the file that CROSSDOCK_REPORT names. The first
    /// rank of a communicator tells of its calls.
    void tell() const;

  private:
    using call_site = std::tuple<int, std::string, const void*>;

    std::map<call_site, call_facts> calls_;
};

}  // namespace crossdock::drop_in
