#include "bench/common/all_ranks.hpp"

namespace crossdock::bench {

bool is_true_on_all(const communicator& comm, bool is_true) {
    int all = is_true ? 1 : 0;
    CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, comm.get()));
    return all != 0;
}

std::array<count_t, 4> sum_over_ranks(const communicator& comm, std::array<count_t, 4> numbers) {
    CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()),
                                MPI_INT64_T, MPI_SUM, comm.get()));
    return numbers;
}

}  // namespace crossdock::bench
