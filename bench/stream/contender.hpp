/// @file
/// @brief What a contender of the stream benchmark is.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "crossdock/detail/stream/stream_options.hpp"

namespace crossdock::bench::streaming {

/// @brief What only some workloads count, over all workers of a process in the last run.
struct work_counts {
    count_t wasted = 0;  ///< sssp: relaxations that are not the last one to improve their vertex
    count_t superseded = 0;  ///< of those, the ones that did improve it
    count_t rejected = 0;    ///< phold: events that came after a later one of their LP
};

/// @brief One way to do a workload, as one rank sees it.
///
/// All but `statistics` and `scheme` is collective.
class contender {
  public:
    virtual ~contender() = default;

    /// @brief What precedes a run and is not timed.
    virtual void prepare() {}
    virtual void run() = 0;

    /// @brief Whether what this rank holds after a first run is exactly what must come out.
    virtual bool is_right() = 0;

    virtual work_counts counts() const { return {}; }

    /// @brief Of all runs so far; unset where no stream is used.
    virtual std::optional<stream_statistics> statistics() const { return {}; }

    /// @brief The scheme in use; unset where no stream is used.
    virtual std::optional<stream_scheme> scheme() const { return {}; }

    virtual void close() {}
};

/// @brief One that can also be slower than it has to be, to see how long items are on their way.
class paced_contender : public contender {
  public:
    /// @brief As `run`, but each worker waits until its next item is due.
    virtual void run_paced(double items_per_second_of_worker) = 0;

    /// @brief Forgets what earlier runs, also of other contenders, have left.
    virtual void clear() = 0;
};

/// @brief The streams that are compared differ in this.
struct stream_choice {
    stream_scheme scheme = stream_scheme::automatic;
    std::string route = "direct";
    count_t buffer_items = 1024;
};

/// @brief Who takes part, and how it is made.
struct entrant {
    std::string name;
    std::optional<stream_choice> choice;  ///< unset where no stream is used
    std::function<std::unique_ptr<contender>()> make;

    /// The same with samples of latency; unset where there is no such thing.
    std::function<std::unique_ptr<paced_contender>()> make_paced = {};
};

/// @brief `options` with what a contender chooses.
inline stream_options with_choice(stream_options options, const stream_choice& choice) {
    options.scheme = choice.scheme;
    options.route = choice.route;
    options.buffer_items = choice.buffer_items;
    return options;
}

}  // namespace crossdock::bench::streaming
