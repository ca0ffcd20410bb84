/// @file
/// @brief Patterns of hypre's communication packages, for neighbor exchanges.
///
///     crossdock::neighbor_exchange halo(
///         world, crossdock::pattern_from_hypre(world, hypre_ParCSRMatrixCommPkg(A)));
///
/// This is a header only, so that it fits the hypre that a program is compiled with, whatever its
/// version and its integers.
#pragma once

#include <_hypre_parcsr_mv.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "crossdock/communicator.hpp"
#include "crossdock/pattern.hpp"

namespace crossdock {

/// @brief One side of a communication package: from its arrays of ranks, of starts, and of
/// elements, or null where the places of a buffer are counted up.
/// @throws error  as `pattern_from_hypre`, on this rank alone
inline neighbor_list neighbors_from_hypre(HYPRE_Int num_ranks, const HYPRE_Int* ranks,
                                          const HYPRE_Int* starts, const HYPRE_Int* elements) {
    neighbor_list result;
    if (num_ranks == 0) return result;
    if (num_ranks < 0 || ranks == nullptr || starts == nullptr || starts[0] != 0 ||
        !std::is_sorted(starts, starts + num_ranks + 1)) {
        throw error(errc::invalid_argument, "a side of hypre's communication package is malformed");
    }
    std::transform(ranks, ranks + num_ranks, std::back_inserter(result.ranks),
                   [](HYPRE_Int rank) { return checked_cast<rank_t>(rank); });
    result.offsets.assign(starts, starts + num_ranks + 1);
    result.indices.resize(static_cast<std::size_t>(starts[num_ranks]));
    if (elements != nullptr) {
        std::copy_n(elements, result.indices.size(), result.indices.begin());
    } else {
        std::iota(result.indices.begin(), result.indices.end(), count_t{0});
    }
    return result;
}

/// @brief What hypre's jobs 1, 11 and 21 exchange, as y = A x needs it.
///
/// Item i is entry i of the local vector, and slot j is what column j of the matrix's off-diagonal
/// block needs. Nothing is packed: the exchange reads the vector. In reverse slots are combined
/// into items, in an order of the route's.
///
///     send_procs      1        recv_procs      1        sends to 1: items {0 2}
///     send_map_starts 0 2      recv_vec_starts 0 1      receives from 1: slots {0}
///     send_map_elmts  0 2
///
/// hypre turns the package into one of several components when it multiplies several vectors at
/// once; its pattern then exchanges all of them.
/// @param comm     of the package's ranks, in their order
/// @param package  hypre_MatvecCommPkgCreate makes it; not kept
/// @return a pattern with items up to the last one that is sent
/// @par Collective
/// Yes; blocks.
/// @throws error(errc::invalid_argument)  on all ranks: there is no package; it is of other ranks;
/// or an array is missing, or its starts do not ascend from 0
/// @throws as `validate`, on all ranks
[[nodiscard]] inline pattern pattern_from_hypre(const communicator& comm,
                                                const hypre_ParCSRCommPkg* package) {
    return on_all_or_none(comm, [&] {
        if (package == nullptr) {
            throw error(errc::invalid_argument,
                        "there is no communication package: hypre_MatvecCommPkgCreate makes one");
        }
        int order = MPI_UNEQUAL;
        if (package->comm != MPI_COMM_NULL)
            CROSSDOCK_MPI(MPI_Comm_compare(comm.get(), package->comm, &order));
        if (order != MPI_CONGRUENT && order != MPI_IDENT)
            throw error(errc::invalid_argument,
                        "hypre's communication package is for other ranks than the context; make "
                        "the context from the "
                        "communicator of the matrix");
        if (package->num_sends > 0 && package->send_map_elmts == nullptr)
            throw error(errc::invalid_argument,
                        "send_map_elmts of hypre's communication package is a null pointer");
        pattern result{
            .rank = comm.rank(), .num_ranks = comm.num_ranks(), .sends = {}, .receives = {}};
        result.sends = neighbors_from_hypre(package->num_sends, package->send_procs,
                                            package->send_map_starts, package->send_map_elmts);
        result.receives = neighbors_from_hypre(package->num_recvs, package->recv_procs,
                                               package->recv_vec_starts, nullptr);
        const auto& items = result.sends.indices;
        if (!items.empty()) result.num_items = *std::max_element(items.begin(), items.end()) + 1;
        result.num_slots = result.receives.offsets.back();
        validate(result);
        return result;
    });
}

/// @brief What hypre's jobs 2, 12 and 22 exchange, as y = A' x needs it to give hypre's bits.
///
/// Item j is column j of the off-diagonal block. Slot k is for entry send_map_elmts[k] of the local
/// vector, to which the caller adds it, in the order of k.
/// @return the pattern of the package turned round, with a slot for each value that hypre receives
/// @par Collective
/// Yes; blocks.
/// @throws as `pattern_from_hypre`
[[nodiscard]] inline pattern transposed_pattern_from_hypre(const communicator& comm,
                                                           const hypre_ParCSRCommPkg* package) {
    pattern result = pattern_from_hypre(comm, package);
    std::swap(result.sends, result.receives);
    std::iota(result.receives.indices.begin(), result.receives.indices.end(), count_t{0});
    result.num_items = result.num_slots;
    result.num_slots = result.receives.offsets.back();
    return result;
}

}  // namespace crossdock
