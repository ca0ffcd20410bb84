/// @file
/// @brief What runs one direction of a plan, and the executors there are.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/communicator.hpp"
#include "node_memory_mpi.hpp"
#include "shared_memory_schedule.hpp"

namespace crossdock {

/// @brief Runs one direction of a plan again and again, for items of one size.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | `start`, destruction | `start`: active |
/// | active | `test`, `wait`, destruction | `test` that returns true, `wait`: idle |
///
/// An exchange that others wait for is `background_work` of the communicator. The destructor does
/// not communicate. That of an active executor leaves its buffers to the messages under way.
class executor {
  public:
    executor() = default;
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    virtual ~executor() = default;

    /// @brief Posts receives and sends what needs no arrival; waits for nobody.
    /// @param combine  may be empty if the shared-memory schedule combines nothing
    virtual void start(const void* input, void* output, combine_function combine) = 0;

    /// @brief Starts an exchange to which this rank gives nothing and of which it takes nothing,
    /// because it cannot start as it should. It forwards what others gave. All who need something
    /// of this rank get errc::peer_failed.
    /// @param failed  the rank whose fault it is
    virtual void start_empty(rank_t failed) = 0;

    /// @brief Makes progress; true once complete.
    /// @throws what the function that combines threw here, or error(errc::peer_failed): the
    /// exchange is over, and the next may start
    virtual bool test() = 0;

    /// @brief Completes. Waiting yields the core.
    /// @throws as `test`
    virtual void wait() = 0;

    virtual bool is_active() const noexcept = 0;
};

/// @brief What an executor is made from.
struct executor_setup {
    const communicator& comm;
    /// What this rank does in an exchange; not changed.
    std::shared_ptr<const shared_memory_schedule> work;
    /// Of the domain that `work` was compiled for, or null if that is one rank.
    std::shared_ptr<node_memory> memory;
    /// Its own tags begin here: one for each stage of the plan, twice as many if messages are
    /// split.
    int first_tag = 0;
    /// Bytes of an item, at least 1.
    std::size_t item_bytes = 1;
};

/// @brief Whether the ranks of a node are one domain, or each is one for itself.
enum class memory_use {
    none,         ///< every rank for itself
    if_possible,  ///< ranks share memory if they can and there is enough of it
    required,     ///< as above, but set-up fails on all ranks where there is not enough
};

/// @brief An entry of the registry of executors.
struct executor_description {
    std::string name;     ///< "persistent"
    std::string summary;  ///< one line
    memory_use memory;    ///< what the schedules that it runs are compiled for
    /// @par Collective
    /// Over the domain: waits for its ranks, and makes progress on all work meanwhile. In a domain
    /// of one rank it makes local calls of MPI only.
    /// @throws error(errc::out_of_memory)  on all ranks of the domain: no shared memory left
    std::unique_ptr<executor> (*make)(const executor_setup& setup);
};

/// @brief All executors.
const std::vector<executor_description>& registered_executors();

/// @brief The executor with a given name.
/// @throws error(errc::invalid_argument)  there is none; the text lists the names
const executor_description& find_executor(std::string_view name);

/// @brief As above; what CROSSDOCK_EXECUTOR says in place of "auto".
/// @par Collective
/// Yes; blocks where it is the first to ask for the communicator's environment.
const executor_description& find_executor(const communicator& comm, std::string_view name);

}  // namespace crossdock
