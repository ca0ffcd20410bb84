#include "matrix.hpp"

#include <fmt/format.h>

namespace crossdock {

std::vector<double> multiply(const sparse_matrix& matrix, std::span<const double> x,
                             complex_part part) {
    if (!std::in_range<count_t>(x.size()) || static_cast<count_t>(x.size()) != matrix.num_columns) {
        throw error(errc::size_mismatch,
                    fmt::format("a matrix with {} columns cannot be multiplied with {} values",
                                matrix.num_columns, x.size()));
    }
    std::vector<double> y(static_cast<std::size_t>(matrix.num_rows), 0.0);
    const auto& values = part == complex_part::real ? matrix.values : matrix.imaginary;
    if (values.empty()) return y;
    for (std::size_t row = 0; row < y.size(); ++row) {
        const auto end = static_cast<std::size_t>(matrix.row_offsets[row + 1]);
        for (auto k = static_cast<std::size_t>(matrix.row_offsets[row]); k < end; ++k) {
            y[row] += values[k] * x[static_cast<std::size_t>(matrix.columns[k])];
        }
    }
    return y;
}

}  // namespace crossdock
