/// @file
/// @brief Operations on arrays as items, element by element.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/operation.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What an operation sees of an item of type T: the item, or each element of an array.
template <class T, class Op>
struct operands {
    using type = T;
    static constexpr std::size_t per_item = 1;
};

template <class E, std::size_t size, class Op>
requires std::is_arithmetic_v<E> && combine_operation<Op, E>
struct operands<std::array<E, size>, Op> {
    using type = E;
    static constexpr std::size_t per_item = size;
};

/// @brief An operation on items, or on the elements of items that are arrays of numbers.
template <class Op, class T>
concept item_operation = combine_operation<Op, typename operands<T, Op>::type>;

/// @brief An operation on arrays that combines them element by element.
template <class Op>
struct elementwise {
    Op op;

    template <class E, std::size_t size>
    std::array<E, size> operator()(std::array<E, size> a, const std::array<E, size>& b) {
        for (std::size_t i = 0; i < size; ++i) a[i] = op(a[i], b[i]);
        return a;
    }
};

/// @brief The operation on items of type T that `op` stands for.
template <class T, class Op>
auto operation_on(Op op) {
    if constexpr (std::is_same_v<typename operands<T, Op>::type, T>) {
        return op;
    } else {
        return elementwise<Op>{op};
    }
}

}  // namespace crossdock
