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

TEST(InputsWithout, MetisIsRefused) {
    const auto fault = test::thrown_by([] { make_partition(diagonal(4), "metis", 2); });

    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_STREQ(fault.what(),
                 "crossdock was built without METIS, and the partition metis needs it; "
                 "CROSSDOCK_WITH_METIS=ON builds it with METIS");
}

TEST(InputsWithout, OtherPartitionsAreMade) {
    EXPECT_EQ(make_partition(diagonal(4), "block", 2).row_owner, (std::vector<rank_t>{0, 0, 1, 1}));
}

TEST(InputsWithout, FilesAreRefused) {
    const auto fault = test::thrown_by([] { read_matrix_market("a.mtx"); });

    EXPECT_EQ(fault.code(), errc::file_error);
    EXPECT_STREQ(fault.what(),
                 "crossdock was built without Matrix Market files, and cannot read a.mtx; "
                 "CROSSDOCK_WITH_MATRIX_MARKET=ON builds it with them");
}

TEST(InputsWithout, RandomGraphsAreRefused) {
    for (const auto model : {graph_model::rmat, graph_model::rgg, graph_model::gnm}) {
        const auto fault = test::thrown_by(
            [&] { generate_edges({.model = model, .num_vertices = 8, .num_edges = 8}, 0, 1); });

        EXPECT_EQ(fault.code(), errc::invalid_argument);
        EXPECT_STREQ(fault.what(),
                     "crossdock was built without random graphs; CROSSDOCK_WITH_GENERATORS=ON "
                     "builds it with them");
    }
}

}  // namespace

}  // namespace crossdock::inputs_without_test
