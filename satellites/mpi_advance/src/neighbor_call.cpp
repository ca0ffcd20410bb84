#include "neighbor_call.hpp"

#include <algorithm>
#include <bit>
#include <bitset>
#include <span>
#include <string>

#include "crossdock/pattern.hpp"
#include "returned.hpp"

using crossdock::count_t;
using crossdock::errc;
using crossdock::error;

namespace {

// An array of the caller's; null only if it is empty.
template <class T>
std::span<const T> array(const T* data, count_t length, const char* what) {
    if (length < 0)
        throw error(errc::invalid_argument, std::string(what) + " has length " +
                                                std::to_string(length) + "; the minimum is 0");
    if (length > 0) crossdock::mpi_advance::require(data, what);
    return {data, static_cast<std::size_t>(length)};
}

}  // namespace

MPIL_Topo::MPIL_Topo(int indegree, const int* from, int outdegree, const int* to) {
    const auto given_sources = array(from, indegree, "sources");
    const auto given_destinations = array(to, outdegree, "destinations");
    sources.assign(given_sources.begin(), given_sources.end());
    destinations.assign(given_destinations.begin(), given_destinations.end());
}

namespace crossdock::mpi_advance {

namespace {

const MPIL_Topo& required(const MPIL_Topo* topo) {
    if (topo == nullptr)
        throw error(errc::invalid_argument,
                    "topo is a null pointer, or the communicator has no neighbors");
    return *topo;
}

std::vector<count_t> widened(const int* numbers, const std::vector<int>& neighbors,
                             const char* what) {
    const auto given = array(numbers, static_cast<count_t>(neighbors.size()), what);
    return {given.begin(), given.end()};
}

// As counts have them: MPI Advance's users pass anything for messages of no values.
std::vector<count_t> used(std::vector<count_t> displacements, const std::vector<count_t>& counts) {
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i] == 0) displacements[i] = 0;
    return displacements;
}

std::size_t size_of(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL)
        throw error(errc::invalid_argument,
                    "datatype is MPI_DATATYPE_NULL; give the type of the values");
    int bytes = 0;
    CROSSDOCK_MPI(MPI_Type_size(type, &bytes));
    if (bytes == 0)
        throw error(errc::invalid_argument, "the datatype has 0 bytes; the minimum is 1");
    return static_cast<std::size_t>(bytes);
}

std::size_t common_size(MPI_Datatype sent, MPI_Datatype received) {
    if (size_of(sent) != size_of(received))
        throw error(errc::size_mismatch,
                    "a value of sendtype has " + std::to_string(size_of(sent)) +
                        " bytes, but one of recvtype " + std::to_string(size_of(received)));
    return size_of(sent);
}

std::vector<count_t> ids(const long* indices, const neighbor_call& call) {
    count_t length = 0;
    for (std::size_t i = 0; i < call.send_counts.size(); ++i)
        length = std::max(length, call.send_displacements[i] + call.send_counts[i]);
    const auto given = array(indices, length, "global_sindices");
    return {given.begin(), given.end()};
}

}  // namespace

neighbor_call::neighbor_call(const MPIL_Topo* topo, const neighbor_arguments& arguments,
                             const way& chosen)
    : neighbors(required(topo)),
      send_counts(widened(arguments.sent.counts, neighbors.destinations, "sendcounts")),
      send_displacements(used(
          widened(arguments.sent.displacements, neighbors.destinations, "sdispls"), send_counts)),
      receive_counts(widened(arguments.received.counts, neighbors.sources, "recvcounts")),
      receive_displacements(used(
          widened(arguments.received.displacements, neighbors.sources, "rdispls"), receive_counts)),
      item_bytes(common_size(arguments.sent.type, arguments.received.type)),
      travels(chosen) {
    if (travels.deduplicate) send_ids = ids(arguments.indices, *this);
}

neighbor_exchange make_exchange(const context& where, const std::optional<neighbor_call>& call,
                                const std::optional<error>& fault) {
    const auto made = on_all_or_none(where.comm(), [&] {
        if (fault) throw error(*fault);
        return pattern_from_neighbor_alltoallv(
            where.rank(), where.num_ranks(),
            {.destinations = call->neighbors.destinations,
             .send_counts = call->send_counts,
             .send_displacements = call->send_displacements,
             .sources = call->neighbors.sources,
             .receive_counts = call->receive_counts,
             .receive_displacements = call->receive_displacements,
             .send_ids = call->send_ids});
    });
    return neighbor_exchange(where, made,
                             {.route = call->travels.route,
                              .deduplicate = call->travels.deduplicate,
                              .item_bytes = call->item_bytes,
                              .prepare = preparation::forward});
}

neighbor_exchange& recent_exchanges::exchange_for(const context& where,
                                                  std::optional<neighbor_call> call,
                                                  const std::optional<error>& fault) {
    // All ranks have kept the exchanges of the same calls, of which several may be equal on this rank.
    std::bitset<capacity> equal;
    for (std::size_t i = 0; i < kept_.size(); ++i) equal[i] = call && kept_[i].call == *call;
    auto places = static_cast<unsigned>(equal.to_ulong());
    MPI_Request request = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, &places, 1, MPI_UNSIGNED, MPI_BAND,
                                 where.comm().get(), &request));
    where.comm().wait(request);
    if (places != 0) return kept_[static_cast<std::size_t>(std::countr_zero(places))].exchange;

    auto made = make_exchange(where, call, fault);
    if (kept_.size() == capacity) kept_.erase(kept_.begin());
    kept_.push_back({std::move(*call), std::move(made)});
    return kept_.back().exchange;
}

}  // namespace crossdock::mpi_advance
