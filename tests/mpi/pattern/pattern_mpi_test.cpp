#include "crossdock/make_pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "support/all_ranks.hpp"
#include "support/project_file.hpp"
#include "support/thrown_by.hpp"
#include "tools/inputs/halo.hpp"

namespace crossdock::pattern_mpi_test {
namespace {

using counts = std::vector<count_t>;
using ranks = std::vector<rank_t>;

constexpr count_t greatest_count = std::numeric_limits<count_t>::max();

std::size_t as_size(count_t n) { return static_cast<std::size_t>(n); }

neighbor_list list_of(std::initializer_list<std::pair<rank_t, counts>> entries) {
    neighbor_list result;
    for (const auto& [rank, indices] : entries) result.append(rank, indices);
    return result;
}

template <class Call>
void expect_error(Call call, errc code, const std::string& message, rank_t rank) {
    const error caught = test::thrown_by(call);
    EXPECT_EQ(caught.code(), code);
    EXPECT_NE(std::string_view(caught.what()).find(message), std::string::npos) << caught.what();
    EXPECT_EQ(caught.rank(), rank);
}

/// What each rank owns and needs, known to all, and the pattern of one rank found by looking.
struct ownership {
    std::vector<counts> owned;
    std::vector<counts> needed;

    explicit ownership(rank_t num_ranks) : owned(as_size(num_ranks)), needed(as_size(num_ranks)) {}

    neighbor_list list(rank_t reader, rank_t owner, bool is_send) const {
        const counts& items = owned[as_size(owner)];
        const counts& indices = needed[as_size(reader)];
        counts found;
        for (std::size_t item = 0; item < items.size(); ++item) {
            for (std::size_t slot = 0; slot < indices.size(); ++slot) {
                if (indices[slot] == items[item])
                    found.push_back(static_cast<count_t>(is_send ? item : slot));
            }
        }
        neighbor_list result;
        if (!found.empty()) result.append(is_send ? reader : owner, found);
        return result;
    }

    pattern of(rank_t rank) const {
        const auto num_ranks = static_cast<rank_t>(owned.size());
        pattern result{.rank = rank,
                       .num_ranks = num_ranks,
                       .num_items = static_cast<count_t>(owned[as_size(rank)].size()),
                       .num_slots = static_cast<count_t>(needed[as_size(rank)].size()),
                       .sends = {},
                       .receives = {}};
        for (rank_t other = 0; other < num_ranks; ++other) {
            const neighbor_list sends = list(other, rank, true);
            const neighbor_list receives = list(rank, other, false);
            if (sends.size() > 0) result.sends.append(other, sends[0]);
            if (receives.size() > 0) result.receives.append(other, receives[0]);
        }
        return result;
    }
};

class FromNeeded : public test::AllRanks {
  protected:
    pattern found(const ownership& all) const {
        return pattern_from_needed(comm, mine(all.owned), mine(all.needed));
    }
};

TEST_F(FromNeeded, FindsWhatTheCommentDraws) {
    if (num_ranks < 2) GTEST_SKIP() << "needs two ranks";
    const counts needed = rank == 0 ? counts{3, 2} : rank == 1 ? counts{1} : counts{};

    const pattern found = pattern_from_needed(comm, 2 * rank, rank < 2 ? 2 : 0, needed);

    if (rank == 0) {
        EXPECT_EQ(found.sends, list_of({{1, {1}}}));
        EXPECT_EQ(found.receives, list_of({{1, {1, 0}}}));
    } else if (rank == 1) {
        EXPECT_EQ(found.sends, list_of({{0, {0, 1}}}));
        EXPECT_EQ(found.receives, list_of({{0, {0}}}));
    } else {
        EXPECT_EQ(found.sends, neighbor_list{});
        EXPECT_EQ(found.receives, neighbor_list{});
    }
    EXPECT_EQ(found.num_items, rank < 2 ? 2 : 0);
    EXPECT_EQ(found.num_slots, static_cast<count_t>(needed.size()));
}

TEST_F(FromNeeded, NothingOwnedAndNothingNeededIsAnEmptyPattern) {
    const pattern expected{.rank = rank, .num_ranks = num_ranks, .sends = {}, .receives = {}};

    EXPECT_EQ(pattern_from_needed(comm, counts{}, counts{}), expected);
    EXPECT_EQ(pattern_from_needed(comm, 0, 0, {}), expected);
}

TEST_F(FromNeeded, OneRankMayOwnAll) {
    ownership all(num_ranks);
    all.owned.back().resize(100);
    std::iota(all.owned.back().begin(), all.owned.back().end(), 0);
    for (rank_t reader = 0; reader < num_ranks; ++reader)
        all.needed[as_size(reader)] = {99, reader, 50, 0};

    EXPECT_EQ(found(all), all.of(rank));
    EXPECT_EQ(pattern_from_needed(comm, 0, is_last ? 100 : 0, all.needed[as_size(rank)]),
              all.of(rank));
}

TEST_F(FromNeeded, FindsScatteredOwners) {
    std::mt19937 random(314159);
    for (int round = 0; round < 20; ++round) {
        ownership all(num_ranks);
        counts indices;
        for (count_t index = 0; index < 200; ++index) {
            if (random() % 3 > 0) indices.push_back(round % 2 == 0 ? index : index * 1000003);
        }
        std::shuffle(indices.begin(), indices.end(), random);
        const auto num_owners = static_cast<unsigned>(num_ranks > 2 ? num_ranks - 1 : num_ranks);
        for (const count_t index : indices) all.owned[random() % num_owners].push_back(index);
        for (counts& needed : all.needed) {
            for (auto left = random() % 80; left > 0; --left)
                needed.push_back(indices[random() % indices.size()]);
        }

        EXPECT_EQ(found(all), all.of(rank)) << "round " << round;
    }
}

TEST_F(FromNeeded, FindsTheGreatestIndexThereIs) {
    ownership all(num_ranks);
    all.owned[0] = {greatest_count, 0};
    for (counts& needed : all.needed) needed = {0, greatest_count};

    EXPECT_EQ(found(all), all.of(rank));

    const count_t first = greatest_count - num_ranks + 1;
    const pattern by_range = pattern_from_needed(comm, first + rank, 1, counts{greatest_count});
    EXPECT_EQ(by_range.receives, list_of({{num_ranks - 1, {0}}}));
}

TEST_F(FromNeeded, FindsTheHaloOfEveryMatrix) {
    for (const char* name : {"D_10", "bcspwr10", "bibd_49_3", "lp_woodw", "msc01050", "radfr1",
                             "tumorAntiAngiogenesis_4"}) {
        const sparse_matrix matrix =
            read_matrix_market(test::project_file(std::string("data/") + name + ".mtx.gz"));
        for (const char* spec : {"block", "random:7"}) {
            const auto halos = halos_from_matrix(matrix, make_partition(matrix, spec, num_ranks));
            const halo& mine = halos[as_size(rank)];

            EXPECT_EQ(pattern_from_needed(comm, mine.owned_columns, mine.ghost_columns),
                      mine.exchange)
                << name << " " << spec;
        }
    }
}

TEST_F(FromNeeded, FailsOnAllRanksIfAnIndexOrARangeIsNone) {
    const auto expect_refused = [&](errc code, const std::string& text, auto&& call) {
        expect_error(call, code, text, last_rank);
    };
    const counts bad = is_last ? counts{4, -2} : counts{};
    const auto outside = errc::index_out_of_range;

    expect_refused(outside, " owns index -2",
                   [&] { return pattern_from_needed(comm, bad, counts{}); });
    expect_refused(outside, " needs index -2",
                   [&] { return pattern_from_needed(comm, counts{}, bad); });
    expect_refused(outside, " needs index -2",
                   [&] { return pattern_from_needed(comm, 0, 0, bad); });
    expect_refused(errc::invalid_argument, " owns -1 indices",
                   [&] { return pattern_from_needed(comm, 0, is_last ? -1 : 0, {}); });
    expect_refused(outside, " from -1 on", [&] {
        return pattern_from_needed(comm, is_last ? -1 : 0, is_last ? 3 : 0, {});
    });
    expect_refused(outside, " from 9223372036854775807 on",
                   [&] { return pattern_from_needed(comm, greatest_count, is_last ? 2 : 0, {}); });
    for (const count_t missing : {7 * count_t{num_ranks} + 2, greatest_count}) {
        const counts needed = is_last ? counts{0, missing} : counts{0};
        expect_refused(outside, " is owned by no rank",
                       [&] { return pattern_from_needed(comm, 7 * rank, 7, needed); });
    }
    const counts twice = is_last ? counts{9, 8, 9} : counts{};
    expect_refused(errc::invalid_argument, "index 9 is owned twice",
                   [&] { return pattern_from_needed(comm, twice, counts{}); });
    if (num_ranks == 1) return;
    expect_error(
        [&] {
            return pattern_from_needed(comm, rank == 0 ? 0 : 10 * rank, rank == 0 ? 11 : 1, {});
        },
        errc::invalid_argument, "index 10 is owned twice, by ranks 0 and 1", 1);
}

TEST_F(FromNeeded, WorksAgainAfterAnError) {
    EXPECT_THROW(static_cast<void>(pattern_from_needed(comm, counts{}, counts{5})), error);

    EXPECT_EQ(pattern_from_needed(comm, rank, 1, counts{0}).receives, list_of({{0, {0}}}));
}

/// Sends to the next rank, and to itself with no items; receives as much.
class FromDistGraph : public test::AllRanks {
  protected:
    void SetUp() override {
        const ranks destinations{next, rank};
        const ranks sources{rank, previous};
        const std::vector<int> weights{1, 2};
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources.data(), weights.data(), 2,
                                       destinations.data(), weights.data(), MPI_INFO_NULL, 0,
                                       &graph);
    }
    void TearDown() override {
        MPI_Comm_free(&graph);
        AllRanks::TearDown();
    }

    MPI_Comm graph = MPI_COMM_NULL;
    counts send_counts{3, 0};
    counts send_displacements{1, 0};
    counts receive_counts{0, 3};
    counts receive_displacements{0, 2};
};

TEST_F(FromDistGraph, TakesNeighborsInTheOrderOfMpi) {
    const pattern found = pattern_from_dist_graph(
        graph, {send_counts, send_displacements, receive_counts, receive_displacements});

    EXPECT_EQ(found.rank, rank);
    EXPECT_EQ(found.num_ranks, num_ranks);
    EXPECT_EQ(found.num_items, 4);
    EXPECT_EQ(found.num_slots, 5);
    EXPECT_EQ(found.sends, list_of({{next, {1, 2, 3}}, {rank, {}}}));
    EXPECT_EQ(found.receives, list_of({{rank, {}}, {previous, {2, 3, 4}}}));
}

TEST_F(FromDistGraph, ARankMayHaveNoNeighbors) {
    MPI_Comm empty = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, nullptr, MPI_UNWEIGHTED, 0, nullptr,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &empty);

    const pattern found = pattern_from_dist_graph(empty, {});

    EXPECT_EQ(found, (pattern{.rank = rank, .num_ranks = num_ranks, .sends = {}, .receives = {}}));
    MPI_Comm_free(&empty);
}

TEST_F(FromDistGraph, NamesCountsThatDoNotFitTheNeighbors) {
    expect_error(
        [&] {
            return pattern_from_dist_graph(
                graph, {counts{1}, send_displacements, receive_counts, receive_displacements});
        },
        errc::size_mismatch, "2 destinations, 1 counts and 2 displacements", rank);
}

TEST_F(FromDistGraph, RefusesACommunicatorWithoutAGraph) {
    for (const MPI_Comm plain : {MPI_COMM_WORLD, MPI_COMM_NULL})
        expect_error([&] { return pattern_from_dist_graph(plain, {}); }, errc::invalid_argument,
                     "the communicator has no distributed graph", -1);
}

}  // namespace
}  // namespace crossdock::pattern_mpi_test
