/// @file
/// @brief Tasks that fill a rank's output.
#pragma once

#include <vector>

#include "item_reader.hpp"

namespace crossdock {

/// @brief Appends the tasks of one output; its lists may be taken.
///
/// What combines is one task, which keeps the order. What is only copied is a task for each section
/// that it reads, so that each can copy as soon as its section is readable.
void fill_output(std::vector<task_draft>& tasks, graph_task& output, item_reader& reader);

}  // namespace crossdock
