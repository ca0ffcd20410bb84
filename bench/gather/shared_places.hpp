/// @file
/// @brief What gslib's methods are set up from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crossdock/communicator.hpp"

namespace crossdock::bench::gather {

/// @brief An id that several ranks have.
struct shared_place {
    count_t id;
    std::uint32_t place;          ///< of its first copy on this rank
    count_t number;               ///< among all shared ids
    std::vector<rank_t> holders;  ///< all of them, ascending
};

/// @brief Copies of one id on this rank: added in the first place, and the result copied back.
class local_copies {
  public:
    /// @brief Adds the copies from `first` to `last`, the first one first.
    template <class Iterator>
    void add(Iterator first, Iterator last) {
        first_.push_back(first->second);
        for (++first; first != last; ++first) others_.push_back(first->second);
        ends_.push_back(static_cast<std::uint32_t>(others_.size()));
    }
    void gather(double* values) const;
    void scatter(double* values) const;

  private:
    std::vector<std::uint32_t> first_, others_, ends_;
};

/// @brief The ids of a rank.
struct rank_places {
    local_copies copies;
    std::vector<shared_place> shared;  ///< by id
    count_t num_shared = 0;            ///< by all ranks together
};

/// @brief Finds out who shares what: the rank that an id names by its remainder tells its holders.
/// @param ids  not negative
/// @par Collective
/// Yes; blocks.
rank_places find_places(const communicator& comm, std::span<const count_t> ids);

}  // namespace crossdock::bench::gather
