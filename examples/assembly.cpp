// Assembly of a finite-element matrix and a load vector: elements add their parts to shared entries.
//
//     n = 3     0---1---2     nodes go to the ranks by rows, squares (of two triangles each) by columns:
//               | \ | \ |     most nodes of a rank's elements belong to other ranks
//               3---4---5
//               | \ | \ |
//               6---7---8
//
// The matrix is assembled once, by one `update` with `sum`. The loads change with time, but not where
// they go: their requests are prepared. While one step's loads travel, the next ones are computed.
//
// All numbers are small multiples of 1/2, so that sums are exact in any order.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/program.hpp"

using namespace examples;
using crossdock::block_partition;

constexpr count_t couplings_per_node = 7;  // with itself and six others
constexpr count_t num_steps = 4;

// A right triangle of two equal legs; the first node is at the right angle.
struct triangle {
    count_t number;
    std::array<count_t, 3> nodes;
};

// Numbers and where to add them.
struct contributions {
    std::vector<count_t> indices;
    std::vector<double> values;
};

// The triangles of the squares in some columns.
static std::vector<triangle> triangles_of(count_t n, count_t first_column, count_t last_column) {
    std::vector<triangle> triangles;
    for (count_t row = 0; row + 1 < n; ++row) {
        for (count_t column = first_column; column < last_column; ++column) {
            const count_t a = n * row + column, b = a + 1, c = a + n, d = c + 1;
            triangles.push_back({2 * a, {b, a, d}});
            triangles.push_back({2 * a + 1, {c, a, d}});
        }
    }
    return triangles;
}

// The matrix's entry (row, column): each node has places for the nodes it shares triangles with.
static count_t entry_of(count_t n, count_t row, count_t column) {
    const std::array<count_t, couplings_per_node> offsets{-n - 1, -n, -1, 0, 1, n, n + 1};
    const auto place = std::find(offsets.begin(), offsets.end(), column - row) - offsets.begin();
    return couplings_per_node * row + place;
}

// Stiffness, for a conductivity that differs between triangles.
static contributions stiffness(count_t n, std::span<const triangle> triangles) {
    constexpr std::array<std::array<double, 3>, 3> unit{
        {{1, -0.5, -0.5}, {-0.5, 0.5, 0}, {-0.5, 0, 0.5}}};
    contributions result;
    for (const auto& [number, nodes] : triangles) {
        const auto conductivity = static_cast<double>(1 + number % 5);
        for (std::size_t i = 0; i < 3; ++i) {
            for (std::size_t j = 0; j < 3; ++j) {
                result.indices.push_back(entry_of(n, nodes[i], nodes[j]));
                result.values.push_back(conductivity * unit[i][j]);
            }
        }
    }
    return result;
}

// Loads at a time, the same at the three nodes of a triangle.
static contributions loads(std::span<const triangle> triangles, count_t time) {
    contributions result;
    for (const auto& [number, nodes] : triangles) {
        result.indices.insert(result.indices.end(), nodes.begin(), nodes.end());
        result.values.insert(result.values.end(), 3, static_cast<double>((number + time) % 7));
    }
    return result;
}

static void add(const contributions& parts, std::vector<double>& sums) {
    for (std::size_t k = 0; k < parts.indices.size(); ++k) {
        sums[static_cast<std::size_t>(parts.indices[k])] += parts.values[k];
    }
}

// Whether what was assembled is what rank 0 assembles alone.
static bool is_as_serial(count_t n, std::span<const double> matrix, std::span<const double> load) {
    const auto triangles = triangles_of(n, 0, n - 1);
    std::vector<double> serial_matrix(matrix.size()), serial_load(load.size());
    add(stiffness(n, triangles), serial_matrix);
    for (count_t time = 0; time < num_steps; ++time) add(loads(triangles, time), serial_load);
    return std::equal(matrix.begin(), matrix.end(), serial_matrix.begin()) &&
           std::equal(load.begin(), load.end(), serial_load.begin());
}

static bool assemble(const crossdock::context& world, count_t n) {
    const auto rows = block_partition::blocks(n, world.num_ranks());
    const auto columns = block_partition::blocks(n - 1, world.num_ranks());
    const count_t num_nodes = n * rows.size(world.rank());
    const auto triangles =
        triangles_of(n, columns.first(world.rank()), columns.first(world.rank() + 1));

    // Whole rows of nodes, rather than parts as equal as possible.
    crossdock::distributed_array<double> matrix(world, couplings_per_node * n * n,
                                                {.num_local = couplings_per_node * num_nodes});
    const auto [indices, values] = stiffness(n, triangles);
    matrix.update(indices, values, crossdock::sum());

    crossdock::distributed_array<double> load(world, n * n, {.num_local = num_nodes});
    auto current = loads(triangles, 0);
    auto nodes = load.prepare(current.indices);
    for (count_t time = 0; time < num_steps; ++time) {
        nodes.start_update(current.values, crossdock::sum());
        auto next = loads(triangles, time + 1);
        nodes.wait();
        current = std::move(next);
    }

    const auto assembled_matrix = entries_on_rank_0(matrix, world);
    const auto assembled_load = entries_on_rank_0(load, world);
    matrix.close();
    load.close();
    return report(world, fmt::format("{} x {} nodes, {} triangles", n, n, 2 * (n - 1) * (n - 1)),
                  world.rank() != 0 || is_as_serial(n, assembled_matrix, assembled_load));
}

int main(int argc, char** argv) {
    CLI::App app("Assembles a finite-element matrix and load vector on a square grid");
    count_t n = 64;
    app.add_option("N", n, "nodes along each side")
        ->check(CLI::Range(2, 4096))
        ->capture_default_str();
    return run(app, argc, argv, [&](const auto& world) { return assemble(world, n); });
}
