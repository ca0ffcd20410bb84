/// @file
/// @brief All of the library that needs no MPI: topologies, patterns, routes, plans, machines, simulation.
#pragma once

#include "crossdock/compile.hpp"
#include "crossdock/exchange_schedule.hpp"
#include "crossdock/generate.hpp"
#include "crossdock/goal.hpp"
#include "crossdock/halo.hpp"
#include "crossdock/machine.hpp"
#include "crossdock/matrix.hpp"
#include "crossdock/partition.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/plan_schedule.hpp"
#include "crossdock/plan_statistics.hpp"
#include "crossdock/price.hpp"
#include "crossdock/route.hpp"
#include "crossdock/route_choice.hpp"
#include "crossdock/simulate.hpp"
#include "crossdock/topology.hpp"
#include "crossdock/verify.hpp"
