// Direct stiffness summation on a mesh of hexahedra, as spectral-element codes do it in every step: elements have
// points of their own, and the copies of a point that several elements share get the sum of all.
//
//     order 2, 2 x 1 elements, seen from above; both have three copies of points of the other
//
//     1---2---3---4---5      element 0: 1 2 3 6 7 8 ...      ids from 1: 0 takes no part
//     |       |       |      element 1: 3 4 5 8 9 10 ...
//     6   7   8   9  10
//
// Here the mass of each element is summed, by the trapezoidal rule. Nobody says who owns a point. While the sums
// travel, the rank goes on with what needs none: its elements' inner points.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/program.hpp"
#include "crossdock/block_partition.hpp"
#include "crossdock/gather_scatter.hpp"

using namespace examples;

// A cube of n x n x n elements.
struct mesh {
    count_t n;
    count_t order;

    count_t points_along() const { return n * order + 1; }

    // Calls `use` with the place of each point of an element, and whether it lies inside the element.
    template <class Use>
    void for_each_point(count_t element, Use&& use) const {
        const std::array<count_t, 3> corner{element % n * order, element / n % n * order,
                                            element / n / n * order};
        const auto is_end = [&](count_t i) { return i == 0 || i == order; };
        for (count_t z = 0; z <= order; ++z)
            for (count_t y = 0; y <= order; ++y)
                for (count_t x = 0; x <= order; ++x)
                    use(std::array{corner[0] + x, corner[1] + y, corner[2] + z},
                        !is_end(x) && !is_end(y) && !is_end(z));
    }

    count_t id_of(const std::array<count_t, 3>& place) const {
        return 1 + place[0] + points_along() * (place[1] + points_along() * place[2]);
    }

    // In one element a point at an end of a direction has half of the mass of one in the middle.
    double mass_in_element(const std::array<count_t, 3>& place) const {
        double mass = 1;
        for (const count_t x : place) mass *= x % order == 0 ? 0.5 : 1;
        return mass;
    }

    // All elements together: half only at the end of the mesh.
    double mass(const std::array<count_t, 3>& place) const {
        double mass = 1;
        for (const count_t x : place) mass *= x == 0 || x + 1 == points_along() ? 0.5 : 1;
        return mass;
    }
};

static bool sum_mass(const crossdock::context& world, const mesh& cube) {
    const auto elements =
        crossdock::block_partition::blocks(cube.n * cube.n * cube.n, world.num_ranks());
    const count_t first = elements.first(world.rank()), last = elements.first(world.rank() + 1);
    std::vector<count_t> ids;
    std::vector<double> mass, expected;
    for (count_t e = first; e < last; ++e) {
        cube.for_each_point(e, [&](const auto& place, bool is_inside) {
            ids.push_back(is_inside ? 0 : cube.id_of(place));
            mass.push_back(cube.mass_in_element(place));
            expected.push_back(cube.mass(place));
        });
    }
    crossdock::gather_scatter shared(world, ids);
    shared.start(mass, crossdock::sum());
    double inner_mass = 0;
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] == 0) inner_mass += mass[i];
    shared.wait();
    const bool is_right = mass == expected;

    // The mass of all points, each once: of its copies one stays unflagged.
    crossdock::flag_duplicates(world, ids);
    double total = inner_mass;
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] > 0) total += mass[i];
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_DOUBLE, MPI_SUM, world.comm().get());
    const auto volume = static_cast<double>(cube.n * cube.order);
    return report(world,
                  fmt::format("{0} x {0} x {0} elements of order {1}, {2} on {3}, mass {4}", cube.n,
                              cube.order, shared.method(), shared.route(), total),
                  !on_any_rank(!is_right) && total == volume * volume * volume);
}

int main(int argc, char** argv) {
    CLI::App app("Sums the mass of the elements of a cube at the points that they share");
    mesh cube{4, 3};
    app.add_option("N", cube.n, "elements along each side")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    app.add_option("--order", cube.order, "of the elements")
        ->check(CLI::Range(1, 16))
        ->capture_default_str();
    return run(app, argc, argv, [&](const auto& world) { return sum_mass(world, cube); });
}
