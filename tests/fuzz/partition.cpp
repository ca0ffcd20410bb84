// The first line is a partition's text, or empty: then the rest is a file of owners.
#include "tools/inputs/partition.hpp"
#include "fuzzed.hpp"

namespace {

crossdock::sparse_matrix diagonal(crossdock::count_t num_rows, crossdock::count_t num_columns) {
    crossdock::sparse_matrix matrix;
    matrix.num_rows = num_rows;
    matrix.num_columns = num_columns;
    for (crossdock::count_t row = 0; row < num_rows; ++row) {
        matrix.columns.push_back(row % num_columns);
        matrix.row_offsets.push_back(row + 1);
    }
    matrix.values.assign(matrix.columns.size(), 1.0);
    return matrix;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crossdock;
    static fuzz::memory_file file;
    static const sparse_matrix matrices[] = {diagonal(6, 6), diagonal(5, 3)};
    auto text = fuzz::text_of(data, size);
    std::string spec(fuzz::take_line(text));
    if (spec.find('/') != std::string::npos) return 0;  // other files are none of its business
    if (spec.empty()) spec = "file:" + file.holding(text);
    for (const auto& matrix : matrices) {
        fuzz::read_or_refuse([&] {
            const auto owners = make_partition(matrix, spec, 4);
            fuzz::require(static_cast<count_t>(owners.row_owner.size()) == matrix.num_rows);
            fuzz::require(static_cast<count_t>(owners.column_owner.size()) == matrix.num_columns);
            for (const rank_t owner : owners.row_owner) fuzz::require(owner >= 0 && owner < 4);
        });
    }
    return 0;
}
