// Programs whose errors nobody catches: one of all ranks, one of a rank alone, one of a thread. Or all ranks but
// one go on.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "crossdock/crossdock.hpp"

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
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
