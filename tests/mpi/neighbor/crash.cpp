// Ends in the middle of exchanges: its last rank calls abort() while others wait for it. That rank prints
// the files in /dev/shm whose memory it has come to share since MPI_Init, for crash_test.py. (What MPICH
// shares from the start it leaves behind.)
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "crossdock/neighbor_exchange.hpp"
#include "support/patterns.hpp"
#include "support/shared_files.hpp"

int main(int argc, char** argv) {
    using namespace crossdock;
    MPI_Init(&argc, &argv);
    const auto from_the_start = test::shared_files();
    const communicator comm(MPI_COMM_WORLD);
    const auto patterns = test::all_to_all_pattern(comm.num_ranks());
    const auto& own = patterns[static_cast<std::size_t>(comm.rank())];
    neighbor_exchange halo(context(comm, topology::one_region(comm.num_ranks())), own,
                           {.route = "three_step", .executor = "shared_memory"});
    const std::vector<std::int64_t> items(static_cast<std::size_t>(own.num_items));
    std::vector<std::int64_t> slots(static_cast<std::size_t>(own.num_slots));
    for (int exchange = 0;; ++exchange) {
        if (exchange == 100 && comm.rank() == comm.num_ranks() - 1) {
            for (const auto& file : test::shared_files()) {
                if (from_the_start.count(file) == 0) std::cout << file << '\n';
            }
            std::cout.flush();
            std::abort();
        }
        halo.forward(items, slots);
    }
}
