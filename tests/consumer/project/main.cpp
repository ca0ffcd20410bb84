// What a program outside the project writes: fails unless the library links and answers.
#include "crossdock/crossdock.hpp"

namespace {

bool exchanges(const crossdock::context& world) {
    const auto pattern =
        crossdock::pattern_from_needed(world, 0, 2, std::vector<crossdock::count_t>{1});
    crossdock::neighbor_exchange halo(world, pattern);
    const std::vector<double> items{1.5, 2.5};
    std::vector<double> slots(1);
    halo.forward(items, slots);
    return slots[0] == 2.5;
}

bool combines(const crossdock::context& world) {
    crossdock::distributed_array<double> array(world, 3);
    const std::vector<crossdock::count_t> indices{2, 2};
    array.update(indices, std::vector{1.0, 0.5}, crossdock::sum{});
    std::vector<double> values(2);
    array.read(indices, values);
    return values == std::vector{1.5, 1.5};
}

bool streams(const crossdock::context& world) {
    int total = 0;
    crossdock::stream<int> numbers(world, [&](auto&, const auto& batch) {
        for (const int number : batch) total += number;
    });
    numbers.port(0).push({0, 0}, 40);
    numbers.port(0).push({0, 0}, 2);
    numbers.port(0).drain().wait();
    numbers.close();
    return total == 42;
}

// The library throws, the program catches by type.
bool refuses(const crossdock::context& world) {
    try {
        crossdock::neighbor_exchange(world, crossdock::pattern{.rank = 0, .num_ranks = 2});
    } catch (const crossdock::error& fault) {
        return fault.code() == crossdock::errc::size_mismatch;
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    crossdock::context world(MPI_COMM_WORLD, {.topology = "1"});
    const bool is_as_expected =
        exchanges(world) && combines(world) && streams(world) && refuses(world);
    world.close();
    MPI_Finalize();
    return is_as_expected ? 0 : 1;
}
