// y = A x, where a rank has some rows of A in CSR, with global columns, and the same rows of x. While the
// ghosts are on their way, the ranks add x up, and multiply the rows that need none. A is the Laplacian of
// a grid of 24 x 24 points, and x_i = i. Fails unless y and the sum are right.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

#include "crossdock/crossdock.hpp"

using crossdock::count_t;

constexpr count_t side = 24, num_points = side * side;

struct csr_rows {
    std::vector<std::size_t> starts{0};  // row i has the entries starts[i] … starts[i + 1] - 1
    std::vector<count_t> columns;
    std::vector<double> values;
};

static csr_rows laplacian(count_t first_row, count_t num_rows) {
    csr_rows a;
    const auto add = [&](count_t column, double value) {
        a.columns.push_back(column);
        a.values.push_back(value);
    };
    for (count_t row = first_row; row < first_row + num_rows; ++row) {
        if (row >= side) add(row - side, -1);
        if (row % side > 0) add(row - 1, -1);
        add(row, 4);
        if (row % side < side - 1) add(row + 1, -1);
        if (row < num_points - side) add(row + side, -1);
        a.starts.push_back(a.columns.size());
    }
    return a;
}

static bool product_is_right() {
    crossdock::context world(MPI_COMM_WORLD);
    const count_t first = num_points * world.rank() / world.num_ranks();
    const count_t num_rows = num_points * (world.rank() + 1) / world.num_ranks() - first;
    const csr_rows a = laplacian(first, num_rows);

    const auto local = crossdock::renumber_columns(first, num_rows, a.columns);
    const auto pattern = crossdock::pattern_from_needed(world, first, num_rows, local.ghosts);
    crossdock::neighbor_exchange halo(world, pattern);

    std::vector<double> y(a.starts.size() - 1), x(y.size() + local.ghosts.size());
    const auto own = std::span(x).first(y.size()), ghosts = std::span(x).subspan(y.size());
    std::iota(own.begin(), own.end(), static_cast<double>(first));

    const auto multiply = [&](bool with_ghosts) {
        for (std::size_t row = 0; row < y.size(); ++row) {
            const auto begin = a.starts[row], end = a.starts[row + 1];
            const std::span columns(local.columns.data() + begin, end - begin);
            const bool needs_ghosts = *std::max_element(columns.begin(), columns.end()) >= num_rows;
            if (needs_ghosts != with_ghosts) continue;
            for (std::size_t k = begin; k < end; ++k)
                y[row] += a.values[k] * x[static_cast<std::size_t>(local.columns[k])];
        }
    };

    halo.start(own, ghosts);
    double sum = std::accumulate(own.begin(), own.end(), 0.0);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    multiply(false);
    halo.wait();
    multiply(true);

    int is_right = sum == num_points * (num_points - 1) / 2;
    for (std::size_t row = 0; row < y.size(); ++row) {
        double expected = 0;
        for (std::size_t k = a.starts[row]; k < a.starts[row + 1]; ++k)
            expected += a.values[k] * static_cast<double>(a.columns[k]);
        is_right &= y[row] == expected;
    }
    MPI_Allreduce(MPI_IN_PLACE, &is_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (world.rank() == 0)
        std::printf("y is %s; the route is %s\n", is_right ? "right" : "WRONG",
                    halo.plan().route().c_str());
    world.close();
    return is_right != 0;
}

int main(int argc, char** argv) {
    crossdock::report_uncaught();
    MPI_Init(&argc, &argv);
    const bool is_right = product_is_right();
    MPI_Finalize();
    return is_right ? 0 : 1;
}
