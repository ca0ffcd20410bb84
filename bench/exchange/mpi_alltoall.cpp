#include "bench/exchange/contender.hpp"

namespace crossdock::bench::sparse {

namespace {

received<int> exchange_all(const communicator& comm, const pattern_problem& problem) {
    std::vector<int> numbers(static_cast<std::size_t>(comm.num_ranks()));
    for (std::size_t m = 0; m < problem.destinations.size(); ++m)
        numbers[static_cast<std::size_t>(problem.destinations[m])] = problem.values[m];

    received<int> came;
    rank_t source = 0;
    for (const int number : tell_all(comm, numbers)) {
        if (number != 0) {
            came.sources.push_back(source);
            came.counts.push_back(1);
            came.displacements.push_back(static_cast<count_t>(came.values.size()));
            came.values.push_back(number);
        }
        ++source;
    }
    return came;
}

}  // namespace

contender<pattern_problem> mpi_alltoall(const communicator& comm, const topology& regions) {
    return {"mpi_alltoall", "",
            [&comm, &regions](const pattern_problem& problem, exchange_traffic* sent) {
                if (sent != nullptr) *sent = traffic_to_all(comm, regions, sizeof(int));
                return exchange_all(comm, problem);
            }};
}

}  // namespace crossdock::bench::sparse
