// The one table of the library's operations on numbers, and the types of numbers that are known only when the program
// runs.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/operation.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief An operation under all its names.
template <class Op>
struct named_operation {
    const char* name;  ///< in Python
    MPI_Op in_mpi;     ///< in C and Fortran; MPI_OP_NULL: they have none
    Op apply;
    bool is_mpis = true;  ///< MPI's own gives the same, of all values

    bool is(MPI_Op operation) const { return operation == in_mpi && in_mpi != MPI_OP_NULL; }
};

/// @brief Calls `use` with each operation that values of type T have. What C, Fortran and Python
/// know, and what MPI's one-sided calls can do, is made from this.
template <class T, class Use>
void for_each_operation(Use&& use) {
    use(named_operation<sum>{"sum", MPI_SUM, {}});
    use(named_operation<product>{"prod", MPI_PROD, {}});
    if constexpr (std::is_arithmetic_v<T>) {
        // What MPI's make of NaN and of zeros is its own affair.
        constexpr bool is_mpis = !std::is_floating_point_v<T>;
        use(named_operation<minimum>{"min", MPI_MIN, {}, is_mpis});
        use(named_operation<maximum>{"max", MPI_MAX, {}, is_mpis});
        use(named_operation<minimum_number>{"fmin", MPI_OP_NULL, {}, false});
        use(named_operation<maximum_number>{"fmax", MPI_OP_NULL, {}, false});
    }
    if constexpr (std::is_integral_v<T>) {
        use(named_operation<bit_or>{"bit_or", MPI_BOR, {}});
        use(named_operation<bit_and>{"bit_and", MPI_BAND, {}});
        use(named_operation<bit_xor>{"bit_xor", MPI_BXOR, {}});
    }
}

/// @brief A type of numbers, as NumPy has it: 'i', 'u' or 'f', and its bytes.
struct number_type {
    char kind = 0;
    std::size_t bytes = 0;
};

/// @brief Calls `use(T())` with the type; returns false where C++ has none.
template <class Use>
bool with_number(const number_type& type, Use&& use) {
    const auto use_if = [&](char kind, auto number) {
        if (type.kind != kind || type.bytes != sizeof number) return false;
        use(number);
        return true;
    };
    return use_if('i', std::int8_t()) || use_if('i', std::int16_t()) ||
           use_if('i', std::int32_t()) || use_if('i', std::int64_t()) ||
           use_if('u', std::uint8_t()) || use_if('u', std::uint16_t()) ||
           use_if('u', std::uint32_t()) || use_if('u', std::uint64_t()) || use_if('f', float()) ||
           use_if('f', double());
}

}  // namespace crossdock
