/// @file
/// @brief Parts of numbers of items.
#pragma once

#include <cmath>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief `num_items * factor`, rounded.
inline count_t scaled(count_t num_items, double factor) {
    return static_cast<count_t>(std::llround(static_cast<double>(num_items) * factor));
}

}  // namespace crossdock
