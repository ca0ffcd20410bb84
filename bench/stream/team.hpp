/// @file
/// @brief The threads of a process that work together.
#pragma once

#include <barrier>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

namespace crossdock::bench::streaming {

/// @brief As many threads as a process has workers; who calls `run` is worker 0. The others wait from
/// one run to the next, so that no run begins with the making of threads.
class team {
  public:
    explicit team(int num_workers);
    ~team();
    team(const team&) = delete;
    team& operator=(const team&) = delete;

    int num_workers() const noexcept { return num_workers_; }

    /// @brief Runs `body(worker)` once for every worker, each on a thread of its own.
    /// @throws  what the first worker that failed has thrown
    void run(const std::function<void(int)>& body);

    /// @brief Waits for the other workers. Only inside `run`.
    void meet() { barrier_->arrive_and_wait(); }

  private:
    void serve(int worker);
    void run_one(int worker);

    int num_workers_;
    std::optional<std::barrier<>> barrier_;           // of the run
    std::barrier<> round_;                            // where all are between two runs
    const std::function<void(int)>* body_ = nullptr;  // of the run; null ends the threads
    std::vector<std::exception_ptr> faults_;
    std::vector<std::jthread> others_;
};

}  // namespace crossdock::bench::streaming
