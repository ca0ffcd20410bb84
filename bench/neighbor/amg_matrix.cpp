#include "bench/neighbor/amg_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace crossdock::bench {

namespace {

struct entry {
    count_t column;
    double value;
};

// Keeps the Laplacian regular; were it larger, the coarse levels would nearly be diagonal.
constexpr double diagonal_surplus = 1.0 / 1024;

using entry_rows = std::vector<std::vector<entry>>;

bool has_usable_values(const sparse_matrix& matrix) {
    if (matrix.field == matrix_field::pattern || matrix.field == matrix_field::complex)
        return false;
    for (count_t row = 0; row < matrix.num_rows; ++row) {
        const auto columns = matrix.row(row);
        const auto diagonal = std::lower_bound(columns.begin(), columns.end(), row);
        if (diagonal == columns.end() || *diagonal != row) return false;
        const count_t place =
            matrix.row_offsets[static_cast<std::size_t>(row)] + (diagonal - columns.begin());
        if (matrix.values[static_cast<std::size_t>(place)] == 0) return false;
    }
    return true;
}

entry_rows rows_of(const sparse_matrix& matrix) {
    entry_rows rows(static_cast<std::size_t>(matrix.num_rows));
    std::size_t k = 0;
    for (count_t row = 0; row < matrix.num_rows; ++row) {
        for (const count_t column : matrix.row(row))
            rows[static_cast<std::size_t>(row)].push_back({column, matrix.values[k++]});
    }
    return rows;
}

entry_rows laplacian_of(const sparse_matrix& matrix) {
    entry_rows rows(static_cast<std::size_t>(matrix.num_rows));
    for (count_t row = 0; row < matrix.num_rows; ++row) {
        for (const count_t column : matrix.row(row)) {
            if (column == row) continue;
            rows[static_cast<std::size_t>(row)].push_back({column, -1});
            rows[static_cast<std::size_t>(column)].push_back({row, -1});
        }
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
        auto& entries = rows[row];
        std::sort(entries.begin(), entries.end(),
                  [](const entry& a, const entry& b) { return a.column < b.column; });
        const auto last =
            std::unique(entries.begin(), entries.end(),
                        [](const entry& a, const entry& b) { return a.column == b.column; });
        entries.erase(last, entries.end());
        entries.push_back(
            {static_cast<count_t>(row), static_cast<double>(entries.size()) + diagonal_surplus});
    }
    return rows;
}

// The old rows in their new order: by owner, and else as they were.
std::vector<count_t> order_by_owner(const partition& owners) {
    std::vector<count_t> order(owners.row_owner.size());
    std::iota(order.begin(), order.end(), count_t{0});
    std::stable_sort(order.begin(), order.end(), [&](count_t a, count_t b) {
        return owners.row_owner[static_cast<std::size_t>(a)] <
               owners.row_owner[static_cast<std::size_t>(b)];
    });
    return order;
}

}  // namespace

workload make_amg_matrix(const workload& work) {
    const auto& given = work.matrix;
    if (!given.is_square()) {
        throw error(errc::invalid_argument,
                    fmt::format("multigrid needs a square matrix, this one has {} rows and {} "
                                "columns",
                                given.num_rows, given.num_columns));
    }
    auto rows = has_usable_values(given) ? rows_of(given) : laplacian_of(given);
    const auto order = order_by_owner(work.owners);
    std::vector<count_t> new_index(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        new_index[static_cast<std::size_t>(order[i])] = static_cast<count_t>(i);
    workload result;
    auto& [matrix, owners] = result;
    matrix.num_rows = matrix.num_columns = given.num_rows;
    owners.num_ranks = work.owners.num_ranks;
    for (const count_t row : order) {
        auto& entries = rows[static_cast<std::size_t>(row)];
        for (auto& one : entries) one.column = new_index[static_cast<std::size_t>(one.column)];
        std::sort(entries.begin(), entries.end(),
                  [](const entry& a, const entry& b) { return a.column < b.column; });
        for (const auto& [column, value] : entries) {
            matrix.columns.push_back(column);
            matrix.values.push_back(value);
        }
        matrix.row_offsets.push_back(static_cast<count_t>(matrix.columns.size()));
        owners.row_owner.push_back(work.owners.row_owner[static_cast<std::size_t>(row)]);
    }
    owners.column_owner = owners.row_owner;
    return result;
}

}  // namespace crossdock::bench
