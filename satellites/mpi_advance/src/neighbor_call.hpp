/// @file
/// @brief The arguments of a neighborhood collective as MPI Advance has them, and what exchanges
/// them.
#pragma once

#include <optional>
#include <vector>

#include "crossdock/neighbor_exchange.hpp"

/// @brief From whom a rank receives, and to whom it sends.
struct MPIL_Topo {
    /// @throws error(errc::invalid_argument)  a number is negative, or an array null but not empty
    MPIL_Topo(int indegree, const int* sources, int outdegree, const int* destinations);

    friend bool operator==(const MPIL_Topo&, const MPIL_Topo&) = default;

    std::vector<int> sources;
    std::vector<int> destinations;
};

namespace crossdock::mpi_advance {

/// @brief The values that a rank sends, or those that it receives.
struct call_side {
    const int* counts;
    const int* displacements;
    MPI_Datatype type;
};

/// @brief What a caller gives; `indices` are null where values are not known to be equal.
struct neighbor_arguments {
    call_side sent;
    const long* indices;
    call_side received;
};

/// @brief How values travel; equal on all ranks.
struct way {
    const char* route;
    bool deduplicate;

    friend bool operator==(const way&, const way&) = default;
};

/// @brief Copies of the numbers of a call. Displacements of nothing are 0.
struct neighbor_call {
    /// @throws error(errc::invalid_argument)  there are no neighbors (`topo` is null), an array is
    ///         null but not empty, or a count or displacement is negative
    /// @throws error(errc::size_mismatch)     the datatypes differ in bytes
    neighbor_call(const MPIL_Topo* topo, const neighbor_arguments& arguments, const way& chosen);

    friend bool operator==(const neighbor_call&, const neighbor_call&) = default;

    MPIL_Topo neighbors;
    std::vector<count_t> send_counts, send_displacements;
    std::vector<count_t> receive_counts, receive_displacements;
    std::vector<count_t> send_ids;
    std::size_t item_bytes;
    way travels;
};

/// @brief An exchange for calls with these numbers.
/// @par Collective
/// Yes; blocks.
/// @throws error  on all ranks or none: that of `fault`; as `pattern_from_neighbor_alltoallv` and
///         the constructor of `neighbor_exchange`
neighbor_exchange make_exchange(const context& where, const std::optional<neighbor_call>& call,
                                const std::optional<error>& fault);

/// @brief The exchanges of the calls that were different last.
class recent_exchanges {
  public:
    /// @brief The exchange for a call, made before or now.
    /// @par Collective
    /// Yes; blocks. One reduction of a word.
    /// @throws as `make_exchange`
    neighbor_exchange& exchange_for(const context& where, std::optional<neighbor_call> call,
                                    const std::optional<error>& fault);

    void clear() { kept_.clear(); }

  private:
    struct kept_exchange {
        neighbor_call call;
        neighbor_exchange exchange;
    };

    static constexpr std::size_t capacity = 8;
    std::vector<kept_exchange> kept_;  // the newest last
};

}  // namespace crossdock::mpi_advance
