// The one table of the library's operations on numbers.
#pragma once

#include <mpi.h>

#include <type_traits>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/operation.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief An operation under all its names.
template <class Op>
struct named_operation {
    const char* name;  ///< in Python
    MPI_Op in_mpi;     ///< in C and Fortran
    Op apply;
};

/// @brief Calls `use` with each operation that values of type T have. What C, Fortran and Python
/// know, and what MPI's one-sided calls can do, is made from this.
template <class T, class Use>
void for_each_operation(Use&& use) {
    use(named_operation<sum>{"sum", MPI_SUM, {}});
    use(named_operation<product>{"prod", MPI_PROD, {}});
    if constexpr (std::is_arithmetic_v<T>) {
        use(named_operation<minimum>{"min", MPI_MIN, {}});
        use(named_operation<maximum>{"max", MPI_MAX, {}});
    }
    if constexpr (std::is_integral_v<T>) {
        use(named_operation<bit_or>{"bit_or", MPI_BOR, {}});
        use(named_operation<bit_and>{"bit_and", MPI_BAND, {}});
        use(named_operation<bit_xor>{"bit_xor", MPI_BXOR, {}});
    }
}

}  // namespace crossdock
