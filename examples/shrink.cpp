// Goes on with the ranks that are left when one has ended:
//
//     mpirun --with-ft ulfm -n 4 example_shrink
//
// Needs an MPI that tells of such ranks, such as Open MPI 5; otherwise no rank ends.
#include <csignal>
#include <cstdio>
#include <optional>
#include <vector>

#include "crossdock/crossdock.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace {

bool is_told_of_ends() {
    int is_set = 0;
    int* is_so = nullptr;
#ifdef MPIX_FT
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, static_cast<void*>(&is_so), &is_set);
#endif
    return is_set && *is_so;
}

// Every rank gets the number of the next one, ten times; amid that one rank ends, if there are more than three.
void compute(crossdock::context& world) {
    const crossdock::rank_t next = (world.rank() + 1) % world.num_ranks();
    const std::vector<crossdock::count_t> needed{next};
    const auto pattern = crossdock::pattern_from_needed(world, world.rank(), 1, needed);
    crossdock::neighbor_exchange halo(world, pattern);
    const std::vector<double> items(1, world.rank());
    std::vector<double> slots(1);
    for (int i = 0; i < 10; ++i) {
        if (i == 5 && world.num_ranks() > 3 && world.rank() == 1 && is_told_of_ends())
            std::raise(SIGKILL);
        halo.forward(items, slots);
    }
    std::printf("rank %d of %d got %.0f\n", world.rank(), world.num_ranks(), slots[0]);
}

// Whether this rank has done all of it.
bool try_to_compute(MPI_Comm comm) {
    std::optional<crossdock::context> world;
    try {
        world.emplace(comm);
        compute(*world);
        world->close();
        return true;
    } catch (const crossdock::error& fault) {
        if (fault.code() != crossdock::errc::rank_failed) throw;
        std::printf("%s\n", fault.what());
        if (world) world->close();  // waits for nobody any more
        return false;
    }
}

// Whether all ranks have done it. Otherwise `comm` has only those that are left.
bool agree([[maybe_unused]] MPI_Comm& comm, bool is_done) {
    int all_are = is_done;
#ifdef MPIX_FT
    if (!is_told_of_ends()) return is_done;
    MPIX_Comm_agree(comm, &all_are);  // some ranks may have done all before they could hear of it
    if (all_are) return true;
    MPI_Comm fewer = MPI_COMM_NULL;
    MPIX_Comm_shrink(comm, &fewer);
    MPI_Comm_free(&comm);
    comm = fewer;
#endif
    return all_are;
}

}  // namespace

int main(int argc, char** argv) {
    crossdock::report_uncaught();
    MPI_Init(&argc, &argv);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    while (!agree(comm, try_to_compute(comm))) continue;
    std::fflush(stdout);
    MPI_Comm_free(&comm);
    MPI_Finalize();
}
