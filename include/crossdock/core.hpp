/// @file
/// @brief What needs no MPI: topologies, patterns, routes, plans, machines and their prices. All of `crossdock::core`.
#pragma once

#include "crossdock/block_partition.hpp"
#include "crossdock/exchange_algorithm.hpp"
#include "crossdock/machine.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/price.hpp"
#include "crossdock/route.hpp"
#include "crossdock/route_choice.hpp"
#include "crossdock/topology.hpp"
