// Which of several values written to an entry stays.
#pragma once

#include <functional>
#include <memory>

#include "crossdock/detail/array/value_operation.hpp"
#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Which of several values written to an entry in one batch stays.
enum class overwrite {
    any,                 ///< one of them
    smallest_rank_last,  ///< the one of the smallest rank; of its own, the last in its order
    minimum,             ///< the least by <
    maximum,             ///< the greatest by <
    user,                ///< what a function of two values says
};

/// @brief A rule as `agree` compares it: its name is in the second line.
const char* agreement_text(overwrite rule) noexcept;

/// @brief A written value and who wrote it.
template <item_type T>
struct ranked {
    T value;
    rank_t rank;
};

/// @brief What writes do with their values.
struct write_rule {
    std::unique_ptr<value_operation> operation;
    bool carries_rank = false;  ///< values travel as `ranked`
};

/// @brief Entry = value; travelling values are of type `Travelling`.
template <class T, class Travelling, class Combine>
std::unique_ptr<value_operation> make_write_operation(Combine combine) {
    const auto assign = [](T& entry, const Travelling& written) noexcept {
        if constexpr (std::is_same_v<T, Travelling>) {
            entry = written;
        } else {
            entry = written.value;
        }
    };
    constexpr bool combines_at_owner = !std::is_same_v<Combine, replace>;
    return std::make_unique<typed_operation<T, Travelling, Combine, decltype(assign)>>(
        std::move(combine), assign, combines_at_owner);
}

/// @brief The rule of an array.
/// @throws error(errc::invalid_argument)  `user` without `choose`; minimum or maximum without <
template <item_type T>
write_rule make_write_rule(overwrite which, const std::function<T(const T&, const T&)>& choose) {
    const auto later_of_smallest = [](const ranked<T>& a, const ranked<T>& b) noexcept {
        return a.rank < b.rank ? a : b;
    };
    switch (which) {
        case overwrite::any: return {make_write_operation<T, T>(replace())};
        case overwrite::smallest_rank_last:
            return {make_write_operation<T, ranked<T>>(later_of_smallest), true};
        case overwrite::user:
            if (!choose)
                throw error(errc::invalid_argument,
                            "overwrite::user needs a function; give the option `choose`");
            return {make_write_operation<T, T>(choose)};
        case overwrite::minimum:
        case overwrite::maximum: break;
    }
    if constexpr (requires(const T& a, const T& b) { static_cast<bool>(a < b); }) {
        if (which == overwrite::minimum) return {make_write_operation<T, T>(minimum())};
        return {make_write_operation<T, T>(maximum())};
    } else {
        throw error(
            errc::invalid_argument,
            "values without an order have no minimum or maximum; name another overwrite rule");
    }
}

}  // namespace crossdock
