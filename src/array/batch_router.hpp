// The requests of a batch, of all kinds, which travel in the same messages.
#pragma once

#include <array>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "combining_router.hpp"

namespace crossdock {

/// @brief The kinds of requests, in the order in which they take effect and lie in a message.
enum class request_type { write, update, read };
inline constexpr std::size_t num_request_types = 3;

/// @brief How many requests of each kind there are.
using request_counts = std::array<count_t, num_request_types>;

/// @brief One rank's part of a batch, without the sending: a router for each kind of requests.
///
///     message     writes | updates | reads     each as its router packs it
///
/// Invariant: a kind that was not started has no router, and no requests in any message.
template <class Index>
class batch_router {
  public:
    /// @param routing  borrowed
    /// @param memory   must outlive the object
    batch_router(const batch_route& routing, std::pmr::memory_resource* memory)
        : routing_(routing), memory_(memory) {}

    /// @brief Combines this rank's own requests of a kind; those it was started with before are
    /// gone.
    /// @param values  of `indices`; not kept
    /// @throws as `to_indices` and `held_requests::take`
    void start(request_type type, const request_traits& kind, std::span<const count_t> indices,
               const std::byte* values);

    /// @brief How many of its own requests are left, combined.
    count_t num_held() const;

    /// @brief How many requests go to a stage's d-th destination.
    request_counts num_requests(std::size_t stage, std::size_t d) const;

    /// @brief The bytes of requests in a message; a multiple of the largest alignment.
    count_t packed_bytes(const request_counts& counts) const;

    /// @brief Writes the requests for the d-th destination.
    /// @param counts  `num_requests`, or all 0: then nothing is written
    void pack(std::size_t stage, std::size_t d, const request_counts& counts, std::byte* to) const;

    /// @brief Takes what came from every source of the stage, in their order.
    /// @param from  as `pack` wrote it; stays where it is
    /// @throws as `held_requests::take`
    void take(std::size_t stage, std::span<const request_counts> counts,
              std::span<const std::byte* const> from);

    /// @brief Brings writes and then updates into this rank's entries.
    void apply(std::byte* entries) const;

    /// @brief The entries that `apply` would change, as offsets in this rank's part.
    std::vector<count_t> changing_offsets() const;

    /// @pre reads were started
    combining_router<Index>& reads() { return *routers_.back(); }

    /// @brief Counts what was sent and what came.
    void count(array_statistics& result) const;

  private:
    std::span<const std::optional<combining_router<Index>>> changes() const {
        return std::span(routers_).first(num_request_types - 1);
    }

    const batch_route& routing_;
    std::pmr::memory_resource* memory_;
    std::array<std::optional<combining_router<Index>>, num_request_types> routers_;
};

extern template class batch_router<std::uint32_t>;
extern template class batch_router<std::uint64_t>;

}  // namespace crossdock
