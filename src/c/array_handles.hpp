// What is behind the handles of distributed arrays: their entries, and what changes these.
#pragma once

#include "crossdock/detail/array/bytes_operation_mpi.hpp"
#include "handles.hpp"

namespace crossdock::c {

/// @brief MPI's datatype of an entry.
class entry_type {
  public:
    /// @throws error(errc::invalid_argument)  no datatype, or a value lies outside its extent
    explicit entry_type(MPI_Datatype datatype);

    MPI_Datatype datatype() const noexcept { return datatype_; }

    /// @brief None unless it is one of the library's own.
    const number_type& number() const noexcept { return number_; }
    /// @brief From one entry to the next.
    std::size_t item_bytes() const noexcept { return item_bytes_; }

  private:
    MPI_Datatype datatype_;
    number_type number_;
    std::size_t item_bytes_;
};

/// @throws error(errc::invalid_argument)  no operation, or one that is not commutative
entry_operation update_by(const entry_type& type, MPI_Op operation);
entry_operation update_by(const entry_type& type, value_combination combine);

}  // namespace crossdock::c

struct crossdock_distributed_array {
    crossdock::c::entry_type type;
    crossdock::entry_writes writes;
    std::shared_ptr<crossdock::array_engine> engine;
    crossdock::c::error_site errors;
};

struct crossdock_prepared_batch {
    crossdock::c::entry_type type;
    crossdock::prepared_requests requests;
    crossdock::c::error_site errors;
};

namespace crossdock::c {

/// @throws error(errc::invalid_argument)  a null pointer
inline const array_engine& engine_of(const crossdock_distributed_array* array) {
    require(array, "array");
    return *array->engine;
}

template <class Batch>
auto& requests_of(Batch* batch) {
    require(batch, "batch");
    return batch->requests;
}

}  // namespace crossdock::c
