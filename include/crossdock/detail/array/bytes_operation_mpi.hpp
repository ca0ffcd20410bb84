/// @file
/// @brief What changes entries whose type is known only when the program runs, for interfaces of other languages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "crossdock/detail/array/array_engine_mpi.hpp"
#include "crossdock/detail/array/value_operation.hpp"
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

/// @brief An update by a function.
entry_operation bytes_update(std::size_t item_bytes, std::string name,
                             const value_combination& combine);

/// @brief Writes whose values a function combines.
entry_operation bytes_write(std::size_t item_bytes, std::size_t value_bytes, std::string name,
                            value_combination combine);

/// @brief The value of the smaller rank, and of one rank the later; each has its rank behind it.
entry_writes smallest_rank_last(std::size_t item_bytes);

/// @brief The last of several values of any type. What each rank's MPI moves is bytes.
entry_operation replacing_bytes(std::size_t item_bytes);

}  // namespace crossdock
