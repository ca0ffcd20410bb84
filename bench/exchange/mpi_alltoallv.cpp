#include <numeric>

#include "bench/exchange/contender.hpp"

namespace crossdock::bench::sparse {

namespace {

std::vector<int> displacements_of(const std::vector<int>& counts) {
    std::vector<int> displacements(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), displacements.begin(), 0);
    return displacements;
}

count_t count_of(const pattern_problem&, std::size_t) { return 1; }
count_t count_of(const indices_problem& problem, std::size_t m) { return problem.counts[m]; }

MPI_Datatype type_of(int) { return MPI_INT; }
MPI_Datatype type_of(count_t) { return MPI_INT64_T; }

template <class Problem>
auto exchange_all(const communicator& comm, const Problem& problem) {
    using value = typename Problem::value_type;
    std::vector<int> counts(static_cast<std::size_t>(comm.num_ranks()));
    for (std::size_t m = 0; m < problem.destinations.size(); ++m) {
        counts[static_cast<std::size_t>(problem.destinations[m])] =
            checked_cast<int>(count_of(problem, m));
    }
    const auto counts_to_come = tell_all(comm, counts);
    const auto displacements = displacements_of(counts);  // destinations ascend, as values do
    const auto places = displacements_of(counts_to_come);

    received<value> came;
    came.values.resize(static_cast<std::size_t>(places.back() + counts_to_come.back()));
    CROSSDOCK_MPI(MPI_Alltoallv(problem.values.data(), counts.data(), displacements.data(),
                                type_of(value()), came.values.data(), counts_to_come.data(),
                                places.data(), type_of(value()), comm.get()));
    for (std::size_t source = 0; source < places.size(); ++source) {
        if (counts_to_come[source] == 0) continue;
        came.sources.push_back(static_cast<rank_t>(source));
        came.counts.push_back(counts_to_come[source]);
        came.displacements.push_back(places[source]);
    }
    return came;
}

// The counts to all, and a message of values to every destination.
template <class Problem>
exchange_traffic traffic_of(const communicator& comm, const topology& regions,
                            const Problem& problem) {
    auto sent = traffic_to_all(comm, regions, sizeof(int));
    const region_t own_region = regions.region_of(comm.rank());
    for (std::size_t m = 0; m < problem.destinations.size(); ++m) {
        const auto message_bytes =
            count_of(problem, m) * static_cast<count_t>(sizeof(typename Problem::value_type));
        ++sent.messages;
        sent.message_bytes += message_bytes;
        if (regions.region_of(problem.destinations[m]) == own_region) continue;
        ++sent.inter_region_messages;
        sent.inter_region_message_bytes += message_bytes;
    }
    return sent;
}

}  // namespace

template <class Problem>
contender<Problem> mpi_alltoallv(const communicator& comm, const topology& regions) {
    return {"mpi_alltoallv", "", [&comm, &regions](const Problem& problem, exchange_traffic* sent) {
                if (sent != nullptr) *sent = traffic_of(comm, regions, problem);
                return exchange_all<Problem>(comm, problem);
            }};
}

template contender<pattern_problem> mpi_alltoallv(const communicator&, const topology&);
template contender<indices_problem> mpi_alltoallv(const communicator&, const topology&);

}  // namespace crossdock::bench::sparse
