// Messages of requests and of replies, as they travel.
#pragma once

#include <cstddef>
#include <span>

#include "combined_requests.hpp"
#include "request_traits.hpp"
#include "requests_by_destination.hpp"

namespace crossdock {

/// @brief Where a message with requests of one kind has what.
///
///     indices | return slots | values
///
/// Reads by an envelope strategy have return slots; writes and updates have values. Invariant: each
/// part begins at a multiple of the largest alignment, and so does what follows the message, if the
/// message does.
template <class Index>
class request_layout {
  public:
    request_layout(const request_traits& kind, std::size_t num_requests);

    std::size_t num_bytes() const noexcept { return end_; }

    /// @brief Writes the requests at some positions; the positions are their return slots.
    /// @param ranges   of `num_requests` positions
    /// @param indices  by position, as are the values
    void encode(std::span<const position_range> ranges, std::span<const Index> indices,
                const std::byte* values, std::byte* to) const;

    /// @brief The requests of a message, which must stay where it is.
    request_list<Index> decode(const std::byte* from, bool is_sorted) const;

  private:
    std::size_t num_requests_;
    std::size_t num_return_slots_;
    std::size_t value_bytes_;
    std::size_t return_slots_begin_;
    std::size_t values_begin_;
    std::size_t end_;
};

/// @brief Where a message with the replies to such requests has what.
///
///     return slots | values
///
/// There are return slots where the requests had them. Invariant: values begin at a multiple of the
/// largest alignment.
class reply_layout {
  public:
    reply_layout(const request_traits& kind, std::size_t num_requests);

    std::size_t num_bytes() const noexcept { return end_; }
    std::size_t values_begin() const noexcept { return values_begin_; }

    /// @brief Writes the return slots, if there are any; the caller writes the values.
    void encode_return_slots(std::span<const position_t> slots, std::byte* to) const;

    /// @brief None where requests had none: then replies come in the order of the requests.
    std::span<const position_t> return_slots(const std::byte* from) const;

  private:
    std::size_t num_return_slots_;
    std::size_t values_begin_;
    std::size_t end_;
};

extern template class request_layout<std::uint32_t>;
extern template class request_layout<std::uint64_t>;

}  // namespace crossdock
