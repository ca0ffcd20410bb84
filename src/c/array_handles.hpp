/// @file
/// @brief What is behind the handles of distributed arrays.
#pragma once

#include <optional>
#include <vector>

#include "array_values.hpp"
#include "handles.hpp"

struct crossdock_distributed_array {
    crossdock::c::entry_type type;
    crossdock::entry_writes writes;
    std::shared_ptr<crossdock::array_engine> engine;
    crossdock::c::error_site errors;
};

struct crossdock_prepared_batch {
    crossdock::c::entry_type type;
    crossdock::c::bytes_type bytes;
    std::shared_ptr<crossdock::array_engine> engine;
    std::vector<crossdock::count_t> indices;
    crossdock::neighbor_exchange requests;
    crossdock::c::error_site errors;
    std::optional<crossdock::multi_sf> uncombined = std::nullopt;  // once it is needed

    crossdock::count_t num_entries() const { return requests.plan().num_items(); }
    std::vector<std::byte> room(crossdock::count_t num_values) const;

    // One for each request.
    void require_values(const void* values, const char* what) const;

    crossdock::multi_sf& to_owners();

    // Each value by itself, to where its entry is.
    std::vector<std::byte> gather(const void* values);
    void scatter(const void* gathered, void* values);
};

namespace crossdock::c {

/// @throws error(errc::invalid_argument)  a null pointer
inline const array_engine& engine_of(const crossdock_distributed_array* array) {
    require(array, "array");
    return *array->engine;
}

inline void require_idle(const crossdock_prepared_batch* prepared) {
    require(prepared, "batch");
    prepared->engine->require_no_batch();
}

}  // namespace crossdock::c
