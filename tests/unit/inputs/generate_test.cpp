#include "tools/inputs/generate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "support/thrown_by.hpp"
#include "tools/inputs/geometric.hpp"
#include "tools/inputs/rmat.hpp"

namespace crossdock::generate_test {
namespace {

using test::thrown_by;
using counts = std::vector<count_t>;
using edges = std::vector<edge>;

constexpr graph_model all_models[] = {graph_model::rmat, graph_model::rgg, graph_model::gnm};

/// The edges of rank 0, 1, ... in a row.
edges joined(const graph_spec& spec, rank_t num_ranks) {
    edges all;
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        const edges part = generate_edges(spec, rank, num_ranks);
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

/// Every pair of points compared.
edges close_pairs(const std::vector<point>& points, double radius) {
    edges close;
    for (std::size_t u = 0; u < points.size(); ++u) {
        for (std::size_t v = u + 1; v < points.size(); ++v) {
            const double dx = points[u].x - points[v].x;
            const double dy = points[u].y - points[v].y;
            if (dx * dx + dy * dy >= radius * radius) continue;
            close.push_back({static_cast<count_t>(u), static_cast<count_t>(v)});
        }
    }
    return close;
}

TEST(GenerateEdges, IsTheSameGraphForEveryNumberOfRanks) {
    for (const graph_model model : all_models) {
        for (const count_t num_vertices : {1000, 1024}) {
            const graph_spec spec{model, num_vertices, 5003, 7};
            const edges whole = generate_edges(spec, 0, 1);

            for (const rank_t num_ranks : {2, 5, 8, 1500}) {
                EXPECT_EQ(joined(spec, num_ranks), whole) << to_string(model) << num_ranks;
            }
        }
    }
}

TEST(GenerateEdges, MakesTheSameGraphOnAllPlatforms) {
    EXPECT_EQ(generate_edges({graph_model::rmat, 10, 6, 1}, 0, 1),
              (edges{{9, 2}, {1, 1}, {7, 8}, {0, 9}, {2, 7}, {2, 0}}));
    EXPECT_EQ(generate_edges({graph_model::gnm, 10, 6, 1}, 0, 1),
              (edges{{7, 6}, {3, 8}, {9, 0}, {4, 1}, {7, 6}, {3, 6}}));
    EXPECT_EQ(generate_edges({graph_model::rgg, 10, 6, 1}, 0, 1),
              (edges{{0, 1}, {2, 4}, {2, 9}, {5, 6}, {5, 8}, {6, 7}, {6, 8}}));
    EXPECT_EQ(vertex_points({graph_model::rgg, 10, 6, 1}, {2, 3}),
              (std::vector<point>{{0x1.b431e267c6916p-2, 0x1.a71912a6058d9p-1}}));
}

TEST(GenerateEdges, StaysWithinTheVertices) {
    for (const graph_model model : {graph_model::rmat, graph_model::gnm}) {
        for (const count_t num_vertices : {1, 2, 3, 5, 129}) {
            const edges all = generate_edges({model, num_vertices, 20000}, 0, 1);

            count_t largest = 0;
            count_t smallest = num_vertices;
            for (const edge& e : all) {
                largest = std::max({largest, e.from, e.to});
                smallest = std::min({smallest, e.from, e.to});
            }
            EXPECT_EQ(smallest, 0);
            EXPECT_EQ(largest, num_vertices - 1);
        }
    }
}

TEST(GenerateEdges, MakesAPartOfAHugeGraph) {
    const count_t num_vertices = count_t{1} << 40;
    const index_range mine = block_of(num_vertices, 3, 1 << 30);

    for (const graph_model model : all_models) {
        const edges part = generate_edges({model, num_vertices, 8 * num_vertices}, 3, 1 << 30);

        EXPECT_GT(part.size(), 7000U);
        EXPECT_LT(part.size(), 9400U);
        if (model != graph_model::rgg) continue;
        EXPECT_TRUE(std::all_of(part.begin(), part.end(), [&](const edge& e) {
            return e.from >= mine.first && e.from < mine.last && e.to > e.from;
        }));
    }
}

TEST(GenerateEdges, WithoutEdgesIsEmpty) {
    for (const graph_model model : all_models) {
        EXPECT_EQ(generate_edges({model, 1, 0}, 1, 3), edges{});
        EXPECT_EQ(generate_edges({model, 50, 0}, 0, 3), edges{});
    }
}

TEST(GeometricGraph, JoinsExactlyThoseThatAreClose) {
    for (const count_t num_edges : {1, 400, 4000, 100000, 480000}) {
        const graph_spec spec{graph_model::rgg, 1000, num_edges, 3};
        const auto points = vertex_points(spec, {0, 1000});

        EXPECT_EQ(generate_edges(spec, 0, 1),
                  close_pairs(points, connection_radius(1000, num_edges)));
    }
}

TEST(GeometricGraph, HasAboutAsManyEdgesAsWanted) {
    const count_t wanted = 160000;

    const edges all = generate_edges({graph_model::rgg, 20000, wanted, 1}, 0, 1);

    EXPECT_NEAR(static_cast<double>(all.size()), static_cast<double>(wanted), 2000);
}

TEST(GeometricGraph, SpreadsItsPointsEvenly) {
    const auto points = vertex_points({graph_model::rgg, 64000, 1000, 5}, {0, 64000});

    std::array<int, 64> in_square{};
    for (const point& p : points) {
        ASSERT_TRUE(p.x >= 0 && p.x < 1 && p.y >= 0 && p.y < 1);
        ++in_square[static_cast<std::size_t>(p.x * 8) * 8 + static_cast<std::size_t>(p.y * 8)];
    }
    double chi_squared = 0;
    for (const int number : in_square) chi_squared += (number - 1000) * (number - 1000) / 1000.0;
    EXPECT_GT(chi_squared, 30);  // 63 are expected; so far off are less than 1 of 1000 seeds
    EXPECT_LT(chi_squared, 105);
}

TEST(GeometricGraph, KeepsABlockOfVerticesTogether) {
    const graph_spec spec{graph_model::rgg, 4096, 30000, 1};
    const index_range block = block_of(4096, 5, 16);

    const auto points = vertex_points(spec, block);

    const auto [left, right] = std::minmax_element(points.begin(), points.end(),
                                                   [](auto& a, auto& b) { return a.x < b.x; });
    const auto [low, high] = std::minmax_element(points.begin(), points.end(),
                                                 [](auto& a, auto& b) { return a.y < b.y; });
    EXPECT_LE(right->x - left->x, 0.5);
    EXPECT_LE(high->y - low->y, 0.5);
}

TEST(GeometricGraph, TossesFairCoins) {
    for (const count_t tosses : {0, 1, 63, 64, 65, 255, 256, 257, 10001}) {
        const int num_draws = 20000;
        double sum = 0;
        double sum_of_squares = 0;
        for (int i = 0; i < num_draws; ++i) {
            const count_t heads = heads_among(tosses, 1, static_cast<std::uint64_t>(i));
            ASSERT_TRUE(heads >= 0 && heads <= tosses);
            const double excess = static_cast<double>(2 * heads - tosses);
            sum += excess;
            sum_of_squares += excess * excess;
        }

        // Of a fair coin the squares are `tosses` on average; five standard deviations are allowed.
        const auto expected = static_cast<double>(tosses);
        EXPECT_NEAR(sum / num_draws, 0, 5 * std::sqrt(expected / num_draws)) << tosses;
        EXPECT_NEAR(sum_of_squares / num_draws, expected, 5 * expected * std::sqrt(2.0 / num_draws))
            << tosses;
    }
}

TEST(Rmat, FallsIntoQuadrantsAsItsParametersSay) {
    const rmat_graph graph(1 << 10, 1);

    std::array<int, 4> edges_in{};
    for (count_t i = 0; i < 100000; ++i) {
        const edge e = graph.unscrambled(i);
        ++edges_in[static_cast<std::size_t>(2 * (e.from >> 9) + (e.to >> 9))];
    }

    EXPECT_EQ(edges_in, (std::array<int, 4>{56686, 19182, 19182, 4950}));
}

TEST(Rmat, ScramblesEveryVertexToAnother) {
    for (const count_t num_vertices : {1, 2, 3, 7, 8, 1000, 1024, 1025}) {
        const rmat_graph graph(num_vertices, 1);

        counts numbers;
        for (count_t v = 0; v < num_vertices; ++v) numbers.push_back(graph.scrambled(v));

        std::sort(numbers.begin(), numbers.end());
        counts all(static_cast<std::size_t>(num_vertices));
        std::iota(all.begin(), all.end(), 0);
        EXPECT_EQ(numbers, all);
    }
}

TEST(ConnectionRadius, GivesTheWantedNumberOfPairs) {
    EXPECT_EQ(connection_radius(1000, 0), 0);
    // 4000 of 499500 pairs: r^2 (pi - 8/3 r + r^2/2) = 0.0080...
    const double r = connection_radius(1000, 4000);
    EXPECT_NEAR(499500 * r * r * (3.14159265358979 - 8.0 / 3.0 * r + r * r / 2), 4000, 1e-6);
}

TEST(BlockOf, PutsTheLargerOnesFirst) {
    EXPECT_EQ(block_of(8, 0, 3), (index_range{0, 3}));
    EXPECT_EQ(block_of(8, 1, 3), (index_range{3, 6}));
    EXPECT_EQ(block_of(8, 2, 3), (index_range{6, 8}));
    EXPECT_EQ(block_of(1, 4, 5), (index_range{1, 1}));
}

TEST(GraphModel, IsReadBackByName) {
    for (const graph_model model : all_models)
        EXPECT_EQ(parse_graph_model(to_string(model)), model);
    EXPECT_EQ(to_string(graph_model::rgg), "rgg");
    EXPECT_EQ(thrown_by([] { parse_graph_model("tree"); }).code(), errc::invalid_argument);
}

TEST(GenerateEdges, RefusesWhatItCannotDo) {
    const auto code_of = [](const graph_spec& spec, rank_t rank, rank_t num_ranks) {
        return thrown_by([&] { generate_edges(spec, rank, num_ranks); }).code();
    };

    EXPECT_EQ(code_of({graph_model::gnm, 0, 1}, 0, 1), errc::invalid_argument);
    EXPECT_EQ(code_of({graph_model::rmat, 4, -1}, 0, 1), errc::invalid_argument);
    EXPECT_EQ(code_of({graph_model::rmat, 4, 5}, 0, 0), errc::invalid_argument);
    EXPECT_EQ(code_of({graph_model::rgg, 4, 5}, 2, 2), errc::rank_out_of_range);
    EXPECT_EQ(code_of({graph_model::rgg, 4, 6}, 0, 1), errc::invalid_argument);  // too many
}

TEST(VertexPoints, AreThoseOfTheModelsVertices) {
    EXPECT_EQ(thrown_by([] {
                  vertex_points({graph_model::gnm, 4, 5}, {0, 4});
              }).code(),
              errc::invalid_argument);
    EXPECT_EQ(thrown_by([] {
                  vertex_points({graph_model::rgg, 4, 5}, {3, 5});
              }).code(),
              errc::index_out_of_range);
}

}  // namespace
}  // namespace crossdock::generate_test
