/// @file
/// @brief MPI datatypes: how their values lie in memory, and how to make bytes of them.
#pragma once

#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief Where a value of a datatype lies, in bytes.
struct datatype_layout {
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_lower_bound = 0;
    MPI_Aint true_extent = 0;
    MPI_Count size_bytes = 0;

    /// @throws error(errc::invalid_argument)  MPI_DATATYPE_NULL, or a datatype without bytes
    /// @throws error(errc::count_overflow)    a value has 2^31 bytes or more
    explicit datatype_layout(MPI_Datatype datatype);

    /// @brief Whether values lie one after the other without gaps.
    bool has_no_gaps() const noexcept {
        return lower_bound == 0 && true_lower_bound == 0 && extent == size_bytes &&
               true_extent == size_bytes;
    }

    /// @throws error(errc::invalid_argument)  the lower bound is not 0, or a value lies outside its
    /// extent
    void require_in_extent() const;
};

/// @throws error(errc::invalid_argument)  MPI_OP_NULL, or an operation that is not commutative
void require_commutative(MPI_Op operation);

/// @brief Copies single values of a datatype to and from `size_bytes` contiguous bytes.
class datatype_packer {
  public:
    /// @param comm  for MPI_Pack; must stay open
    /// @throws as `datatype_layout`
    /// @throws mpi_error  the datatype is not committed
    datatype_packer(MPI_Comm comm, MPI_Datatype datatype);

    const datatype_layout& layout() const noexcept { return layout_; }

    /// @brief Whether packed values are the values as they lie: without gaps, and in the order of
    /// their bytes.
    bool is_contiguous() const noexcept { return is_contiguous_; }

    /// @brief Of a packed value.
    count_t item_bytes() const noexcept { return layout_.size_bytes; }

    void pack(const void* values, count_t index, std::byte* to) const;
    void unpack(const std::byte* from, void* values, count_t index) const;

  private:
    bool packs_in_order() const;

    MPI_Comm comm_;
    MPI_Datatype datatype_;
    datatype_layout layout_;
    bool is_contiguous_;
};

}  // namespace crossdock
