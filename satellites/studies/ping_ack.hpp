/// @file
/// @brief The study's PingAck between two nodes of a described machine.
#pragma once

#include "satellites/studies/stream_replay.hpp"

namespace crossdock::bench::studies {

/// @brief Seconds until every worker of the second node has acknowledged all messages of the one on the first that
/// it has to do with.
///
/// Each of the `s.workers` workers of the `s.processes` processes of a node sends `s.items` messages of
/// `s.buffer_items` items one after the other and does nothing else; what they cost is told in `replay_stream`.
double ping_ack_seconds(const stream_setting& s, const machine& m);

}  // namespace crossdock::bench::studies
