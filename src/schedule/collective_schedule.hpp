/// @file
/// @brief The collectives that find the sources of a sparse data exchange.
#pragma once

#include <span>

#include "schedule_builder.hpp"

namespace crossdock {

/// @brief All ranks sum words; each begins when it is ready, and is ready again with the result.
void add_allreduce(schedule_builder& into, count_t num_words, int first_tag);

/// @brief The same among some ranks.
void add_allreduce(schedule_builder& into, std::span<const rank_t> ranks, count_t num_words,
                   int first_tag);

/// @brief The same, but every rank gets an equal part of the sum.
void add_reduce_scatter(schedule_builder& into, count_t num_words, int first_tag);

}  // namespace crossdock
