// What a build says that does without an optional part.
#include <gtest/gtest.h>

#include "support/thrown_by.hpp"
#include "tools/inputs/generate.hpp"
#include "tools/inputs/matrix.hpp"
#include "tools/inputs/partition.hpp"

namespace crossdock::inputs_without_test {

namespace {

// Row r of n has an entry in column r.
sparse_matrix diagonal(count_t n) {
    sparse_matrix matrix;
    matrix.num_rows = matrix.num_columns = n;
    for (count_t row = 0; row < n; ++row) {
        matrix.columns.push_back(row);
        matrix.row_offsets.push_back(row + 1);
    }
    return matrix;
}

// The fault names the option of CMake that builds the part.
template <class Call>
void expect_refused(errc code, const std::string& option, Call call) {
    const auto fault = test::thrown_by(call);

    EXPECT_EQ(fault.code(), code);
    EXPECT_NE(std::string(fault.what()).find(option + "=ON"), std::string::npos) << fault.what();
}

TEST(InputsWithout, PartsThatAreLeftOutAreRefused) {
    expect_refused(errc::invalid_argument, "CROSSDOCK_WITH_METIS",
                   [] { make_partition(diagonal(4), "metis", 2); });
    for (const auto model : {graph_model::rmat, graph_model::rgg, graph_model::gnm}) {
        expect_refused(errc::invalid_argument, "CROSSDOCK_WITH_GENERATORS", [&] {
            generate_edges({.model = model, .num_vertices = 8, .num_edges = 8}, 0, 1);
        });
    }
}

TEST(InputsWithout, OtherPartitionsAreMade) {
    EXPECT_EQ(make_partition(diagonal(4), "block", 2).row_owner, (std::vector<rank_t>{0, 0, 1, 1}));
}

}  // namespace

}  // namespace crossdock::inputs_without_test
