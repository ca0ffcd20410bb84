#include "array_values.hpp"

#include <cstring>
#include <utility>

#include "../base/datatype_mpi.hpp"
#include "numbers.hpp"

namespace crossdock::c {

namespace {

template <class T, class Op>
entry_operation typed_update(Op op) {
    auto made = make_update_operation<T>(op);
    return {std::make_unique<decltype(made)>(std::move(made)), predefined_for<T, Op>()};
}

// The library's own operation of MPI's, if it has one.
template <class T>
entry_operation typed_update_by(MPI_Op operation) {
    entry_operation found;
    for_each_operation<T>([&](const auto& one) {
        if (operation == one.in_mpi) found = typed_update<T>(one.apply);
    });
    return found;
}

// Values of which only the bytes are known here.
class bytes_operation final : public value_operation {
  public:
    struct functions {
        const char* name;
        combine_function combine;
        combine_function apply;  // a travelling value to an entry
        bool combines_at_owner = false;
    };

    bytes_operation(std::size_t item_bytes, std::size_t value_bytes, functions what)
        : item_bytes_(item_bytes), value_bytes_(value_bytes), what_(std::move(what)) {}

    std::size_t value_bytes() const noexcept override { return value_bytes_; }
    bool may_throw() const noexcept override { return false; }
    bool combines_at_owner() const noexcept override { return what_.combines_at_owner; }
    const char* name() const noexcept override { return what_.name; }
    bool fill_with_identity(std::byte*, std::size_t) const noexcept override { return false; }

    void combine(std::byte* into, std::uint8_t* is_set, const std::byte* from,
                 std::span<const position_t> positions, std::size_t&) const override {
        for (const position_t p : positions) {
            std::byte* const to = into + p * value_bytes_;
            if (is_set[p]) {
                what_.combine(to, from);
            } else {
                std::memcpy(to, from, value_bytes_);
                is_set[p] = 1;
            }
            from += value_bytes_;
        }
    }

    void apply(std::byte* entries, const std::byte* from, std::span<const count_t> offsets,
               std::size_t&) const override {
        for (const count_t offset : offsets) {
            what_.apply(entries + static_cast<std::size_t>(offset) * item_bytes_, from);
            from += value_bytes_;
        }
    }

  private:
    std::size_t item_bytes_;
    std::size_t value_bytes_;
    functions what_;
};

combine_function copy_of(std::size_t num_bytes) {
    return [num_bytes](std::byte* into, const std::byte* value) {
        std::memcpy(into, value, num_bytes);
    };
}

// That of the smaller rank, and of one rank the later.
combine_function later_of_smallest(std::size_t item_bytes) {
    const auto rank_of = [item_bytes](const std::byte* value) {
        rank_t rank = 0;
        std::memcpy(&rank, value + item_bytes, sizeof rank);
        return rank;
    };
    return [rank_of, copy = copy_of(item_bytes + sizeof(rank_t))](std::byte* into,
                                                                  const std::byte* value) {
        if (rank_of(value) <= rank_of(into)) copy(into, value);
    };
}

entry_operation update_of(const entry_type& type, const char* name,
                          const combine_function& combine) {
    return {std::make_unique<bytes_operation>(type.item_bytes(), type.item_bytes(),
                                              bytes_operation::functions{name, combine, combine})};
}

entry_operation write_of(const entry_type& type, std::size_t value_bytes, const char* name,
                         const combine_function& combine) {
    return {std::make_unique<bytes_operation>(
        type.item_bytes(), value_bytes,
        bytes_operation::functions{name, combine, copy_of(type.item_bytes()), true})};
}

// The last of several. What each rank's MPI moves is bytes, unless it is a number.
entry_operation replacing(const entry_type& type) {
    entry_operation result = update_of(type, "replace", copy_of(type.item_bytes()));
    result.predefined = {MPI_BYTE, MPI_REPLACE};
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
    return update_of(
        type, "an operation of MPI",
        [datatype = type.datatype(), operation](std::byte* into, const std::byte* value) {
            CROSSDOCK_MPI(MPI_Reduce_local(value, into, 1, datatype, operation));
        });
}

entry_operation update_by(const entry_type& type, combine_function combine) {
    return update_of(type, "a function of the caller", combine);
}

entry_writes writes_by(const entry_type& type, overwrite which, combine_function choose) {
    const std::size_t item_bytes = type.item_bytes();
    switch (which) {
        case overwrite::any: return {replacing(type)};
        case overwrite::smallest_rank_last:
            return {write_of(type, travelling_bytes(type, true), "smallest rank",
                             later_of_smallest(item_bytes)),
                    true};
        case overwrite::user:
            if (!choose) throw error(errc::invalid_argument, "choose is a null pointer");
            return {write_of(type, item_bytes, "chosen by the caller", choose)};
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
