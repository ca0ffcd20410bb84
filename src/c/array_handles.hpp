/// @file
/// @brief What is behind the handles of distributed arrays.
#pragma once

#include "array_values.hpp"
#include "handles.hpp"

struct crossdock_array {
    crossdock::c::entry_type type;
    crossdock::c::entry_writes writes;
    std::shared_ptr<crossdock::array_engine> engine;
};

namespace crossdock::c {

/// @throws error(errc::invalid_argument)  a null pointer
inline const array_engine& engine_of(const crossdock_array* array) {
    require(array, "array");
    return *array->engine;
}

/// @throws error(errc::invalid_state)  a batch or a prepared one is active
inline void require_no_batch(const array_engine& engine) {
    if (engine.is_in_batch()) throw error(errc::invalid_state, "a request during a batch");
}

}  // namespace crossdock::c
