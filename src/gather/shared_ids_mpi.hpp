// The ids of a rank, and which other ranks have them: found out by all ranks together.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"

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

/// @brief A rank that has copies of an id.
struct id_holder {
    rank_t rank = 0;
    bool is_flagged = false;  ///< all of its copies are

    friend bool operator==(const id_holder&, const id_holder&) = default;
};

/// @brief An id that several ranks have, one of them with a copy that is not flagged.
struct shared_id {
    std::size_t group = 0;  ///< of the rank's id groups
    rank_t owner = 0;       ///< the lowest rank with a copy that is not flagged
    std::size_t first_holder = 0;
    /// 0 where there are more than `shared_ids::most_listed`, unless this rank is the owner.
    std::size_t num_holders = 0;
};

/// @brief What a rank knows of the ids that it shares, ascending.
struct shared_ids {
    static constexpr count_t most_listed = 16;

    std::vector<shared_id> ids;
    std::vector<id_holder> holders;  ///< of one id together, ascending by rank
    std::span<const id_holder> holders_of(const shared_id& id) const {
        return std::span(holders).subspan(id.first_holder, id.num_holders);
    }
    // The rest is the same on all ranks.
    count_t most_holders = 0;          ///< of any shared id
    bool has_flagged = false;          ///< a copy is flagged
    bool has_flagged_holders = false;  ///< a shared id has a holder whose copies are all flagged
    bool has_givers = false;  ///< a shared id has a copy that is not flagged beside its owner's
};

/// @brief Finds the holders of all ids.
///
/// A rank asks the rank that an id's hash names.
/// @param groups  of this rank's ids; with `unique`, all copies but one become flagged
/// @param fault   this rank's, if it has any; as is `same`, as in `setup_rounds::open`
/// Collective; blocks. Two sparse exchanges and a reduction.
/// @throws error  the fault of the lowest rank that has one; or error(errc::invalid_argument) where
/// `same` differs; on all ranks
shared_ids find_shared_ids(const context& where, std::optional<id_groups>& groups, bool unique,
                           const std::optional<error>& fault, const equal_arguments& same);

}  // namespace crossdock
