/// @file
/// @brief Running a verb on all ranks, and telling the user once.
#pragma once

#include <functional>
#include <string>

#include "crossdock/communicator.hpp"
#include "crossdock/topology.hpp"

namespace crossdock::tool {

/// @brief The exit code of what is not done: wrong usage, bad input, or a fault. 1 is that of wrong
/// results.
inline constexpr int bad_input = 2;

/// @brief Whether no launcher started this process, or it is the first one that was started.
///
/// Needs no MPI: what does not communicate is done and said by this process alone.
bool is_first_process();

/// @brief Between MPI_Init and MPI_Finalize, runs `body` on every rank.
/// @param thread_support  what MPI is asked for
/// @return what `body` returned, or `bad_input` if it threw (on all ranks alike, said by rank 0)
/// @par Collective
/// Yes, over all processes that were started together.
int on_all_ranks(const std::function<int(const communicator&)>& body,
                 int thread_support = MPI_THREAD_SINGLE);

/// @brief The topology that a text describes, or what is discovered if there is none.
/// @par Collective
/// Yes; blocks.
/// @throws error  as `topology::from_string`, on all ranks
topology topology_of(const communicator& comm, const std::string& text);

/// @brief The MPI library's name and version, in one line.
std::string mpi_version();

}  // namespace crossdock::tool
