/// @file
/// @brief What is behind the handles of distributed arrays: their entries, and what changes these.
#pragma once

#include <optional>
#include <vector>

#include "crossdock/detail/array/bytes_operation_mpi.hpp"
#include "crossdock/detail/array/write_rule.hpp"
#include "handles.hpp"

namespace crossdock::c {

/// @brief MPI's datatype of an entry.
class entry_type {
  public:
    /// @throws error(errc::invalid_argument)  no datatype, or a value lies outside its extent
    explicit entry_type(MPI_Datatype datatype);

    MPI_Datatype datatype() const noexcept { return datatype_; }

    /// @brief From one entry to the next.
    std::size_t item_bytes() const noexcept { return item_bytes_; }

  private:
    MPI_Datatype datatype_;
    std::size_t item_bytes_;
};

/// @brief A datatype of so many bytes: what lies between two values of an entry travels, too.
class bytes_type {
  public:
    explicit bytes_type(std::size_t num_bytes);
    ~bytes_type();
    bytes_type(const bytes_type&) = delete;
    bytes_type& operator=(const bytes_type&) = delete;

    MPI_Datatype get() const noexcept { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// @throws error(errc::invalid_argument)  no operation, or one that is not commutative
entry_operation update_by(const entry_type& type, MPI_Op operation);
entry_operation update_by(const entry_type& type, value_combination combine);

/// @brief Of a value, or of one and a rank, which need not be aligned.
inline std::size_t travelling_bytes(const entry_type& type, bool carries_rank) {
    return type.item_bytes() + (carries_rank ? sizeof(rank_t) : 0);
}

/// @throws error(errc::invalid_argument)  `overwrite::user` without a function; minimum or maximum
/// of values that have no order
entry_writes writes_by(const entry_type& type, overwrite which, value_combination choose);

}  // namespace crossdock::c

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
