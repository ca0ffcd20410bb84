// Every rank owns three values and needs the value before its first and the one after its last.
#include <cstdio>
#include <vector>

#include "crossdock/neighbor/neighbor_exchange.hpp"
#include "crossdock/pattern/pattern_mpi.hpp"
#include "crossdock/topology/discover_mpi.hpp"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    crossdock::communicator comm(MPI_COMM_WORLD);
    const auto topology = crossdock::discover_topology(comm);

    const crossdock::count_t first = 3 * comm.rank(), length = 3 * comm.num_ranks();
    const std::vector needed{(first + length - 1) % length, (first + 3) % length};
    const auto pattern = crossdock::from_needed(comm, first, 3, needed);
    crossdock::neighbor neighbor_exchange(context(comm, topology), pattern);

    const std::vector<double> items(3, comm.rank());
    std::vector<double> slots(needed.size());
    neighbor.exchange(items, slots);
    std::printf("rank %d got the values of ranks %.0f and %.0f\n", comm.rank(), slots[0], slots[1]);

    comm.close();
    MPI_Finalize();
}
