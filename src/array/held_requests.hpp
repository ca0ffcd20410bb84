// What a rank holds of a batch before a stage.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "../base/pooled_resource.hpp"
#include "batch_route.hpp"
#include "combined_requests.hpp"
#include "crossdock/detail/base/raw_buffer.hpp"
#include "request_traits.hpp"
#include "requests_by_destination.hpp"

namespace crossdock {

/// @brief Requests of one kind at one hop: lists that came, combined, grouped by where they go.
///
///     hop 1 of rank 2 on hypercube, 4 ranks, an entry on each
///     lists {2 3} of its own, {3} of rank 0     held {2 3}     outgoing: 2 stays, 3 goes to rank 3
///
/// The first list is what stayed, or at hop 0 the rank's own requests; the others are of one source
/// each.
///
/// Invariant, once lists were taken where `request_traits::is_combined_at`: every request has a
/// position in `held()`; there is a value for each position if the kind has values; and before the
/// owner's hop, `outgoing()` covers all positions. A reply is for a position, too, and so finds its
/// way to every request that has the position.
template <class Index>
class held_requests {
  public:
    /// @param routing  borrowed
    /// @param number   0 … the number of stages; the last is the owner's
    /// @param memory   must outlive the hop
    held_requests(const batch_route& routing, const request_traits& kind, std::size_t number,
                  std::pmr::memory_resource* memory);

    /// @brief Takes all lists, combines them and finds out where they go.
    /// @param lists  their indices and values must stay where they are
    /// @throws error(errc::count_overflow)  as `combined_requests`; and what the operation throws
    void take(std::vector<request_list<Index>>&& lists);

    std::span<const request_list<Index>> lists() const noexcept { return lists_; }
    /// @brief The requests of all lists.
    count_t num_taken() const noexcept;
    const combined_requests<Index>& held() const noexcept { return held_; }
    /// @brief Combined values, by position.
    const std::byte* values() const noexcept { return values_.data(); }
    const requests_by_destination& outgoing() const noexcept { return outgoing_; }

    /// @brief How many requests go to the d-th destination.
    std::size_t num_requests(std::size_t d) const { return total_length(outgoing_.to(d)); }

    /// @brief Writes the requests for the d-th destination, as a `request_layout`.
    void pack(std::size_t d, std::byte* to) const;

    /// @brief The requests that stay, as the first list of the next hop; they lie in this one.
    request_list<Index> stay();

    /// @brief Takes the replies to what stayed, the first of all replies.
    /// @param write  called with where to write them, in the order of `stay()`; not if nothing
    /// stayed
    template <class Write>
    void take_stayed_replies(Write&& write);

    /// @brief Takes the replies of the d-th destination, a `reply_layout`.
    void take_replies(std::size_t d, const std::byte* from);

    /// @brief Writes the replies to the requests of a list, in its order.
    void copy_replies(std::size_t list, std::byte* to) const;

  private:
    void combine_values();

    const batch_route& routing_;
    request_traits kind_;
    std::size_t number_;
    std::pmr::memory_resource* memory_;
    std::vector<request_list<Index>> lists_;
    combined_requests<Index> held_;
    requests_by_destination outgoing_;
    raw_buffer values_;         // by position
    raw_buffer replies_;        // by position
    raw_vector<Index> stayed_;  // copies of what stays, where it is of several ranges
    raw_buffer stayed_values_;
};

template <class Index>
template <class Write>
void held_requests<Index>::take_stayed_replies(Write&& write) {
    const std::size_t item_bytes = kind_.reply_bytes;
    replies_ = raw_buffer(static_cast<std::size_t>(held_.size()) * item_bytes, memory_);
    const auto ranges = outgoing_.staying();
    if (ranges.empty()) return;
    if (ranges.size() == 1) {
        write(replies_.data() + ranges.front().first * item_bytes);
        return;
    }
    const raw_buffer stayed(total_length(ranges) * item_bytes, memory_);
    write(stayed.data());
    scatter_ranges(ranges, stayed.data(), item_bytes, replies_.data());
}

extern template class held_requests<std::uint32_t>;
extern template class held_requests<std::uint64_t>;

}  // namespace crossdock
