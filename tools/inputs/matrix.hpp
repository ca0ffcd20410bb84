/// @file
/// @brief Sparse matrices: reading them, and multiplying them with a vector.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief The kind of a matrix's entries, as Matrix Market names it.
enum class matrix_field { real, integer, complex, pattern };

/// @brief The real or the imaginary part of a complex matrix.
enum class complex_part { real, imaginary };

/// @brief A sparse matrix by rows (CSR); columns ascend strictly within a row.
///
///     [ 5 . 7 ]    row_offsets  0 2 2 3
///     [ . . . ]    columns      0 2 1
///     [ . 8 . ]    values       5 7 8
struct sparse_matrix {
    count_t num_rows = 0;
    count_t num_columns = 0;
    std::vector<count_t> row_offsets{0};
    std::vector<count_t> columns;
    std::vector<double> values;     ///< real parts; 1 where the field is `pattern`
    std::vector<double> imaginary;  ///< imaginary parts; empty unless the field is `complex`
    matrix_field field = matrix_field::real;

    count_t num_entries() const noexcept { return row_offsets.back(); }
    bool is_square() const noexcept { return num_rows == num_columns; }

    /// @brief The columns of one row.
    std::span<const count_t> row(count_t row) const {
        const auto first = row_offsets.begin() + row;
        return {columns.begin() + first[0], columns.begin() + first[1]};
    }

    friend bool operator==(const sparse_matrix&, const sparse_matrix&) = default;
};

/// @brief Reads a Matrix Market file, plain or gzip; the content decides which, not the name.
///
/// Symmetric, skew-symmetric and hermitian files store one triangle; the result is the full matrix.
/// Files in coordinate format are read; dense files (`array`) are refused.
/// @throws error(errc::file_error)     the file is missing or unreadable
/// @throws error(errc::parse_error)    the file is truncated; an entry is outside the matrix,
///          repeated or missing; text follows the entries; the field does not allow the symmetry;
///          or a dimension is above 2^20 + 64 times the bytes of the text, which only a damaged
///          header has
/// @throws error(errc::out_of_memory)  the matrix does not fit into memory
/// @par Complexity
/// O(n log n) for n entries in the full matrix.
sparse_matrix read_matrix_market(const std::string& path);

/// @brief Computes the real or imaginary part of y = A x serially, as a reference for distributed
/// products.
/// @throws error(errc::size_mismatch)  `x` is not `num_columns` long
std::vector<double> multiply(const sparse_matrix& matrix, std::span<const double> x,
                             complex_part part = complex_part::real);

}  // namespace crossdock
