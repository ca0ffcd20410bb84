/// @file
/// @brief The ids of one rank, each with its copies.
#pragma once

#include <span>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief The copies of one id on a rank.
struct id_group {
    count_t id = 0;
    count_t num_unflagged = 0;        ///< of its copies; these come first
    std::span<const count_t> copies;  ///< places, ascending but for the flagged ones at the end

    std::span<const count_t> unflagged() const {
        return copies.first(static_cast<std::size_t>(num_unflagged));
    }
};

/// @brief The ids of a rank in ascending order, each with its copies.
///
///     {7 8 0 -7 7}   7: unflagged 0 4, flagged 3   8: unflagged 1
class id_groups {
  public:
    /// @throws error(errc::index_out_of_range)  an id is -2^63
    id_groups(rank_t rank, std::span<const count_t> ids);

    std::size_t size() const noexcept { return groups_.size(); }
    id_group operator[](std::size_t i) const {
        const auto& g = groups_[i];
        const auto last = i + 1 < size() ? groups_[i + 1].first : places_.size();
        return {g.id, g.num_unflagged, std::span(places_).subspan(g.first, last - g.first)};
    }

    /// @brief Flags all copies of the i-th id but the first `num`.
    void keep_unflagged(std::size_t i, count_t num);

    bool has_flags() const noexcept;

  private:
    struct group {
        count_t id;
        count_t num_unflagged;
        std::size_t first;
    };
    std::vector<count_t> places_;
    std::vector<group> groups_;
};

}  // namespace crossdock
