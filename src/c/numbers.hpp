// The types that MPI's datatypes of numbers stand for.
#pragma once

#include <algorithm>
#include <array>

#include "../base/datatype_mpi.hpp"
#include "crossdock/detail/array/bytes_operation_mpi.hpp"

namespace crossdock::c {

/// @brief The type that a datatype stands for; none unless it is an integer, float or double.
inline number_type number_type_of(MPI_Datatype datatype) {
    const auto is_one_of = [&](const auto& list) {
        return std::find(list.begin(), list.end(), datatype) != list.end();
    };
    const auto of_kind = [&](char kind) {
        return number_type{kind, static_cast<std::size_t>(datatype_layout(datatype).size_bytes)};
    };
    if (is_one_of(std::array{MPI_FLOAT, MPI_DOUBLE})) return of_kind('f');
    if (is_one_of(std::array{MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG,
                             MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T}))
        return of_kind('i');
    if (is_one_of(std::array{MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
                             MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T,
                             MPI_UINT64_T}))
        return of_kind('u');
    return {};
}

}  // namespace crossdock::c
