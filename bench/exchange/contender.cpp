#include "bench/exchange/contender.hpp"

namespace crossdock::bench::sparse {

std::vector<int> tell_all(const communicator& comm, const std::vector<int>& numbers) {
    std::vector<int> told(numbers.size());
    CROSSDOCK_MPI(MPI_Alltoall(numbers.data(), 1, MPI_INT, told.data(), 1, MPI_INT, comm.get()));
    return told;
}

exchange_traffic traffic_to_all(const communicator& comm, const topology& regions,
                                count_t message_bytes) {
    const count_t messages = comm.num_ranks() - 1;
    const count_t inter_region_messages =
        comm.num_ranks() - regions.region_size(regions.region_of(comm.rank()));
    return {messages, messages * message_bytes, inter_region_messages,
            inter_region_messages * message_bytes};
}

}  // namespace crossdock::bench::sparse
