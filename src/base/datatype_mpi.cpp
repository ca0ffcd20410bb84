#include "datatype_mpi.hpp"

#include <vector>

#include "throw_error.hpp"

namespace crossdock {

datatype_layout::datatype_layout(MPI_Datatype datatype) {
    if (datatype == MPI_DATATYPE_NULL)
        throw error(errc::invalid_argument,
                    "datatype is MPI_DATATYPE_NULL; give the type of the values");
    CROSSDOCK_MPI(MPI_Type_get_extent(datatype, &lower_bound, &extent));
    CROSSDOCK_MPI(MPI_Type_get_true_extent(datatype, &true_lower_bound, &true_extent));
    CROSSDOCK_MPI(MPI_Type_size_x(datatype, &size_bytes));
    if (size_bytes <= 0)
        throw error(errc::invalid_argument, "the datatype has 0 bytes; the minimum is 1");
    checked_cast<int>(size_bytes);
}

void datatype_layout::require_in_extent() const {
    if (lower_bound == 0 && true_lower_bound >= 0 && true_lower_bound + true_extent <= extent)
        return;
    throw_error(errc::invalid_argument,
                "a value of the datatype lies in [{}, {}), but its extent is [{}, {}); "
                "make an extent that begins at 0 and contains the value",
                true_lower_bound, true_lower_bound + true_extent, lower_bound,
                lower_bound + extent);
}

void require_commutative(MPI_Op operation) {
    if (operation == MPI_OP_NULL)
        throw error(errc::invalid_argument,
                    "operation is MPI_OP_NULL; give the operation that combines values");
    int is_commutative = 0;
    CROSSDOCK_MPI(MPI_Op_commutative(operation, &is_commutative));
    if (!is_commutative)
        throw error(errc::invalid_argument,
                    "the operation is not commutative, but values are combined in any order; give "
                    "one that is");
}

datatype_packer::datatype_packer(MPI_Comm comm, MPI_Datatype datatype)
    : comm_(comm),
      datatype_(datatype),
      layout_(datatype),
      is_contiguous_(layout_.has_no_gaps() && packs_in_order()) {}

// A datatype may name its bytes in any order. What is not MPI's own is tried with a value whose
// bytes differ.
bool datatype_packer::packs_in_order() const {
    int num_integers = 0;
    int num_addresses = 0;
    int num_datatypes = 0;
    int combiner = MPI_COMBINER_NAMED;
    CROSSDOCK_MPI(
        MPI_Type_get_envelope(datatype_, &num_integers, &num_addresses, &num_datatypes, &combiner));
    if (combiner == MPI_COMBINER_NAMED) return true;
    std::vector<std::byte> value(static_cast<std::size_t>(item_bytes()));
    std::uint64_t state = 1;
    for (auto& byte : value) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        byte = static_cast<std::byte>(state >> 56U);
    }
    std::vector<std::byte> packed(value.size());
    pack(value.data(), 0, packed.data());
    return packed == value;
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
