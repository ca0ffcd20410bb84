#include "array_handles.hpp"

#include "../neighbor/datatype_exchange.hpp"

namespace crossdock::c {

entry_type::entry_type(MPI_Datatype datatype) : datatype_(datatype) {
    const datatype_layout layout(datatype);
    layout.require_in_extent();
    number_ = number_type_of(datatype);
    item_bytes_ = static_cast<std::size_t>(layout.extent);
}

entry_operation update_by(const entry_type& type, MPI_Op operation) {
    if (operation == MPI_REPLACE) return replacing(type.number(), type.item_bytes());
    auto own = own_update(type.number(), [&](const auto& one) { return one.is(operation); });
    if (own.operation) return own;
    require_commutative(operation);
    return bytes_update(
        type.item_bytes(), "an operation of MPI",
        [datatype = type.datatype(), operation](std::byte* into, const std::byte* value) {
            CROSSDOCK_MPI(MPI_Reduce_local(value, into, 1, datatype, operation));
        });
}

entry_operation update_by(const entry_type& type, value_combination combine) {
    return bytes_update(type.item_bytes(), "a function of the caller", combine);
}

}  // namespace crossdock::c
