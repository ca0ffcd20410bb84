/// @file
/// @brief Finds out where the ranks of a communicator live.
#pragma once

#include <optional>
#include <string_view>

#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/topology.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What a region is to be.
enum class locality {
    node,    ///< ranks that can share memory
    socket,  ///< ranks of a node bound to one processor package
    numa,    ///< ranks of a node bound to the cores of one NUMA node
    l3,      ///< ranks of a node bound to the cores of one L3 cache
};

/// @brief The enumerator's name, e.g. "socket".
const char* to_string(locality level) noexcept;

/// @brief The locality with a given name, if there is one.
std::optional<locality> find_locality(std::string_view name) noexcept;

/// @brief As above.
/// @throws error(errc::invalid_topology)  there is none; the text lists the names
locality parse_locality(std::string_view name);

/// @brief The topology of a communicator, as the machine and the processes' CPU bindings have it.
///
/// Regions are numbered by their smallest rank. A process belongs to the socket, NUMA node or L3 cache whose cores
/// include all those its calling thread is bound to. The processes of a node that no single object includes (not bound,
/// or bound across several) are one further region: the node's remainder.
///
///     2 nodes of 2 sockets, ranks dealt over the sockets    node    "2x4"
///     rank    0 1 2 3 4 5 6 7                               socket  "list:0,1,0,1,2,3,2,3"
///
/// @param level  equal on all ranks
/// @return the same topology on all ranks
/// @par Collective
/// Yes, over `comm`; blocks.
/// @throws error(errc::invalid_argument)  `level` differs between ranks
/// @throws error(errc::invalid_topology)  the machine cannot be inspected; on all ranks alike
/// @par Complexity
/// As `gather_topology`; below the level of nodes every rank also inspects its machine, which takes milliseconds.
[[nodiscard]] topology discover_topology(const communicator& comm, locality level = locality::node);

/// @brief The topology in which ranks with equal keys share a region. Regions are numbered by their smallest rank, so
/// keys are only compared.
///
///     rank  0 1 2 3 4
///     key   7 7 3 3 3    "2,3"
///
/// @param key   this rank's region under any number from 0
/// @return the same topology on all ranks
/// @par Collective
/// Yes, over `comm`; blocks.
/// @throws error(errc::invalid_argument)  a rank's key is negative; on all ranks alike
/// @par Complexity
/// P - 1 messages on a binomial tree and a few collectives of a word or two, besides one MPI_Comm_split. No rank holds
/// more than the topology's run-length code, so only an irregular placement takes memory proportional to P. Time linear
/// in the number of runs of ranks.
[[nodiscard]] topology gather_topology(const communicator& comm, region_t key);

/// @brief The cores that the ranks share, on all machines together; 0 where each can have its own.
///
/// Machines are told apart by what the system drew when it started, not by who shares memory: containers of one machine
/// need not share any. Its cores are those that any of its ranks may run on.
/// @par Collective
/// Yes; blocks. The same on all ranks.
/// @param fault  receives what this rank alone has failed with; the ranks are yet to agree
int count_shared_cores(const communicator& comm, std::optional<error>& fault);

}  // namespace crossdock
