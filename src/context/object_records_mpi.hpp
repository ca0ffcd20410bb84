/// @file
/// @brief What the objects of a communicator have done, for their report.
#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "../base/exchange_watch.hpp"
#include "crossdock/communicator.hpp"
#include "crossdock/context.hpp"
#include "trace_writer_mpi.hpp"

namespace crossdock {

/// @brief What an object is called: as the option says, or else its place; "unnamed" where that is empty, too.
std::string object_name(const std::string& name, const std::source_location& place);

/// @brief What is told of a name: seconds inside of calls are those that were sampled, scaled.
object_report report_of(const watched_object& one);

/// @brief The objects of a communicator by kind and name, and where their report goes.
class object_records final : public communicator_resource {
  public:
    /// @brief As CROSSDOCK_REPORT says.
    /// @par Collective
    /// As that of `environment`.
    explicit object_records(const communicator& comm);

    /// @brief As `context_options::report`; nothing where that is empty.
    void set_destination(const std::string& report);

    /// @brief The stopwatch of one more object; null where nothing is measured. Takes memory set aside.
    /// @param name   as of `object_name`
    std::unique_ptr<exchange_watch> new_watch(const char* kind, const std::string& name,
                                              const std::source_location& place,
                                              watched_role role = watched_role::whole);

    bool is_measured() const noexcept { return trace_ || !destination_.empty() || has_caliper(); }

    /// @brief This rank's part.
    std::vector<object_report> reports() const;

    /// @brief Writes the report and the timeline, if they are asked for.
    /// @par Collective
    /// Yes; blocks.
    void close() override;

  private:
    void write_report();
    std::shared_ptr<watched_object> add(const char* kind, const std::string& name);
    std::string names() const;
    const watched_object* find(const std::string& kind, const std::string& name) const noexcept;

    MPI_Comm comm_;
    rank_t rank_;
    rank_t num_ranks_;
    std::string destination_;              // empty: there is no report
    std::unique_ptr<trace_writer> trace_;  // null: there is no timeline
    std::vector<std::shared_ptr<watched_object>> objects_;
};

}  // namespace crossdock
