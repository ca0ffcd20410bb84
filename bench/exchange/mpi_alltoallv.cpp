#include <numeric>

#include "bench/exchange/contender.hpp"

namespace crossdock::bench::sparse {

namespace {

std::vector<int> displacements_of(const std::vector<int>& counts) {
    std::vector<int> displacements(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), displacements.begin(), 0);
    return displacements;
}

received<count_t> exchange_all(const communicator& comm, const indices_problem& problem) {
    std::vector<int> counts(static_cast<std::size_t>(comm.num_ranks()));
    for (std::size_t m = 0; m < problem.destinations.size(); ++m) {
        counts[static_cast<std::size_t>(problem.destinations[m])] =
            checked_cast<int>(problem.counts[m]);
    }
    const auto counts_to_come = tell_all(comm, counts);
    const auto displacements = displacements_of(counts);  // destinations ascend, as values do
    const auto places = displacements_of(counts_to_come);

    received<count_t> came;
    came.values.resize(static_cast<std::size_t>(places.back() + counts_to_come.back()));
    CROSSDOCK_MPI(MPI_Alltoallv(problem.values.data(), counts.data(), displacements.data(),
                                MPI_INT64_T, came.values.data(), counts_to_come.data(),
                                places.data(), MPI_INT64_T, comm.get()));
    for (std::size_t source = 0; source < places.size(); ++source) {
        if (counts_to_come[source] == 0) continue;
        came.sources.push_back(static_cast<rank_t>(source));
        came.counts.push_back(counts_to_come[source]);
        came.displacements.push_back(places[source]);
    }
    return came;
}

// The counts to all, and a message of values to every destination.
exchange_traffic traffic_of(const communicator& comm, const topology& regions,
                            const indices_problem& problem) {
    auto sent = traffic_to_all(comm, regions, sizeof(int));
    const region_t own_region = regions.region_of(comm.rank());
    for (std::size_t m = 0; m < problem.destinations.size(); ++m) {
        const auto message_bytes = problem.counts[m] * static_cast<count_t>(sizeof(count_t));
        ++sent.messages;
        sent.message_bytes += message_bytes;
        if (regions.region_of(problem.destinations[m]) == own_region) continue;
        ++sent.inter_region_messages;
        sent.inter_region_message_bytes += message_bytes;
    }
    return sent;
}

}  // namespace

contender<indices_problem> mpi_alltoallv(const communicator& comm, const topology& regions) {
    return {"mpi_alltoallv", "",
            [&comm, &regions](const indices_problem& problem, exchange_traffic* sent) {
                if (sent != nullptr) *sent = traffic_of(comm, regions, problem);
                return exchange_all(comm, problem);
            }};
}

}  // namespace crossdock::bench::sparse
