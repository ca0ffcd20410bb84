// What a program outside the project writes: fails unless the library links and answers.
#include "crossdock/crossdock.hpp"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);

    crossdock::context world(MPI_COMM_WORLD, {.topology = "1"});
    const auto pattern =
        crossdock::pattern_from_needed(world, 0, 2, std::vector<crossdock::count_t>{1});
    crossdock::neighbor_exchange halo(world, pattern);
    const std::vector<double> items{1.5, 2.5};
    std::vector<double> slots(1);
    halo.exchange(items, slots);
    const bool is_as_expected = world.num_ranks() == 1 && slots[0] == 2.5;
    world.close();

    MPI_Finalize();
    return is_as_expected ? 0 : 1;
}
