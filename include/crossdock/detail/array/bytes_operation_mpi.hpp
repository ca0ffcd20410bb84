// What changes entries whose type is known only when the program runs, for interfaces of other languages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/detail/array/array_engine_mpi.hpp"
#include "crossdock/detail/array/value_operation.hpp"
#include "crossdock/detail/array/write_rule.hpp"
#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Makes `into` both values.
using value_combination = std::function<void(std::byte* into, const std::byte* value)>;

/// @brief What changes entries: the library's own where it has one, which is faster, and else what the caller gives.
struct entry_operation {
    std::unique_ptr<value_operation> operation;
    predefined_operation predefined = {};
};

/// @brief What writes do.
struct entry_writes {
    entry_operation by;
    bool carries_rank = false;  ///< values travel with the rank that wrote them behind them
};

/// @brief The library's own update.
template <class T, class Op>
entry_operation typed_update(Op op) {
    auto made = make_update_operation<T>(op);
    return {std::make_unique<decltype(made)>(std::move(made)), predefined_for<T, Op>()};
}

/// @brief The library's own update of numbers by the operation that `is_it(named_operation)` tells; none if it has
/// none.
template <class IsIt>
entry_operation own_update(const number_type& type, const IsIt& is_it) {
    entry_operation found;
    with_number(type, [&](auto number) {
        using T = decltype(number);
        for_each_operation<T>([&](const auto& one) {
            if (is_it(one)) found = typed_update<T>(one.apply);
        });
    });
    return found;
}

/// @brief An update by a function.
entry_operation bytes_update(std::size_t item_bytes, std::string name,
                             const value_combination& combine);

/// @brief Writes whose values a function combines.
entry_operation bytes_write(std::size_t item_bytes, std::size_t value_bytes, std::string name,
                            value_combination combine);

/// @brief The last of several values. What each rank's MPI moves of those that are no numbers is bytes.
entry_operation replacing(const number_type& type, std::size_t item_bytes);

/// @brief What a rule writes.
/// @param choose  for `overwrite::user`
/// @throws error(errc::invalid_argument)  `overwrite::user` without a function; minimum or maximum of what has no order
entry_writes writes_by(const number_type& type, std::size_t item_bytes, overwrite which,
                       value_combination choose = nullptr);

/// @brief Values with the rank that writes them behind each.
std::vector<std::byte> with_rank_behind(const std::byte* values, std::size_t num_values,
                                        std::size_t item_bytes, rank_t rank);

}  // namespace crossdock
