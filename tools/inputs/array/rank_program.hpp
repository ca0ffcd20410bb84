/// @file
/// @brief Programs that read and change an array in batches, without anyone to run them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock::bench::array {

/// @brief An entry. PetscSF's contender has doubles; integers below 2^53 are exact in them.
using value_t = double;

/// @brief What the requests of a batch do.
enum class request_traits {
    read,
    sum,      ///< update
    minimum,  ///< update
};

const char* to_string(request_traits kind);

/// @brief One rank's requests.
struct request_batch {
    request_traits kind = request_traits::read;
    std::vector<count_t> indices;
    std::vector<value_t> values;  ///< of updates
    bool may_end = false;         ///< if no rank has requests, the program is over instead
};

/// @brief One rank of a program; all ranks run it in lockstep.
///
///     fill(entries); then until next() brings nothing:  next() -> all ranks' batches are done
///
/// Whoever runs it holds the array. Kinds and `may_end` are those of all ranks, batch by batch.
class rank_program {
  public:
    rank_program() = default;
    virtual ~rank_program() = default;
    rank_program(const rank_program&) = delete;
    rank_program& operator=(const rank_program&) = delete;

    /// @brief Gives this rank's entries their first values.
    virtual void fill(std::span<value_t> entries) const = 0;

    /// @brief Asks for a batch.
    /// @param entries  this rank's, which it may change
    /// @param replies  to the last batch, if that read
    virtual std::optional<request_batch> next(std::span<value_t> entries,
                                              std::span<const value_t> replies) = 0;

    /// @brief What is compared with the serial computation; asked for when the program is over.
    virtual std::vector<value_t> outcome(std::span<const value_t> entries) const {
        return {entries.begin(), entries.end()};
    }
};

}  // namespace crossdock::bench::array
