// A matrix that is read has the shape that it says.
#include "fuzzed.hpp"
#include "tools/inputs/matrix.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crossdock;
    static fuzz::memory_file file;
    fuzz::read_or_refuse([&] {
        const auto matrix = read_matrix_market(file.holding(fuzz::text_of(data, size)));
        fuzz::require(static_cast<count_t>(matrix.row_offsets.size()) == matrix.num_rows + 1);
        fuzz::require(matrix.row_offsets.back() == static_cast<count_t>(matrix.columns.size()));
        fuzz::require(matrix.values.size() == matrix.columns.size());
        for (const count_t column : matrix.columns)
            fuzz::require(column >= 0 && column < matrix.num_columns);
    });
    return 0;
}
