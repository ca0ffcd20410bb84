/// @file
/// @brief What the drop-in did for each call of the program: CROSSDOCK_REPORT.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "plan_facts.hpp"

namespace crossdock::drop_in {

/// @brief What was done for the calls from one place in the program on one communicator.
struct call_facts {
    rank_t rank = 0;
    rank_t num_ranks = 0;
    count_t num_calls = 0;  ///< of a persistent request: its starts along a plan
    count_t num_planned = 0;
    trial_seconds
        planned;  ///< of all these, if each exchange took what it took in the trial of its plan
    double set_up_seconds = 0;  ///< of the plans that were compiled here, with their trials
    std::shared_ptr<const plan_facts>
        plan;  ///< the last one, which another place may have compiled
    const char* why_none = "counts did not repeat";

    /// @brief Why calls go along the last plan, or do not.
    const char* why() const { return plan ? plan->why : why_none; }
    /// @brief Counts an exchange along a plan.
    void add(const std::shared_ptr<const plan_facts>& along);
    /// @brief What the plans saved; less than zero where they cost more than MPI.
    double seconds_saved() const { return planned.by_mpi - planned.by_plan - set_up_seconds; }
};

/// @brief The facts of all calls of this process.
class report {
  public:
    /// @brief Null if CROSSDOCK_REPORT is not set on this rank.
    static report* of_process();

    /// @param communicator  a number that no other communicator with a topology had
    /// @param address       where the program called
    call_facts& of_call(int communicator, const char* function, const void* address) {
        return calls_[{communicator, function, address}];
    }

    /// @brief Prints a table to stderr, or appends lines of JSON to the file that CROSSDOCK_REPORT names. The first
    /// rank of a communicator tells of its calls.
    void tell() const;

    /// @brief Whether `tell` of this process does something, as it does at first.
    static void set_told(bool is_told) { is_told_ = is_told; }

  private:
    using call_site = std::tuple<int, std::string, const void*>;

    std::map<call_site, call_facts> calls_;
    static inline std::atomic<bool> is_told_ = true;
};

}  // namespace crossdock::drop_in
