/// @file
/// @brief What the library throws: one exception type with a code, a rank, and a sentence.
#pragma once

#include <stdexcept>
#include <string>

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What went wrong, as a fixed number; the C API returns the same numbers.
enum class errc : int {
    success = 0,             ///< nothing; never thrown
    invalid_argument = 1,    ///< a value is outside what the function accepts
    invalid_topology = 2,    ///< a topology string is malformed or does not fit the ranks
    unknown_route = 3,       ///< no registered route has this name
    invalid_route = 4,       ///< a route's parameters are malformed or do not fit the ranks
    size_mismatch = 5,       ///< two arguments that must agree in length do not
    rank_out_of_range = 6,   ///< a source or destination is not a rank
    index_out_of_range = 7,  ///< an item, slot or global index is outside its array
    count_mismatch = 8,      ///< a sender and its receiver disagree about the count
    count_overflow = 9,      ///< a number does not fit the type MPI or the plan needs
    file_error = 10,         ///< a file is missing or unreadable
    parse_error = 11,        ///< a file or text is malformed or truncated
    invalid_state = 12,      ///< the call is not legal in the object's present state
    invalid_plan = 13,       ///< a plan does not do what its pattern asks
    mpi_failure = 14,        ///< an MPI call failed
    out_of_memory = 15,      ///< an allocation failed
    internal = 16,           ///< a fault of the library itself
    handler_failed = 17,     ///< a handler of a stream has thrown
    peer_failed = 18,        ///< another rank failed, and what this one needs of it is missing
    timeout = 19,            ///< a wait lasted longer than CROSSDOCK_WATCHDOG allows
    rank_failed = 20,        ///< a rank has ended, and MPI tells of it
};

/// @brief The enumerator's name, e.g. "count_mismatch".
const char* to_string(errc code) noexcept;

/// @brief A caller's mistake or a failure of the surroundings, with the values in the sentence.
class error : public std::runtime_error {
  public:
    /// @param code     what kind of fault
    /// @param message  a sentence with the offending values
    /// @param rank     the rank that found it, or -1 where no rank is involved; of errc::peer_failed and
    /// errc::rank_failed the rank that failed
    error(errc code, const std::string& message, int rank = -1)
        : std::runtime_error(message), code_(code), rank_(rank) {}

    /// @brief The same fault, found by a rank. Takes no memory.
    error(const error& other, int rank) noexcept
        : std::runtime_error(other), code_(other.code_), rank_(rank) {}

    errc code() const noexcept { return code_; }

    /// @brief The rank that found the fault, or -1; of errc::peer_failed and errc::rank_failed the rank that failed.
    int rank() const noexcept { return rank_; }

  private:
    errc code_;
    int rank_;
};

/// @brief Throws errc::invalid_state where a call is not legal in an object's present state.
inline void require_state(bool is_legal, const char* message) {
    if (!is_legal) [[unlikely]]
        throw error(errc::invalid_state, message);
}

}  // namespace crossdock
