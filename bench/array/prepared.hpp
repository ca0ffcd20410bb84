/// @file
/// @brief Reads of the same entries again and again, checked and then timed against each other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/array/contest.hpp"

namespace crossdock::bench::array {

/// @brief Reads `ends_of(work.edges)`; every entry has its `first_value`.
class prepared_contender {
  public:
    prepared_contender() = default;
    virtual ~prepared_contender() = default;
    prepared_contender(const prepared_contender&) = delete;
    prepared_contender& operator=(const prepared_contender&) = delete;

    /// @brief Forgets what was set up.
    /// @par Collective
    /// Yes; may block.
    virtual void clear() = 0;

    /// @brief Learns which entries are read.
    /// @pre nothing is set up
    /// @par Collective
    /// Yes; blocks.
    virtual void set_up() = 0;

    /// @brief Reads them.
    /// @par Collective
    /// Yes; blocks.
    virtual void read(std::span<value_t> out) = 0;

    /// @brief Gives back what only all ranks together can.
    /// @par Collective
    /// Yes; may block.
    virtual void close() { clear(); }

    /// @brief What this rank sends for one read; unset where nobody counts.
    virtual std::optional<traffic> sent() const { return std::nullopt; }
};

/// @brief A prepared contender and what is known of it before it starts.
struct prepared_entrant {
    std::string name;
    std::optional<std::string> route;    ///< the library's
    std::optional<std::string> combine;  ///< the library's strategy
    /// Collective over the communicator it was made for.
    std::function<std::unique_ptr<prepared_contender>(const rank_work& work)> make;
};

/// @brief PetscSF of a type, "basic" or "neighbor".
/// @param comm  borrowed, as is `regions`
prepared_entrant prepared_petsc(const communicator& comm, const std::string& type);

/// @brief The library, as `crossdock_route`.
prepared_entrant prepared_route(const communicator& comm, const topology& regions,
                                const std::string& name, const std::string& route,
                                const combining_options& combine);

/// @brief How one contender did.
struct prepared_standing {
    prepared_entrant who;
    struct {
        bool is_verified = false;
        std::optional<traffic> sent;  ///< by all ranks, for one read
    } found;
    timing setup_seconds;  ///< until the first read is complete, which pays for what is lazy
    timing read_seconds;
};

/// @brief Checks every contender, then times them in turn as a `stopwatch` does.
/// @return on rank 0; the times mean nothing on others
/// @par Collective
/// Yes; blocks.
/// @throws as the contenders, on all ranks
std::vector<prepared_standing> contest_prepared(const communicator& comm, const rank_work& work,
                                                const std::vector<prepared_entrant>& entrants,
                                                const contest_options& options);

}  // namespace crossdock::bench::array
