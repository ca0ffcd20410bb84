#include "crossdock/base/datatype_mpi.hpp"

namespace crossdock {

datatype_layout::datatype_layout(MPI_Datatype datatype) {
    if (datatype == MPI_DATATYPE_NULL)
        throw error(errc::invalid_argument, "datatype is MPI_DATATYPE_NULL");
    CROSSDOCK_MPI(MPI_Type_get_extent(datatype, &lower_bound, &extent));
    CROSSDOCK_MPI(MPI_Type_get_true_extent(datatype, &true_lower_bound, &true_extent));
    CROSSDOCK_MPI(MPI_Type_size_x(datatype, &size_bytes));
    if (size_bytes <= 0) throw error(errc::invalid_argument, "the datatype has no bytes");
    checked_cast<int>(size_bytes);
}

void datatype_packer::pack(const void* values, count_t index, std::byte* to) const {
    int position = 0;
    CROSSDOCK_MPI(MPI_Pack(static_cast<const std::byte*>(values) + index * layout_.extent, 1,
                           datatype_, to, static_cast<int>(item_bytes()), &position, comm_));
}

void datatype_packer::unpack(const std::byte* from, void* values, count_t index) const {
    int position = 0;
    CROSSDOCK_MPI(MPI_Unpack(from, static_cast<int>(item_bytes()), &position,
                             static_cast<std::byte*>(values) + index * layout_.extent, 1, datatype_,
                             comm_));
}

}  // namespace crossdock
