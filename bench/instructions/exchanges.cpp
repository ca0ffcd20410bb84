// Exchanges whose instructions scripts/instructions counts: those of measured_exchange, but MPI's. Two
// ranks send each other one message along `direct`. Between start and wait both meet in a barrier, so
// that wait finds what it waits for and does not go round in loops.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "crossdock/neighbor_exchange.hpp"

// Returns something so that its last call is no jump, with which it would end for callgrind.
extern "C" [[gnu::noinline]] bool measured_exchange(const crossdock::communicator& comm,
                                                    crossdock::neighbor_exchange& halo,
                                                    const std::function<void()>& start) {
    start();
    CROSSDOCK_MPI(MPI_Barrier(comm.get()));
    halo.wait();
    return !halo.is_active();
}

namespace crossdock::bench {
namespace {

constexpr int num_warm_ups = 2;
constexpr int num_measured = 3;

template <std::size_t K>
using values = std::array<double, K>;

struct exchange_case {
    std::string name;
    std::vector<count_t> items;
    std::vector<count_t> slots;
};

std::vector<exchange_case> all_cases() {
    std::vector<count_t> consecutive(4096);
    std::iota(consecutive.begin(), consecutive.end(), 0);
    auto even = consecutive;
    for (auto& index : even) index *= 2;
    auto shuffled = consecutive;
    auto with_gaps = consecutive;
    std::mt19937_64 random(1);
    for (std::size_t i = 1; i < with_gaps.size(); ++i) {
        with_gaps[i] = with_gaps[i - 1] + 1 + static_cast<count_t>(random() % 3);
    }
    for (std::size_t i = shuffled.size() - 1; i > 0; --i) {
        std::swap(shuffled[i], shuffled[random() % (i + 1)]);
    }
    return {{"one item", {0}, {0}},
            {"run", consecutive, consecutive},
            {"every second item", even, consecutive},
            {"list of items", with_gaps, consecutive},
            {"list of slots", consecutive, shuffled}};
}

pattern pattern_of(const communicator& comm, const exchange_case& c) {
    pattern result;
    result.rank = comm.rank();
    result.num_ranks = comm.num_ranks();
    result.num_items = 1 + *std::max_element(c.items.begin(), c.items.end());
    result.num_slots = 1 + *std::max_element(c.slots.begin(), c.slots.end());
    result.sends.append(1 - comm.rank(), c.items);
    result.receives.append(1 - comm.rank(), c.slots);
    return result;
}

template <std::size_t K>
nlohmann::ordered_json exchange(const communicator& comm, const exchange_case& c) {
    const auto p = pattern_of(comm, c);
    neighbor_exchange halo(context(comm, topology::from_string("2", 2)), p,
                           {.route = "direct", .item_bytes = sizeof(values<K>)});
    std::vector<values<K>> items(static_cast<std::size_t>(p.num_items));
    std::vector<values<K>> slots(static_cast<std::size_t>(p.num_slots));
    for (std::size_t i = 0; i < items.size(); ++i) items[i].fill(static_cast<double>(i));

    for (int i = 0; i < num_warm_ups; ++i) halo.forward(items, slots);
    for (std::size_t i = 0; i < c.items.size(); ++i) {
        const auto& item = items[static_cast<std::size_t>(c.items[i])];
        if (slots[static_cast<std::size_t>(c.slots[i])] != item) {
            throw error(errc::invalid_state, fmt::format("wrong values in '{}'", c.name));
        }
    }
    for (int i = 0; i < num_measured; ++i) {
        if (!measured_exchange(comm, halo, [&] { halo.start(items, slots); })) {
            throw error(errc::invalid_state, fmt::format("'{}' is not complete", c.name));
        }
    }
    return {{"pattern", c.name}, {"values", K}, {"items", c.items.size()}};
}

// What the counts depend on. MPI may be asked for its name before it is initialized.
std::string built_with() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    CROSSDOCK_MPI(MPI_Get_library_version(text.data(), &length));
    const std::string mpi(text.data(), static_cast<std::size_t>(length));
    return fmt::format("{}, {}", CROSSDOCK_BUILT_WITH, mpi.substr(0, mpi.find_first_of(",\n")));
}

void run() {
    communicator comm(MPI_COMM_WORLD);
    if (comm.num_ranks() != 2) throw error(errc::invalid_argument, "needs two ranks");
    nlohmann::ordered_json cases;
    for (const auto& c : all_cases()) {
        cases.push_back(exchange<1>(comm, c));
        cases.push_back(exchange<4>(comm, c));
        cases.push_back(exchange<16>(comm, c));
    }
    if (comm.rank() == 0) {
        const nlohmann::ordered_json record{
            {"built_with", built_with()}, {"times_each", num_measured}, {"cases", cases}};
        std::printf("%s\n", record.dump().c_str());
    }
    comm.close();
}

}  // namespace
}  // namespace crossdock::bench

int main(int argc, char** argv) {
    CLI::App app("Exchanges to count the instructions of, on two ranks");
    bool asks_built_with = false;
    app.add_flag("--built-with", asks_built_with, "Only print what this program was built with");
    CLI11_PARSE(app, argc, argv);
    if (asks_built_with) {
        std::printf("%s\n", crossdock::bench::built_with().c_str());
        return EXIT_SUCCESS;
    }
    MPI_Init(&argc, &argv);
    try {
        crossdock::bench::run();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "error: %s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Finalize();
}
