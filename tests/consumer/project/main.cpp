// What a program outside the project writes: fails unless the library links and answers.
#include <mpi.h>

#include <crossdock/base/communicator_mpi.hpp>
#include <crossdock/topology/topology.hpp>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);

    crossdock::communicator communicator(MPI_COMM_WORLD);
    const auto topology = crossdock::topology::from_string("2x4");
    const bool is_as_expected = communicator.num_ranks() == 1 && topology.num_ranks() == 8 &&
                                topology.num_regions() == 2 && topology.region_of(5) == 1;
    communicator.close();

    MPI_Finalize();
    return is_as_expected ? 0 : 1;
}
