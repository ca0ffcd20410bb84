/// @file
/// @brief Routes on which every rank follows its own items.
#pragma once

#include "stage_loads.hpp"

namespace crossdock {

/// @brief Adds what the rank sends in the stages [0, num_stages): to where its own items make different
/// steps.
///
/// Steps are different if ranks are differently far apart. Of the first stage all is so; in later ones other
/// ranks' items pass here as the rank's own pass elsewhere.
/// @return the part of the items that each stage has left when equal ones travel once
std::vector<double> follow_sends(const estimate_frame& frame, const route& r, int num_stages,
                                 stage_loads& loads);

/// @brief Adds what the rank receives in all stages: from where the items for it make different steps.
/// @param kept  as `follow_sends` returns it
void follow_receives(const estimate_frame& frame, const route& r, const std::vector<double>& kept,
                     stage_loads& loads);

}  // namespace crossdock
