/// @file
/// @brief All of the library.
#pragma once

#include "crossdock/array/distributed_array_mpi.hpp"
#include "crossdock/context/context_mpi.hpp"
#include "crossdock/core.hpp"
#include "crossdock/exchange/exchange_mpi.hpp"
#include "crossdock/neighbor/neighbor_exchange.hpp"
#include "crossdock/neighbor/plan_cache.hpp"
#include "crossdock/neighbor/plan_maker.hpp"
#include "crossdock/pattern/pattern_mpi.hpp"
#include "crossdock/stream/request_stream_mpi.hpp"
#include "crossdock/stream/stream_mpi.hpp"
#include "crossdock/topology/discover_mpi.hpp"
