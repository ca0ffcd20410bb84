/// @file
/// @brief All that communicates, and what it is made with: all of `crossdock::crossdock` and `crossdock::core`.
#pragma once

#include "crossdock/context.hpp"
#include "crossdock/core.hpp"
#include "crossdock/discover_topology.hpp"
#include "crossdock/distributed_array.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/make_pattern.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/request_stream.hpp"
#include "crossdock/sparse_exchange.hpp"
#include "crossdock/stream.hpp"
