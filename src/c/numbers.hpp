/// @file
/// @brief The types that MPI's datatypes of numbers stand for.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "../base/datatype_mpi.hpp"

namespace crossdock::c {

/// @brief Calls `use(T())` with the type that a datatype stands for: an integer, float or double.
/// Otherwise returns false.
template <class Use>
bool with_number(MPI_Datatype datatype, Use&& use) {
    const auto is_one_of = [&](const auto& list) {
        return std::find(list.begin(), list.end(), datatype) != list.end();
    };
    const bool is_signed =
        is_one_of(std::array{MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG,
                             MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T});
    const bool is_unsigned = is_one_of(
        std::array{MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
                   MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T});
    if (datatype == MPI_FLOAT) {
        use(float());
    } else if (datatype == MPI_DOUBLE) {
        use(double());
    } else if (is_signed || is_unsigned) {
        switch (datatype_layout(datatype).size_bytes) {
            case 1: is_signed ? use(std::int8_t()) : use(std::uint8_t()); break;
            case 2: is_signed ? use(std::int16_t()) : use(std::uint16_t()); break;
            case 4: is_signed ? use(std::int32_t()) : use(std::uint32_t()); break;
            default: is_signed ? use(std::int64_t()) : use(std::uint64_t()); break;
        }
    } else {
        return false;
    }
    return true;
}

}  // namespace crossdock::c
