// One rank of a batch, without the sending.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "crossdock/detail/array/array_statistics.hpp"
#include "crossdock/plan.hpp"
#include "entry_owner.hpp"
#include "held_requests.hpp"

namespace crossdock {

/// @brief Requests that came from one rank, as `pack` wrote them.
struct packed_requests {
    count_t num_requests = 0;
    const std::byte* data = nullptr;  ///< aligned as a std::max_align_t; stays where it is
};

/// @brief Routes requests of one kind to the owners, combined at every hop, and replies back.
///
///     hop 0  own requests, combined            indices this rank holds before stage 0
///     hop s  what stayed in stage s - 1, and what came from each source, combined
///     hop S  requests for entries of this rank
///
/// Every `held_requests` remembers how its lists were combined, so that replies are split the same
/// way back. Invariant: before stage s the hops 0 … s hold requests, and on the way back the hops s
/// … S hold replies, or the entries do.
///
/// | state | legal calls |
/// |---|---|
/// | before stage 0 | `start` |
/// | stage s = 0 … S-1 | `num_requests`, `pack` for every destination, then `take` once |
/// | at the owner | `apply`, `read` with the entries |
/// | stage s = S-1 … 0 back | `pack_replies` for every source, then `split`; then `take_replies` of every destination |
/// | at home | `deliver` |
template <class Index>
class combining_router {
  public:
    /// @param routing  borrowed, as is the operation
    /// @param memory   must outlive the router
    combining_router(const batch_route& routing, const request_traits& kind,
                     std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

    /// @brief Combines this rank's own requests.
    /// @param indices  of the router's memory
    /// @param values   of `indices`; not kept
    void start(raw_vector<Index>&& indices, const std::byte* values);

    /// @brief How many of its own requests are left, combined.
    count_t num_held() const noexcept { return hops_.front().held().size(); }

    /// @brief How many requests go to a stage's d-th destination.
    count_t num_requests(std::size_t stage, std::size_t d) const {
        return static_cast<count_t>(hops_[stage].num_requests(d));
    }

    /// @brief The bytes of `num_requests` requests; a multiple of the largest alignment.
    count_t packed_bytes(count_t num_requests) const;

    /// @brief Writes the requests for the d-th destination.
    void pack(std::size_t stage, std::size_t d, std::byte* to) const { hops_[stage].pack(d, to); }

    /// @brief Takes what came from every source of the stage, in their order, and combines it.
    void take(std::size_t stage, std::span<const packed_requests> from_sources);

    /// @brief Brings writes and updates into this rank's entries, in the order of ranks they came
    /// from.
    void apply(std::byte* entries) const;

    /// @brief The entries that `apply` would change, as offsets in this rank's part.
    std::vector<count_t> offsets() const;

    /// @brief From now on, what is read comes from these entries.
    void read(const std::byte* entries) { entries_ = entries; }

    count_t reply_bytes(count_t num_requests) const;
    /// @brief How many requests came from a stage's i-th source.
    count_t num_arrived(std::size_t stage, std::size_t i) const;
    void pack_replies(std::size_t stage, std::size_t i, std::byte* to) const;
    void take_replies(std::size_t stage, std::size_t d, const std::byte* from) {
        hops_[stage].take_replies(d, from);
    }
    /// @brief Passes the replies for what stayed in the stage on.
    void split(std::size_t stage);
    /// @brief The replies to this rank's own requests, in their order.
    void deliver(std::byte* out) const { copy_replies(0, 0, out); }

    /// @brief Adds to the counts of `array_statistics`, but for what was sent: `count_message`.
    void count(array_statistics& result) const;

    /// @brief The plan that does this again: forward it brings what was read, in reverse it
    /// updates.
    plan make_plan() const;

  private:
    std::size_t num_stages() const noexcept { return routing_.num_stages(); }
    void copy_replies(std::size_t hop, std::size_t list, std::byte* to) const;

    const batch_route& routing_;
    request_traits kind_;
    entry_owner<Index> owner_;
    const std::byte* entries_ = nullptr;
    raw_vector<Index> own_;
    std::vector<held_requests<Index>> hops_;
};

/// @brief Counts the message to a stage's d-th destination, of requests of any kinds together.
void count_message(const batch_route& routing, std::size_t stage, std::size_t d,
                   count_t num_requests, array_statistics& result);

extern template class combining_router<std::uint32_t>;
extern template class combining_router<std::uint64_t>;

}  // namespace crossdock
