// Stands between the library and the system, hence a program of its own: says that there is not enough
// shared memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/sparse_exchange.hpp"
#include "support/arrivals.hpp"
#include "support/contexts.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace {

std::optional<unsigned long> pretended_free_blocks;
int num_windows = 0;

}  // namespace

extern "C" int statvfs(const char* path, struct statvfs* result) {
    const int file = open(path, O_RDONLY);
    if (file < 0) return -1;
    const int code = fstatvfs(file, result);
    close(file);
    if (pretended_free_blocks && std::string_view(path) == "/dev/shm")
        result->f_bavail = *pretended_free_blocks;
    return code;
}

extern "C" int MPI_Win_allocate_shared(MPI_Aint a, int b, MPI_Info c, MPI_Comm d, void* e,
                                       MPI_Win* f) {
    ++num_windows;
    return PMPI_Win_allocate_shared(a, b, c, d, e, f);
}

namespace crossdock::scarce_memory_test {
namespace {

class ScarceMemory : public testing::Test {
  protected:
    void SetUp() override { num_windows = 0; }
    void TearDown() override {
        pretended_free_blocks.reset();
        comm.close();
    }

    neighbor_exchange make(const neighbor_options& options) const {
        return make(test::one_region(comm), options);
    }

    static neighbor_exchange ready_twin(const neighbor_exchange& of) {
        auto result = of.duplicate();
        result.prepare(sizeof(double));
        return result;
    }

    neighbor_exchange make_on_pairs(const neighbor_options& options) const {
        return make(test::one_region(comm).with_nodes(pairs()), options);
    }

    neighbor_exchange make(const context& where, neighbor_options options) const {
        options.route = "three_step";
        options.prepare = preparation::lazy;
        neighbor_exchange result(where, mine, options);
        result.prepare(sizeof(double));
        return result;
    }

    topology pairs() const {
        std::vector<region_t> nodes;
        for (rank_t rank = 0; rank < comm.num_ranks(); ++rank) nodes.push_back(rank / 2);
        return topology::from_regions(nodes);
    }

    template <class T>
    void expect_both_ways(neighbor_exchange& halo) const {
        std::vector<T> items;
        for (count_t i = 0; i < mine.num_items; ++i)
            items.push_back(static_cast<T>(100 * comm.rank() + i));
        std::vector<T> slots(static_cast<std::size_t>(mine.num_slots)), expected(slots);
        for (const auto& a : test::arrivals(patterns, comm.rank()))
            expected[static_cast<std::size_t>(a.slot)] = static_cast<T>(100 * a.source + a.item);
        std::vector<T> doubled;
        for (const T item : items) doubled.push_back(static_cast<T>(2 * item));

        halo.forward(items, slots);
        EXPECT_EQ(slots, expected);
        halo.reverse(slots, items, sum{});  // each item is in one slot
        EXPECT_EQ(items, doubled);
    }

    // Everyone sends its rank to the next one.
    void expect_next_hears(const std::string& algorithm) const {
        const context where = test::one_region(comm);
        const rank_t rank = comm.rank();
        const rank_t num_ranks = comm.num_ranks();
        const std::vector<rank_t> next{(rank + 1) % num_ranks},
            previous{(rank + num_ranks - 1) % num_ranks};

        const auto received =
            sparse_exchange(where, constant_messages<rank_t>{next, 1, std::span(&rank, 1)},
                            {.algorithm = algorithm});

        EXPECT_EQ(received.sources, previous);
        EXPECT_EQ(received.values, previous);
    }

    communicator comm{MPI_COMM_WORLD};
    const std::vector<pattern> patterns = test::all_to_all_pattern(comm.num_ranks());
    const pattern mine = patterns[static_cast<std::size_t>(comm.rank())];
};

TEST_F(ScarceMemory, TheAutomaticChoiceDoesWithout) {
    pretended_free_blocks = 0;

    auto halo = make({});
    auto twin = ready_twin(halo);

    expect_both_ways<double>(halo);
    expect_both_ways<double>(twin);
    EXPECT_EQ(num_windows, 0);
}

TEST_F(ScarceMemory, OtherNodesStillShareTheirs) {
    if (comm.rank() / 2 == 0) pretended_free_blocks = 0;

    auto halo = make_on_pairs({});

    expect_both_ways<double>(halo);
    const rank_t ranks_of_node = pairs().region_size(comm.rank() / 2);
    EXPECT_EQ(num_windows > 0, comm.rank() / 2 > 0 && ranks_of_node > 1);
}

TEST_F(ScarceMemory, ItIsTriedAgainForItemsOfAnotherSize) {
    pretended_free_blocks = 0;
    auto halo = make({});
    expect_both_ways<double>(halo);

    pretended_free_blocks.reset();
    expect_both_ways<std::int32_t>(halo);
    EXPECT_EQ(num_windows > 0, comm.num_ranks() > 1);

    pretended_free_blocks = 0;
    expect_both_ways<std::int64_t>(halo);
}

TEST_F(ScarceMemory, WhoInsistsOnItGetsAnErrorOnAllRanks) {
    if (comm.num_ranks() < 2) GTEST_SKIP() << "one rank shares nothing";
    if (pairs().region_of(comm.rank()) == pairs().region_of(0)) pretended_free_blocks = 0;
    for (const auto& options :
         {neighbor_options{.executor = "shared_memory"}, neighbor_options{.stripe_bytes = 8}}) {
        const error fault = test::thrown_by([&] { make_on_pairs(options); });

        EXPECT_EQ(fault.code(), errc::out_of_memory);
    }

    pretended_free_blocks.reset();
    auto halo = make_on_pairs({.executor = "shared_memory"});
    expect_both_ways<double>(halo);
    EXPECT_EQ(num_windows > 0, pairs().region_size(pairs().region_of(comm.rank())) > 1);
}

TEST_F(ScarceMemory, ASetUpThatIsMadeLaterFailsOnTheNodeAndOthersHearOfIt) {
    if (comm.num_ranks() < 2) GTEST_SKIP() << "one rank shares nothing";
    auto halo = make_on_pairs({.executor = "shared_memory"});
    expect_both_ways<double>(halo);
    // More than what is left of the first window.
    struct wide {
        std::array<double, 4096> values;
    };
    std::vector<wide> items(static_cast<std::size_t>(mine.num_items));
    std::vector<wide> slots(static_cast<std::size_t>(mine.num_slots));
    const bool is_scarce = pairs().region_of(comm.rank()) == pairs().region_of(0);
    if (is_scarce) pretended_free_blocks = 0;

    const error of_start = test::thrown_by([&] { halo.forward(items, slots); });
    EXPECT_EQ(of_start.code(), is_scarce ? errc::out_of_memory : errc::peer_failed);
    EXPECT_FALSE(halo.is_active());

    pretended_free_blocks.reset();
    halo.forward(items, slots);
    std::vector<neighbor_exchange> twins;
    expect_both_ways<double>(halo);
    if (is_scarce) pretended_free_blocks = 0;
    const error of_duplicate = test::thrown_by([&] {
        while (true) twins.push_back(ready_twin(halo));
    });
    EXPECT_EQ(of_duplicate.code(), errc::out_of_memory);
    pretended_free_blocks.reset();
    if (!twins.empty()) expect_both_ways<double>(twins.back());
}

TEST_F(ScarceMemory, AWindowGrowsByWhatIsNeededWhereThereIsNoMore) {
    neighbor_exchange halo(test::one_region(comm), mine,
                           {.route = "three_step", .prepare = preparation::forward});
    // A second window would be twice as large as what is needed.
    std::vector<neighbor_exchange> twins;
    const int first_windows = num_windows;
    while (num_windows == first_windows && comm.num_ranks() > 1) twins.push_back(halo.duplicate());
    const int second_windows = num_windows;
    pretended_free_blocks = 65536UL * static_cast<unsigned long>(comm.num_ranks()) / 4096 * 3 / 2;
    while (num_windows == second_windows && comm.num_ranks() > 1 && twins.size() < 2000)
        twins.push_back(halo.duplicate());

    EXPECT_EQ(num_windows > second_windows, comm.num_ranks() > 1);
    halo.prepare(sizeof(double));
    expect_both_ways<double>(halo);
}

// Long enough for `auto` to find that sharing memory pays.
TEST_F(ScarceMemory, SparseExchangesGoByMessages) {
    pretended_free_blocks = 0;

    for (int i = 0; i < 100; ++i) expect_next_hears("auto");

    EXPECT_EQ(num_windows, 0);
}

TEST_F(ScarceMemory, SparseExchangesShareItWhereThereIsEnough) {
    for (int i = 0; i < 100; ++i) expect_next_hears("auto");

    EXPECT_EQ(num_windows, comm.num_ranks() > 1 ? 1 : 0);
}

TEST_F(ScarceMemory, ASparseExchangeThatInsistsOnItFailsOnAllRanksAndMayBeTriedAgain) {
    if (comm.num_ranks() < 2) GTEST_SKIP() << "one rank shares nothing";
    if (comm.rank() == 0) pretended_free_blocks = 0;

    const error fault = test::thrown_by([&] { expect_next_hears("shared_memory"); });
    EXPECT_EQ(fault.code(), errc::out_of_memory);

    pretended_free_blocks.reset();
    expect_next_hears("shared_memory");
    EXPECT_EQ(num_windows, 1);
}

}  // namespace
}  // namespace crossdock::scarce_memory_test
