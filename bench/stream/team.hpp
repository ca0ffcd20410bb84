/// @file
/// @brief The threads of a process that work together.
#pragma once

#include <barrier>
#include <exception>
#include <functional>
#include <vector>

namespace crossdock::bench::streaming {

/// @brief As many threads as a process has workers; the caller is worker 0.
class team {
  public:
    explicit team(int num_workers) : num_workers_(num_workers), barrier_(num_workers) {}

    int num_workers() const noexcept { return num_workers_; }

    /// @brief Runs `body(worker)` once for every worker, each on a thread of its own.
    /// @throws  what the first worker that failed has thrown
    void run(const std::function<void(int)>& body);

    /// @brief Waits for the other workers. Only inside `run`.
    void meet() { barrier_.arrive_and_wait(); }

  private:
    void run_one(const std::function<void(int)>& body, int worker);

    int num_workers_;
    std::barrier<> barrier_;
    std::vector<std::exception_ptr> faults_;
};

}  // namespace crossdock::bench::streaming
