// What the processes of a stream find out about themselves and each other before it begins.
#pragma once

#include <cstdint>
#include <span>

#include "crossdock/context.hpp"
#include "crossdock/detail/stream/stream_options.hpp"
#include "crossdock/detail/stream/stream_worker.hpp"
#include "crossdock/topology.hpp"

namespace crossdock {

// MPI_THREAD_SINGLE to MPI_THREAD_MULTIPLE, as MPI was initialised.
int thread_support();

// What is wrong with options, channels, or the thread support of this process. Collective.
void check_stream(const context& where, std::span<const stream_channel> channels,
                  const stream_options& options);

// The nodes given, once it is sure that they share memory, or those of the machine. Collective.
topology stream_nodes(const context& where);

// The scheme asked for, or what `automatic` stands for here. Collective.
stream_scheme agreed_scheme(const context& where, const topology& nodes,
                            std::span<const stream_channel> channels,
                            const stream_options& options);

// Nanoseconds to add to this rank's steady clock to have that of rank 0. Collective; `tag` is a
// reserved one.
std::int64_t measure_clock_offset(const communicator& comm, const topology& nodes, int tag);

}  // namespace crossdock
