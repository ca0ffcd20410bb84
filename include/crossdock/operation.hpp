/// @file
/// @brief What may travel, and the operations that combine it.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What travels: any type that may be copied byte by byte.
template <class T>
concept item_type = std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t);

/// @brief An associative, commutative operation on items.
template <class Op, class T>
concept combine_operation = requires(Op op, const T& a, const T& b) {
    { op(a, b) } -> std::convertible_to<T>;
};

/// @brief An operation that knows a value which changes nothing: op(identity, a) is a, bit by bit.
template <class Op, class T>
concept operation_with_identity = requires {
    { Op::template identity<T>() } -> std::same_as<T>;
};

/// @brief A value as `sum` and `product` take it: integers become unsigned, so that what is too large for them wraps
/// around, in whatever order values meet.
template <class T>
constexpr decltype(auto) wrapping(const T& value) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<std::make_unsigned_t<decltype(value + value)>>(value);
    else
        return (value);
}

/// @brief a + b; integers wrap around.
struct sum {
    template <class T>
    requires std::is_arithmetic_v<T>
    static constexpr T identity() { return static_cast<T>(std::is_floating_point_v<T> ? -0.0 : 0); }
    template <class T>
    T operator()(const T& a, const T& b) const noexcept(noexcept(a + b)) {
        return static_cast<T>(wrapping(a) + wrapping(b));
    }
};
/// @brief a * b; integers wrap around.
struct product {
    template <class T>
    requires std::is_arithmetic_v<T>
    static constexpr T identity() { return static_cast<T>(1); }
    template <class T>
    T operator()(const T& a, const T& b) const noexcept(noexcept(a* b)) {
        return static_cast<T>(wrapping(a) * wrapping(b));
    }
};
/// @brief One of two by <. Of floating-point numbers -0 is less than +0, and a NaN either stays or is ignored.
template <bool is_least, bool keeps_nan>
struct extreme {
    template <std::integral T>
    static constexpr T identity() {
        return is_least ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
    }
    template <class T>
    T operator()(const T& a, const T& b) const noexcept(noexcept(a < b)) {
        if constexpr (std::is_floating_point_v<T>) {
            if (a != a || b != b) return (a != a) == keeps_nan ? a : b;
            if (a == b) return std::signbit(a) == is_least ? a : b;
        }
        return (is_least ? b < a : a < b) ? b : a;
    }
};
/// @brief The lesser by <; of floating-point numbers IEEE 754-2019's minimum, a NaN if one of both is.
struct minimum : extreme<true, true> {};
/// @brief The greater by <; of floating-point numbers IEEE 754-2019's maximum, a NaN if one of both is.
struct maximum : extreme<false, true> {};
/// @brief As `minimum`, but of a NaN and a number the number: IEEE 754-2019's minimumNumber.
struct minimum_number : extreme<true, false> {};
/// @brief As `maximum`, but of a NaN and a number the number: IEEE 754-2019's maximumNumber.
struct maximum_number : extreme<false, false> {};
/// @brief a | b.
struct bit_or {
    template <std::integral T>
    static constexpr T identity() {
        return 0;
    }
    template <class T>
    T operator()(const T& a, const T& b) const noexcept(noexcept(a | b)) {
        return static_cast<T>(a | b);
    }
};
/// @brief a & b.
struct bit_and {
    template <std::integral T>
    static constexpr T identity() {
        return static_cast<T>(~T{0});
    }
    template <class T>
    T operator()(const T& a, const T& b) const noexcept(noexcept(a& b)) {
        return static_cast<T>(a & b);
    }
};
/// @brief a ^ b.
struct bit_xor {
    template <std::integral T>
    static constexpr T identity() {
        return 0;
    }
    template <class T>
    T operator()(const T& a, const T& b) const noexcept(noexcept(a ^ b)) {
        return static_cast<T>(a ^ b);
    }
};
/// @brief The second one; not commutative, so which value of several stays is left open.
struct replace {
    template <class T>
    T operator()(const T&, const T& b) const noexcept {
        return b;
    }
};

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
