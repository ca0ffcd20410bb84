/// @file
/// @brief Updates of a distributed table through a stream.
#pragma once

#include <algorithm>
#include <memory>

#include "bench/stream/table.hpp"
#include "bench/stream/team.hpp"
#include "crossdock/stream.hpp"

namespace crossdock::bench::streaming {

/// @brief What all contenders of the workload work on.
struct histogram_problem {
    histogram_problem(const context& where, const workload_options& options)
        : table(on_all_or_none(where, [&] { return shared_table(where, options); })) {}

    shared_table table;
};

/// @brief Each worker streams the places of its updates to their owners.
class histogram_stream final : public paced_contender {
  public:
    /// @par Collective
    /// Yes; may block.
    histogram_stream(const context& where, std::shared_ptr<histogram_problem> problem,
                     const workload_options& options, const stream_choice& choice);

    void run() override;
    bool is_right() override { return problem_->table.take_back_all(); }
    std::optional<stream_statistics> statistics() const override { return stream_.statistics(); }
    std::optional<stream_scheme> scheme() const override { return stream_.scheme(); }
    void close() override { stream_.close(); }

    void run_paced(double updates_per_second) override;
    void clear() override { problem_->table.clear(); }

  private:
    void update(int worker);
    void update_paced(int worker, double updates_per_second);

    std::shared_ptr<histogram_problem> problem_;
    table_updates updates_;
    team threads_;
    stream<std::uint64_t> stream_;
};

}  // namespace crossdock::bench::streaming
