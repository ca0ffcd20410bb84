#include "array_handles.hpp"

#include <utility>

#include "../base/datatype_mpi.hpp"
#include "numbers.hpp"

namespace crossdock::c {

namespace {

// The library's own operation of MPI's, if it has one.
template <class T>
entry_operation typed_update_by(MPI_Op operation) {
    entry_operation found;
    for_each_operation<T>([&](const auto& one) {
        if (operation == one.in_mpi) found = typed_update<T>(one.apply);
    });
    return found;
}

// The last of several.
entry_operation replacing(const entry_type& type) {
    auto result = replacing_bytes(type.item_bytes());
    with_number(type.datatype(),
                [&](auto number) { result = typed_update<decltype(number)>(replace()); });
    return result;
}

}  // namespace

entry_type::entry_type(MPI_Datatype datatype) : datatype_(datatype) {
    const datatype_layout layout(datatype);
    layout.require_in_extent();
    item_bytes_ = static_cast<std::size_t>(layout.extent);
}

bytes_type::bytes_type(std::size_t num_bytes) {
    CROSSDOCK_MPI(MPI_Type_contiguous(checked_cast<int>(num_bytes), MPI_BYTE, &type_));
    CROSSDOCK_MPI(MPI_Type_commit(&type_));
}

bytes_type::~bytes_type() {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (!is_finalized) MPI_Type_free(&type_);
}

entry_operation update_by(const entry_type& type, MPI_Op operation) {
    if (operation == MPI_REPLACE) return replacing(type);
    entry_operation result;
    with_number(type.datatype(),
                [&](auto number) { result = typed_update_by<decltype(number)>(operation); });
    if (result.operation) return result;
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

entry_writes writes_by(const entry_type& type, overwrite which, value_combination choose) {
    const std::size_t item_bytes = type.item_bytes();
    switch (which) {
        case overwrite::any: return {replacing(type)};
        case overwrite::smallest_rank_last: return crossdock::smallest_rank_last(item_bytes);
        case overwrite::user:
            if (!choose) throw error(errc::invalid_argument, "choose is a null pointer");
            return {bytes_write(item_bytes, item_bytes, "chosen by the caller", std::move(choose))};
        case overwrite::minimum:
        case overwrite::maximum: break;
    }
    entry_writes result;
    const bool has_order = with_number(type.datatype(), [&](auto number) {
        result.by.operation = make_write_rule<decltype(number)>(which, nullptr).operation;
    });
    if (!has_order)
        throw error(
            errc::invalid_argument,
            "values without an order have no minimum or maximum; name another overwrite rule");
    return result;
}

}  // namespace crossdock::c
