/// @file
/// @brief All of the library that needs no MPI: topologies, patterns, routes, plans, machines, simulation.
#pragma once

#include "crossdock/model/machine.hpp"
#include "crossdock/model/price.hpp"
#include "crossdock/pattern/generate.hpp"
#include "crossdock/pattern/halo.hpp"
#include "crossdock/pattern/matrix.hpp"
#include "crossdock/pattern/partition.hpp"
#include "crossdock/pattern/pattern.hpp"
#include "crossdock/plan/compile.hpp"
#include "crossdock/plan/plan.hpp"
#include "crossdock/plan/statistics.hpp"
#include "crossdock/plan/verify.hpp"
#include "crossdock/route/route.hpp"
#include "crossdock/select/route_choice.hpp"
#include "crossdock/simulator/exchange_schedule.hpp"
#include "crossdock/simulator/goal.hpp"
#include "crossdock/simulator/plan_schedule.hpp"
#include "crossdock/simulator/simulate.hpp"
#include "crossdock/topology/topology.hpp"
