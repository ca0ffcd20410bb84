/// @file
/// @brief The routes `grid` and `hypercube`, and the named grids.
#pragma once

#include "crossdock/route.hpp"

namespace crossdock {

/// @brief Which rank is where in a grid; the one is the inverse of the other.
struct rank_places {
    std::vector<rank_t> place_of_rank;
    std::vector<rank_t> rank_at_place;
};

/// @brief Store and forward over a virtual k-dimensional grid, one dimension per stage.
///
/// Ranks are cut into K1 blocks, each block into K2, and so on; where K1 K2 … = P this is
/// MPI_Cart's row-major order. Stage t takes an item from its block of level t to the rank of the
/// destination's block that has the same place in it (modulo that block's size). Blocks of one
/// level differ in size by at most 1, so every P up to K1 K2 … works, primes included.
///
///     grid:2x2, 4 ranks, 0 to 3:   0 -> 2 -> 3       blocks {0 1} {2 3}
///     grid:2x3, 5 ranks, 2 to 4:   2 -> 3 -> 4       blocks {0 1 2} {3 4}
///
/// At most (K1 - 1) + (K2 - 1) + … messages per rank.
///
/// With ":mapped" behind, places are given to ranks when a plan is compiled, such that less is
/// forwarded; `find_places` says how.
/// @par Source
/// \cite selvitopi2019vpt (the dimensions of grid:n) and \cite peters2024array (also
/// the shapes with names). Differs: blocks of nearly equal size in place of a grid with missing
/// ranks. Places that suit the pattern are what the former leaves to future work.
class grid_route final : public route {
  public:
    /// @param parameters  ":K1xK2x…" with a product of at least P, or ":n" for n balanced
    /// dimensions; both may end with ":mapped"
    static std::unique_ptr<route> make_grid(std::string_view parameters, const topology& regions);
    /// @brief 2, 3 and 4 dimensions, but not as many as the hypercube has.
    static std::vector<std::string> grid_candidates(const topology& regions, bool shares_cores);
    /// @brief ceil(log2 P) dimensions of 2.
    /// @param parameters  none, or ":mapped"
    static std::unique_ptr<route> make_hypercube(std::string_view parameters,
                                                 const topology& regions);
    /// @brief Where it has several dimensions.
    static std::vector<std::string> hypercube_candidates(const topology& regions,
                                                         bool shares_cores);

    /// @brief The shape of "grid:n".
    /// @param parameters  ":n"
    static std::unique_ptr<route> make_equal(std::string_view parameters, const topology& regions);
    /// @brief Powers of two, each larger than the one before: 2x4x8 for 64 ranks.
    ///
    /// As those below, ceil(log2 P) bits together; `docs/routes.md` says how they are shared out.
    static std::unique_ptr<route> make_increase(std::string_view parameters,
                                                const topology& regions);
    /// @brief The dimensions of `make_increase` backwards: 8x4x2 for 64 ranks.
    static std::unique_ptr<route> make_decrease(std::string_view parameters,
                                                const topology& regions);
    /// @brief Powers of two that first decrease, then increase: 4x2x2x4 for 64 ranks.
    static std::unique_ptr<route> make_hourglass(std::string_view parameters,
                                                 const topology& regions);
    /// @brief Powers of two that first increase, then decrease: 2x4x4x2 for 64 ranks.
    static std::unique_ptr<route> make_inverse_hourglass(std::string_view parameters,
                                                         const topology& regions);

    int num_stages() const override { return static_cast<int>(shape_.size()); }
    rank_t next_hop(rank_t here, rank_t destination, int stage, const leader_table&) const override;
    stage_partners partners(rank_t here, int stage) const override;
    count_t max_messages_per_rank() const override;
    bool wants_places() const override { return wants_places_; }
    std::vector<rank_t> find_places(std::span<const rank_traffic> traffic) const override;
    std::unique_ptr<route> with_places(std::vector<rank_t> place_of_rank) const override;

    /// @brief K1, K2, …
    const std::vector<rank_t>& shape() const noexcept { return shape_; }

  private:
    static std::unique_ptr<route> make_named(std::string_view name, std::string_view parameters,
                                             const topology& regions, std::vector<rank_t> shape);

    grid_route(std::string name, const topology& regions, std::vector<rank_t> shape,
               bool wants_places = false)
        : route(std::move(name), regions), shape_(std::move(shape)), wants_places_(wants_places) {}

    rank_t place_of(rank_t rank) const;
    rank_t rank_at(rank_t place) const;
    std::vector<rank_t> ranks_at(std::vector<rank_t> places) const;

    std::vector<rank_t> shape_;
    bool wants_places_ = false;
    rank_places places_;  // empty: every rank is at the place of its own number
};

/// @brief n dimensions whose product is at least P and whose sum is near the least.
///
/// For P = 2^k, the first k mod n dimensions are 2^(floor(k/n)+1), the others 2^floor(k/n).
/// Otherwise all start at ceil(P^(1/n)), and the last ones are lowered by 1 while the product stays
/// at least P.
/// @param num_dimensions  at least 1
/// @par Source
/// \cite selvitopi2019vpt for powers of two.
std::vector<rank_t> balanced_shape(rank_t num_ranks, int num_dimensions);

}  // namespace crossdock
