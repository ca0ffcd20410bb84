// What an owner does with requests for its entries.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "crossdock/detail/array/value_operation.hpp"
#include "crossdock/error.hpp"

namespace crossdock {

/// @brief The exception that is being handled, with the rank and the index where an operation threw
/// it.
///
/// An `error` keeps its code; anything else is the user's mistake, errc::invalid_argument.
/// @pre called in a handler
error operation_error(rank_t rank, count_t index);

/// @brief Finds the entries of one rank by their global indices, and reads or changes them.
///
/// Invariant: all indices it is called with are of this rank's entries, which begin at
/// `first_index`.
template <class Index>
class entry_owner {
  public:
    entry_owner(rank_t rank, count_t first_index) : rank_(rank), first_index_(first_index) {}

    /// @brief Where an entry lies in this rank's part.
    count_t offset_of(Index index) const noexcept {
        return static_cast<count_t>(index) - first_index_;
    }

    void append_offsets(std::span<const Index> indices, std::vector<count_t>& offsets) const;

    /// @brief Brings values into entries, in their order.
    /// @throws `operation_error`, if the operation throws
    void apply(const value_operation& operation, std::span<const Index> indices,
               const std::byte* values, std::byte* entries) const;

    /// @brief Copies entries to `to`, one for each index.
    void read(const std::byte* entries, std::size_t item_bytes, std::span<const Index> indices,
              std::byte* to) const;

  private:
    rank_t rank_;
    count_t first_index_;
};

extern template class entry_owner<std::uint32_t>;
extern template class entry_owner<std::uint64_t>;

}  // namespace crossdock
