/// @file
/// @brief The environment variables of the library, as rank 0 has them.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief Whether the value of a switch, or null, turns it on: all but nothing and "0".
inline bool is_set(const char* value) noexcept {
    return value != nullptr && value[0] != '\0' && std::string_view(value) != "0";
}

/// @brief The environment variables that the library reads: once for each communicator, on rank 0,
/// since the environment need not be the same on all machines. Parts of the communicator have what
/// it has.
///
/// A variable that is not set is an empty text.
class environment final : public communicator_resource {
  public:
    /// @par Collective
    /// Yes; makes progress on all work meanwhile. As `share_of_first`.
    explicit environment(const communicator& comm);

    bool is_for_parts() const noexcept override { return true; }

    /// @brief CROSSDOCK_ROUTE: what the route "auto" stands for.
    const std::string& route() const noexcept { return values_[0]; }
    /// @brief CROSSDOCK_FORCE_ROUTE: a route in place of every other that exchanges, arrays and
    /// streams are given, also of one that the program names. Plans that a program compiles keep
    /// the route that it names.
    const std::string& forced_route() const noexcept { return values_[1]; }
    /// @brief CROSSDOCK_TOPOLOGY: the topology of a context that names none.
    const std::string& topology() const noexcept { return values_[2]; }
    /// @brief CROSSDOCK_MACHINE: the machine of a context that names none.
    const std::string& machine() const noexcept { return values_[3]; }
    /// @brief CROSSDOCK_EXECUTOR: what the executor "auto" stands for.
    const std::string& executor() const noexcept { return values_[4]; }
    /// @brief CROSSDOCK_ALGORITHM: what the algorithm "auto" of sparse exchanges stands for.
    const std::string& algorithm() const noexcept { return values_[5]; }
    /// @brief CROSSDOCK_CHECK: whether contracts are checked whose check communicates; by default in debug builds.
    bool checks() const noexcept;
    /// @brief CROSSDOCK_REPORT: the report of a context that names none.
    const std::string& report() const noexcept { return values_[7]; }
    /// @brief CROSSDOCK_TRACE: the file that gets the timeline of all exchanges.
    const std::string& trace() const noexcept { return values_[8]; }
    /// @brief CROSSDOCK_WATCHDOG: whether calls that all ranks make begin with a meeting.
    const std::string& watchdog() const noexcept { return values_[9]; }

  private:
    static constexpr std::size_t num_variables = 10;

    std::array<std::string, num_variables> values_;
};

}  // namespace crossdock
