/// @file
/// @brief What competes in the exchange benchmark.
#pragma once

#include <functional>
#include <string>
#include <type_traits>

#include "bench/exchange/problem.hpp"

namespace crossdock::bench::sparse {

/// @brief A way to solve a problem from the start, again and again.
template <class Problem>
struct contender {
    std::string name;
    std::string algorithm;  ///< the library's that runs; empty if it is not the library
    /// Brings what came, sources ascending, and counts what this rank sent unless that is null.
    /// Collective over the communicator it was made for.
    std::function<received<typename Problem::value_type>(const Problem&, exchange_traffic* sent)>
        exchange;
};

/// @brief MPI_Alltoall of one number per rank, which is all: nobody needs 0 columns, so 0 is no
/// message.
contender<pattern_problem> mpi_alltoall(const communicator& comm, const topology& regions);

/// @brief MPI_Alltoall of the counts, then MPI_Alltoallv of the values.
template <class Problem>
contender<Problem> mpi_alltoallv(const communicator& comm, const topology& regions);

/// @brief The library's exchange.
/// @param name  as `exchange_options::algorithm`
/// @param comm  borrowed, as is `regions`
/// @par Collective
/// Yes; blocks.
template <class Problem>
contender<Problem> crossdock_algorithm(const std::string& name, const communicator& comm,
                                       const topology& regions) {
    constexpr bool is_one_size = std::is_same_v<Problem, pattern_problem>;
    return {name, to_string(resolve_exchange_algorithm({comm, regions}, name, is_one_size)),
            [where = context(comm, regions), name](const Problem& problem, exchange_traffic* sent) {
                return sparse_exchange(where, problem.messages(),
                                       {.algorithm = name, .sent = sent});
            }};
}

/// @brief One number for every rank, and one from every rank.
std::vector<int> tell_all(const communicator& comm, const std::vector<int>& numbers);

/// @brief One message from a rank to every other; MPI does not say what it really sends.
exchange_traffic traffic_to_all(const communicator& comm, const topology& regions,
                                count_t message_bytes);

}  // namespace crossdock::bench::sparse
