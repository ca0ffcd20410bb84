// What a program on hypre writes: fails unless it links, and reads a package.
#include <crossdock/crossdock.hpp>
#include <crossdock/hypre.hpp>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    HYPRE_Init();

    crossdock::context world(MPI_COMM_WORLD);
    HYPRE_Int rank = 0;
    HYPRE_Int starts[2] = {0, 2};
    HYPRE_Int elements[2] = {4, 1};
    hypre_ParCSRCommPkg package{};
    package.comm = MPI_COMM_WORLD;
    package.num_sends = package.num_recvs = 1;
    package.send_procs = package.recv_procs = &rank;
    package.send_map_starts = package.recv_vec_starts = starts;
    package.send_map_elmts = elements;
    const auto pattern = crossdock::pattern_from_hypre(world, &package);
    world.close();

    HYPRE_Finalize();
    MPI_Finalize();
    return pattern.num_items == 5 && pattern.num_slots == 2 ? 0 : 1;
}
