// Every rank owns three values and needs the value before its first and the one after its last.
#include <cstdio>
#include <vector>

#include "crossdock/crossdock.hpp"

int main(int argc, char** argv) {
    crossdock::report_uncaught();
    MPI_Init(&argc, &argv);
    crossdock::context world(MPI_COMM_WORLD);

    const crossdock::count_t first = 3 * world.rank(), length = 3 * world.num_ranks();
    const std::vector needed{(first + length - 1) % length, (first + 3) % length};
    const auto pattern = crossdock::pattern_from_needed(world, first, 3, needed);
    crossdock::neighbor_exchange halo(world, pattern);

    const std::vector<double> items(3, world.rank());
    std::vector<double> slots(needed.size());
    halo.forward(items, slots);
    std::printf("rank %d got the values of ranks %.0f and %.0f\n", world.rank(), slots[0],
                slots[1]);

    world.close();
    MPI_Finalize();
}
