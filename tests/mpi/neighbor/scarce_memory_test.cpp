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
#include "support/all_ranks.hpp"
#include "support/arrivals.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"
#include "support/watched_calls.hpp"

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

namespace crossdock::scarce_memory_test {
namespace {

class ScarceMemory : public test::AllRanks {
  protected:
    void SetUp() override {
        num_windows = 0;
        test::on_mpi_call = [](const test::mpi_call& call) {
            if (call.name == "Win_allocate_shared") ++num_windows;
        };
    }
    void TearDown() override {
        pretended_free_blocks.reset();
        AllRanks::TearDown();
    }

    neighbor_exchange make(const neighbor_options& options) const { return make(where, options); }

    static neighbor_exchange ready_twin(const neighbor_exchange& of) {
        auto result = of.duplicate();
        result.prepare(sizeof(double));
        return result;
    }

    neighbor_exchange make_on_pairs(const neighbor_options& options) const {
        return make(where.with_nodes(pairs), options);
    }

    neighbor_exchange make(const context& at, neighbor_options options) const {
        options.route = "three_step";
        options.prepare = preparation::lazy;
        neighbor_exchange result(at, own, options);
        result.prepare(sizeof(double));
        return result;
    }

    template <class T>
    void expect_both_ways(neighbor_exchange& halo) const {
        test::forward_arrays<T> arrays(patterns, rank);
        std::vector<T> doubled;
        for (const T item : arrays.items) doubled.push_back(static_cast<T>(2 * item));

        halo.forward(arrays.items, arrays.slots);
        EXPECT_EQ(arrays.slots, arrays.expected);
        halo.reverse(arrays.slots, arrays.items, sum{});  // each item is in one slot
        EXPECT_EQ(arrays.items, doubled);
    }

    // Everyone sends its rank to the next one.
    void expect_next_hears(const std::string& algorithm) const {
        const auto received = sparse_exchange(where, {next}, {1}, std::vector<rank_t>{rank},
                                              {.algorithm = algorithm});

        EXPECT_EQ(received.sources, std::vector{previous});
        EXPECT_EQ(received.values, std::vector{previous});
    }

    topology make_pairs() const {
        std::vector<region_t> nodes;
        for (rank_t r = 0; r < num_ranks; ++r) nodes.push_back(r / 2);
        return topology::from_regions(nodes);
    }

    const topology pairs = make_pairs();
    const rank_t ranks_of_node = pairs.region_size(pairs.region_of(rank));
    const bool is_first_node = pairs.region_of(rank) == pairs.region_of(0);
    const std::vector<pattern> patterns = test::all_to_all_pattern(num_ranks);
    const pattern own = mine(patterns);
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
    if (is_first_node) pretended_free_blocks = 0;

    auto halo = make_on_pairs({});

    expect_both_ways<double>(halo);
    EXPECT_EQ(num_windows > 0, !is_first_node && ranks_of_node > 1);
}

TEST_F(ScarceMemory, ItIsTriedAgainForItemsOfAnotherSize) {
    pretended_free_blocks = 0;
    auto halo = make({});
    expect_both_ways<double>(halo);

    pretended_free_blocks.reset();
    expect_both_ways<std::int32_t>(halo);
    EXPECT_EQ(num_windows > 0, num_ranks > 1);

    pretended_free_blocks = 0;
    expect_both_ways<std::int64_t>(halo);
}

TEST_F(ScarceMemory, WhoInsistsOnItGetsAnErrorOnAllRanks) {
    if (num_ranks < 2) GTEST_SKIP() << "one rank shares nothing";
    if (is_first_node) pretended_free_blocks = 0;
    test::expect_thrown(errc::out_of_memory, [&] { make_on_pairs({.executor = "shared_memory"}); });

    pretended_free_blocks.reset();
    auto halo = make_on_pairs({.executor = "shared_memory"});
    expect_both_ways<double>(halo);
    EXPECT_EQ(num_windows > 0, ranks_of_node > 1);
}

TEST_F(ScarceMemory, ASetUpThatIsMadeLaterFailsOnTheNodeAndOthersHearOfIt) {
    if (num_ranks < 2) GTEST_SKIP() << "one rank shares nothing";
    auto halo = make_on_pairs({.executor = "shared_memory"});
    expect_both_ways<double>(halo);
    // More than what is left of the first window.
    struct wide {
        std::array<double, 4096> values;
    };
    std::vector<wide> items(static_cast<std::size_t>(own.num_items));
    std::vector<wide> slots(static_cast<std::size_t>(own.num_slots));
    if (is_first_node) pretended_free_blocks = 0;

    test::expect_thrown(is_first_node ? errc::out_of_memory : errc::peer_failed,
                        [&] { halo.forward(items, slots); });
    EXPECT_FALSE(halo.is_active());

    pretended_free_blocks.reset();
    halo.forward(items, slots);
    std::vector<neighbor_exchange> twins;
    expect_both_ways<double>(halo);
    if (is_first_node) pretended_free_blocks = 0;
    test::expect_thrown(errc::out_of_memory, [&] {
        while (true) twins.push_back(ready_twin(halo));
    });
    pretended_free_blocks.reset();
    if (!twins.empty()) expect_both_ways<double>(twins.back());
}

TEST_F(ScarceMemory, AWindowGrowsByWhatIsNeededWhereThereIsNoMore) {
    neighbor_exchange halo(where, own, {.route = "three_step", .prepare = preparation::forward});
    // A second window would be twice as large as what is needed.
    std::vector<neighbor_exchange> twins;
    const int first_windows = num_windows;
    while (num_windows == first_windows && num_ranks > 1) twins.push_back(halo.duplicate());
    const int second_windows = num_windows;
    pretended_free_blocks = 65536UL * static_cast<unsigned long>(num_ranks) / 4096 * 3 / 2;
    while (num_windows == second_windows && num_ranks > 1 && twins.size() < 2000)
        twins.push_back(halo.duplicate());

    EXPECT_EQ(num_windows > second_windows, num_ranks > 1);
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

    EXPECT_EQ(num_windows, num_ranks > 1 ? 1 : 0);
}

TEST_F(ScarceMemory, ASparseExchangeThatInsistsOnItFailsOnAllRanksAndMayBeTriedAgain) {
    if (num_ranks < 2) GTEST_SKIP() << "one rank shares nothing";
    if (rank == 0) pretended_free_blocks = 0;

    test::expect_thrown(errc::out_of_memory, [&] { expect_next_hears("shared_memory"); });

    pretended_free_blocks.reset();
    expect_next_hears("shared_memory");
    EXPECT_EQ(num_windows, 1);
}

}  // namespace
}  // namespace crossdock::scarce_memory_test
