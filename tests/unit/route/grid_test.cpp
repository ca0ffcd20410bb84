#include "src/route/grid.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "src/route/grid_shape.hpp"
#include "support.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::grid_test {
namespace {

using ranks = std::vector<rank_t>;
using test::thrown_by;

std::vector<rank_t> path(const std::string& name, rank_t num_ranks, rank_t source,
                         rank_t destination) {
    return test::path(*make_route(name, topology::one_region(num_ranks)), source, destination);
}

std::vector<rank_t> shape_of(const std::string& name, rank_t num_ranks) {
    const auto r = make_route(name, topology::one_region(num_ranks));
    return dynamic_cast<const grid_route&>(*r).shape();
}

errc code_of(const std::string& name, rank_t num_ranks) {
    return thrown_by([&] { return make_route(name, topology::one_region(num_ranks)); }).code();
}

/// MPI_Cart's row-major coordinates: the last one counts fastest.
ranks coordinates(rank_t rank, const ranks& shape) {
    ranks result(shape.size());
    for (std::size_t d = shape.size(); d-- > 0; rank /= shape[d]) result[d] = rank % shape[d];
    return result;
}

std::string text_of(const ranks& shape) { return fmt::format("grid:{}", fmt::join(shape, "x")); }

TEST(Grid, TravelsAsTheSmallExamplesDraw) {
    EXPECT_EQ(path("grid:2x2", 4, 0, 3), (ranks{0, 2, 3}));
    EXPECT_EQ(path("grid:2x3", 5, 2, 4), (ranks{2, 3, 4}));
}

TEST(Grid, HopTChangesCoordinateTAloneAsInMpiCart) {
    for (const ranks& shape : {ranks{4, 4}, {2, 3, 5}, {5, 3, 2}, {1, 6, 1, 2}, {3, 1, 3, 2}}) {
        const rank_t num_ranks = std::accumulate(shape.begin(), shape.end(), 1, std::multiplies{});
        for (rank_t source = 0; source < num_ranks; ++source) {
            for (rank_t destination = 0; destination < num_ranks; ++destination) {
                const auto hops = path(text_of(shape), num_ranks, source, destination);

                ranks expected = coordinates(source, shape);
                for (std::size_t t = 0; t < shape.size(); ++t) {
                    expected[t] = coordinates(destination, shape)[t];
                    ASSERT_EQ(coordinates(hops[t + 1], shape), expected)
                        << text_of(shape) << " " << source << " to " << destination;
                }
            }
        }
    }
}

TEST(Grid, TraversesDimensionsInTheOrderWritten) {
    EXPECT_EQ(path("grid:2x8", 16, 1, 14), (ranks{1, 9, 14}));
    EXPECT_EQ(path("grid:8x2", 16, 1, 14), (ranks{1, 15, 14}));
}

TEST(Grid, TakesAnyNumberOfRanksUpToTheProduct) {
    EXPECT_EQ(path("grid:3x3", 7, 2, 6), (ranks{2, 5, 6}));  // blocks 0-2, 3-4, 5-6
    EXPECT_EQ(path("grid:3x3", 7, 6, 2), (ranks{6, 1, 2}));
    EXPECT_EQ(path("grid:5x5", 2, 0, 1), (ranks{0, 1, 1}));
}

TEST(Grid, BoundsMessagesByTheSumOfItsDimensions) {
    const auto bound = [](const std::string& name) {
        return make_route(name, topology::one_region(16))->max_messages_per_rank();
    };

    EXPECT_EQ(bound("grid:4x4"), 6);
    EXPECT_EQ(bound("grid:2x8"), 8);
    EXPECT_EQ(bound("grid:2x2x2x2"), 4);
    EXPECT_EQ(bound("grid:1"), 15);
}

TEST(Grid, BalancesASingleNumberOfDimensions) {
    EXPECT_EQ(shape_of("grid:3", 100), (ranks{5, 5, 4}));
    EXPECT_EQ(shape_of("grid:31", 2), balanced_shape(2, 31));
}

TEST(Grid, RefusesShapesThatAreNone) {
    std::string ones = "grid:1";
    for (int i = 1; i < 32; ++i) ones += "x1";
    EXPECT_EQ(code_of(ones, 1), errc::invalid_route);
    EXPECT_EQ(code_of("grid:65536x1", 65537), errc::invalid_route);
    for (const char* name :
         {"grid", "grid:", "grid:4x", "grid:x4", "grid:2xtwo", "grid:0x8", "grid:-2", "grid:2 x2",
          "grid:2x2", "grid:32", "equal", "equal:0", "equal:2x2", "equal:32"})
        EXPECT_EQ(code_of(name, 5), errc::invalid_route) << name;
    for (const char* name : {"grid:2147483648", "grid:2x3:mapped", "equal:2:2", "hypercube:3"})
        EXPECT_EQ(code_of(name, 5), errc::invalid_route) << name;
}

TEST(Grid, TakesDimensionsWhoseProductOverflows) {
    EXPECT_EQ(path("grid:2147483647x2147483647x2147483647", 3, 0, 2), (ranks{0, 2, 2, 2}));
}

TEST(Hypercube, HasOneDimensionPerBit) {
    for (rank_t num_ranks = 1; num_ranks <= 33; ++num_ranks) {
        const auto r = make_route("hypercube", topology::one_region(num_ranks));

        const int bits = static_cast<int>(std::bit_width(static_cast<unsigned>(num_ranks - 1)));
        EXPECT_EQ(r->num_stages(), bits) << num_ranks;
        EXPECT_EQ(r->max_messages_per_rank(), bits) << num_ranks;
    }
}

TEST(Hypercube, CorrectsBitsFromTheHighestOn) {
    EXPECT_EQ(path("hypercube", 8, 0, 7), (ranks{0, 4, 6, 7}));
    EXPECT_EQ(path("hypercube", 32, 21, 10), (ranks{21, 5, 13, 9, 11, 10}));
}

TEST(NamedGrid, EqualHasTheShapeOfGrid) {
    for (const rank_t num_ranks : {1, 2, 5, 7, 16, 20, 32, 64, 1000, 1024}) {
        for (const char* n : {"1", "2", "3", "31"}) {
            EXPECT_EQ(shape_of(fmt::format("equal:{}", n), num_ranks),
                      shape_of(fmt::format("grid:{}", n), num_ranks))
                << num_ranks;
        }
    }
    EXPECT_EQ(shape_of("equal:3", 100), (ranks{5, 5, 4}));
}

TEST(NamedGrid, ShareOutTheBitsInDifferentOrders) {
    struct shapes {
        rank_t num_ranks;
        ranks increase, hourglass, inverse_hourglass;
    };
    for (const auto& [num_ranks, increase, hourglass, inverse] :
         {shapes{1, {}, {}, {}}, shapes{2, {2}, {2}, {2}}, shapes{5, {2, 4}, {4, 2}, {4, 2}},
          shapes{7, {2, 4}, {4, 2}, {4, 2}}, shapes{16, {2, 8}, {4, 4}, {4, 4}},
          shapes{20, {4, 8}, {4, 2, 4}, {2, 4, 4}}, shapes{32, {4, 8}, {4, 2, 4}, {2, 4, 4}},
          shapes{64, {2, 4, 8}, {4, 2, 2, 4}, {2, 4, 4, 2}},
          shapes{1000, {2, 4, 8, 16}, {8, 4, 4, 8}, {4, 8, 8, 4}}}) {
        EXPECT_EQ(shape_of("increase", num_ranks), increase) << num_ranks;
        EXPECT_EQ(shape_of("hourglass", num_ranks), hourglass) << num_ranks;
        EXPECT_EQ(shape_of("inverse_hourglass", num_ranks), inverse) << num_ranks;
    }
    EXPECT_EQ(shape_of("increase", 2147483647), (ranks{2, 4, 8, 16, 64, 128, 256}));
    EXPECT_EQ(shape_of("hourglass", 4096), (ranks{8, 4, 2, 2, 4, 8}));
}

TEST(NamedGrid, DecreaseIsIncreaseBackwards) {
    for (rank_t num_ranks = 1; num_ranks <= 1024; ++num_ranks) {
        ranks backwards = shape_of("decrease", num_ranks);
        std::ranges::reverse(backwards);

        ASSERT_EQ(backwards, shape_of("increase", num_ranks)) << num_ranks;
    }
}

TEST(NamedGrid, SharesOutTheBitsOfTheHypercube) {
    for (rank_t num_ranks = 1; num_ranks <= 1025; ++num_ranks) {
        const auto bits = std::bit_width(static_cast<unsigned>(num_ranks - 1));
        for (const char* name : {"increase", "decrease", "hourglass", "inverse_hourglass"}) {
            const ranks shape = shape_of(name, num_ranks);

            ASSERT_EQ(std::accumulate(shape.begin(), shape.end(), 1, std::multiplies{}), 1 << bits)
                << name << ' ' << num_ranks;
        }
    }
}

TEST(NamedGrid, TravelsAsTheGridOfItsShape) {
    EXPECT_EQ(path("increase", 16, 1, 14), path("grid:2x8", 16, 1, 14));
    EXPECT_EQ(path("decrease", 16, 1, 14), (ranks{1, 15, 14}));
    EXPECT_EQ(path("hourglass", 7, 6, 1), path("grid:4x2", 7, 6, 1));
    EXPECT_EQ(path("increase", 1, 0, 0), (ranks{0}));
}

TEST(BalancedShape, SharesTheBitsOfAPowerOfTwo) {
    EXPECT_EQ(balanced_shape(64, 2), (ranks{8, 8}));
    EXPECT_EQ(balanced_shape(32, 2), (ranks{8, 4}));
    EXPECT_EQ(balanced_shape(256, 3), (ranks{8, 8, 4}));
    EXPECT_EQ(balanced_shape(128, 3), (ranks{8, 4, 4}));
    EXPECT_EQ(balanced_shape(16384, 14), ranks(14, 2));
    EXPECT_EQ(balanced_shape(4, 3), (ranks{2, 2, 1}));
    EXPECT_EQ(balanced_shape(1, 3), (ranks{1, 1, 1}));
}

TEST(BalancedShape, LowersTheLastDimensionsOfOtherNumbers) {
    EXPECT_EQ(balanced_shape(6, 1), (ranks{6}));
    EXPECT_EQ(balanced_shape(5, 2), (ranks{3, 2}));
    EXPECT_EQ(balanced_shape(7, 2), (ranks{3, 3}));
    EXPECT_EQ(balanced_shape(12, 2), (ranks{4, 3}));
    EXPECT_EQ(balanced_shape(10, 3), (ranks{3, 2, 2}));
    EXPECT_EQ(balanced_shape(100, 3), (ranks{5, 5, 4}));
    EXPECT_EQ(balanced_shape(3, 4), (ranks{2, 2, 1, 1}));
}

TEST(BalancedShape, HoldsAllRanksInDimensionsThatDifferByAtMostAFactorOfTwo) {
    for (rank_t num_ranks = 1; num_ranks <= 300; ++num_ranks) {
        for (int n = 1; n <= 9; ++n) {
            const auto shape = balanced_shape(num_ranks, n);

            ASSERT_EQ(shape.size(), static_cast<std::size_t>(n));
            ASSERT_GE(std::accumulate(shape.begin(), shape.end(), count_t{1}, std::multiplies{}),
                      num_ranks);
            ASSERT_TRUE(std::is_sorted(shape.rbegin(), shape.rend()));
            ASSERT_LE(shape.front(), 2 * shape.back());
        }
    }
}

}  // namespace
}  // namespace crossdock::grid_test
