/// @file
/// @brief What exchanges would take on machines that are not at hand: schedules and their
/// simulation. All of `crossdock::analysis`.
#pragma once

#include "crossdock/schedule.hpp"
#include "crossdock/simulate.hpp"
