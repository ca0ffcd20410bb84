// Programs whose errors nobody catches: one of all ranks, one of a rank alone, one of a start, one of a
// thread. Or all ranks but one go on.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "crossdock/crossdock.hpp"

// All ranks need an item of each other, and the array of one is too short.
static void exchange_with_a_fault_of(int failing) {
    crossdock::context world(MPI_COMM_WORLD);
    crossdock::pattern all;
    all.rank = world.rank();
    all.num_ranks = world.num_ranks();
    all.num_items = 1;
    all.num_slots = all.num_ranks - 1;
    for (int other = 0; other < all.num_ranks; ++other) {
        if (other == all.rank) continue;
        const std::vector<crossdock::count_t> item{0},
            slot{static_cast<crossdock::count_t>(all.receives.size())};
        all.sends.append(other, item);
        all.receives.append(other, slot);
    }
    crossdock::neighbor_exchange halo(world, all, {.route = "direct"});
    std::vector<double> items(all.rank == failing ? 0 : 1), slots(2);
    halo.forward(items, slots);
}

int main(int argc, char** argv) {
    crossdock::report_uncaught();
    const char* const where = argv[1];
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::printf("printed before the error\n");
    if (std::strcmp(where, "all") == 0)
        crossdock::context world(MPI_COMM_WORLD, {.topology = "5x9"});
    if (std::strcmp(where, "rank 1") == 0 && rank == 1)
        throw std::runtime_error("rank 1 has read a faulty line");
    if (std::strcmp(where, "thread") == 0 && rank == 0)
        std::thread([] { throw std::runtime_error("a thread of rank 0 has failed"); }).join();
    if (std::strcmp(where, "start") == 0) exchange_with_a_fault_of(1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
