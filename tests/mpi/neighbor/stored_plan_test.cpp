// Plans in the folder of CROSSDOCK_CACHE: found by the next start of a program, and by no other program.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "crossdock/neighbor_exchange.hpp"
#include "support/all_ranks.hpp"
#include "support/arrivals.hpp"
#include "support/neighbor_options.hpp"
#include "support/patterns.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::stored_plan_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* variable = "CROSSDOCK_CACHE";
constexpr const char* said_of_stored = "the plan was read from CROSSDOCK_CACHE\n";

bool is_stored(const neighbor_exchange& halo) { return halo.explain().ends_with(said_of_stored); }

double present_seconds = 0;
double turned_clock() { return present_seconds += 1e-6; }

class StoredPlan : public test::AllRanks {
  protected:
    void SetUp() override {
        std::array<char, 64> name{"/tmp/crossdock_cache_XXXXXX"};
        if (rank == 0) {
            ASSERT_NE(mkdtemp(name.data()), nullptr);
            setenv(variable, name.data(), 1);
        }
        MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, comm.get());
        folder = name.data();
    }
    void TearDown() override {
        meet();
        unsetenv(variable);
        if (rank == 0) fs::remove_all(folder);
        AllRanks::TearDown();
    }

    void meet() { MPI_Barrier(comm.get()); }

    // A start of a program with these ranks: what it makes, and looks at.
    void start(
        const std::vector<pattern>& these, const neighbor_options& options,
        const std::function<void(neighbor_exchange&)>& look = [](auto&) {}) {
        meet();
        communicator fresh(MPI_COMM_WORLD);
        const context at(fresh, regions);
        neighbor_exchange halo(machine ? at.with_machine(*machine) : at, mine(these), options);
        test::expect_delivered(halo, these, rank);
        look(halo);
        halo.close();
        fresh.close();
        meet();
    }
    bool start_finds(const std::vector<pattern>& these, const neighbor_options& options = {}) {
        bool finds = false;
        start(these, options, [&](auto& halo) { finds = is_stored(halo); });
        return finds;
    }

    std::vector<fs::path> plans() const {
        std::vector<fs::path> all;
        for (const auto& entry : fs::directory_iterator(folder)) all.push_back(entry.path());
        return all;
    }
    // Of the only plan.
    fs::path file_of(rank_t of) const { return plans().at(0) / std::to_string(of); }

    fs::path folder;
    topology regions = test::conformance_topologies(num_ranks)[2];
    std::optional<crossdock::machine> machine;
    const std::vector<pattern> patterns = test::random_pattern(num_ranks);
};

std::string bytes_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(StoredPlan, TheSecondStartFindsPlanAndChoice) {
    auto routes = test::conformance_routes();
    routes.push_back("auto");
    for (const auto& route : routes) {
        for (const char* executor : {"persistent", "auto"}) {
            std::optional<plan> made;
            std::string explanation;
            start(patterns, {.route = route, .executor = executor}, [&](auto& halo) {
                made = halo.plan();
                explanation = halo.explain();
            });
            start(patterns, {.route = route, .executor = executor}, [&](auto& halo) {
                EXPECT_EQ(halo.plan(), *made) << route;
                EXPECT_EQ(halo.explain(), explanation + said_of_stored) << route;
            });
        }
    }
}

TEST_F(StoredPlan, NothingIsKeptUnlessAsked) {
    unsetenv(variable);
    EXPECT_FALSE(start_finds(patterns));
    EXPECT_FALSE(start_finds(patterns));
    EXPECT_EQ(plans().size(), 0u);
}

TEST_F(StoredPlan, OneProgramNeedsNoFileTwice) {
    communicator fresh(MPI_COMM_WORLD);
    const context at(fresh, regions);
    neighbor_exchange first(at, mine(patterns));
    meet();
    if (rank == 0) fs::remove_all(plans().at(0));
    meet();
    const neighbor_exchange second(at, mine(patterns));

    EXPECT_EQ(second.plan(), first.plan());
    EXPECT_EQ(second.choice()->route(), first.choice()->route());
    EXPECT_FALSE(is_stored(second));
    meet();
    EXPECT_EQ(plans().size(), 0u);
    fresh.close();
}

TEST_F(StoredPlan, WhatTrialsFoundIsKept) {
    neighbor_options options{.route = "auto:measure"};
    options.measure.exchanges_each = 2;
    options.measure.clock = &turned_clock;
    std::vector<tried_route> tried;
    std::string route;
    start(patterns, options, [&](auto& halo) {
        while (halo.is_trying()) test::expect_delivered(halo, patterns, rank);
        tried = halo.tried_routes();
        route = halo.route();
    });
    start(patterns, options, [&](auto& halo) {
        EXPECT_TRUE(is_stored(halo));
        EXPECT_FALSE(halo.is_trying());
        EXPECT_EQ(halo.tried_routes(), tried);
        EXPECT_EQ(halo.route(), route);
        EXPECT_EQ(halo.report().why, tried.empty() ? "estimated" : "measured");
    });
}

TEST_F(StoredPlan, TrialsThatAreNotOverAreNotKept) {
    neighbor_options options{.route = "auto:measure"};
    options.measure.max_lost_seconds = 1e6;
    bool is_trying = false;
    start(patterns, options, [&](auto& halo) { is_trying = halo.is_trying(); });
    EXPECT_EQ(start_finds(patterns, options), !is_trying);
}

TEST_F(StoredPlan, AFileThatIsNotWholeIsIgnoredAndWrittenAnew) {
    ASSERT_FALSE(start_finds(patterns));
    ASSERT_TRUE(start_finds(patterns));
    const auto whole = bytes_of(file_of(last_rank));
    std::vector<std::string> damaged{"",
                                     "x",
                                     whole.substr(0, whole.size() / 2),
                                     whole.substr(0, whole.size() - 8),
                                     whole + whole,
                                     std::string(whole.size(), '\0'),
                                     std::string(80, '\xff')};
    for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 12) {
        damaged.push_back(whole);
        damaged.back()[at] ^= 1;
    }
    for (const auto& bytes : damaged) {
        meet();
        if (is_last) std::ofstream(file_of(last_rank), std::ios::binary) << bytes;
        EXPECT_FALSE(start_finds(patterns));
        EXPECT_TRUE(start_finds(patterns));
        EXPECT_EQ(bytes_of(file_of(last_rank)), whole);
    }
}

TEST_F(StoredPlan, AFileThatLacksOrIsOfAnotherRankIsIgnored) {
    ASSERT_FALSE(start_finds(patterns));
    if (is_last) fs::remove(file_of(last_rank));
    EXPECT_FALSE(start_finds(patterns));
    EXPECT_TRUE(start_finds(patterns));
    meet();
    if (num_ranks == 1) return;
    if (is_last)
        fs::copy_file(file_of(0), file_of(last_rank), fs::copy_options::overwrite_existing);
    EXPECT_FALSE(start_finds(patterns));
    EXPECT_TRUE(start_finds(patterns));
}

TEST_F(StoredPlan, FilesOfAnotherPlanAreIgnored) {
    ASSERT_FALSE(start_finds(patterns, {.route = "direct"}));
    const auto kept = plans().at(0);
    meet();
    if (rank == 0) fs::rename(kept, folder / "other");
    EXPECT_FALSE(start_finds(patterns, {.route = "two_step"}));
    meet();
    const auto wanted = plans()[plans()[0] == folder / "other" ? 1 : 0];
    meet();
    if (rank == 0) {
        fs::remove_all(wanted);
        fs::rename(folder / "other", wanted);
    }
    start(patterns, {.route = "two_step"}, [&](auto& halo) {
        EXPECT_FALSE(is_stored(halo));
        EXPECT_EQ(halo.route(), "two_step");
    });
}

TEST_F(StoredPlan, WhateverDecidesIsPartOfTheKey) {
    std::size_t num_kept = 0;
    const auto expect_another = [&](const std::vector<pattern>& these,
                                    const neighbor_options& options, const char* what) {
        EXPECT_FALSE(start_finds(these, options)) << what;
        EXPECT_TRUE(start_finds(these, options)) << what;
        EXPECT_EQ(plans().size(), ++num_kept) << what;
        meet();
    };
    expect_another(patterns, {}, "the default");
    expect_another(patterns, {.route = "direct"}, "route");
    expect_another(patterns, {.route = "two_step"}, "route");
    expect_another(patterns, {.deduplicate = false}, "deduplicate");
    expect_another(patterns, {.executor = "persistent"}, "executor");
    expect_another(patterns, {.item_bytes = 4}, "item_bytes");
    expect_another(patterns, {.stripe_bytes = 8}, "stripe_bytes");
    expect_another(patterns, {.reproducible = true}, "reproducible");
    auto others = patterns;
    ++others.back().num_items;  // of one rank alone
    expect_another(others, {}, "pattern");
    machine = load_machine("generic_100g");
    expect_another(patterns, {}, "machine");
    machine->copy_seconds_per_byte *= 2;
    expect_another(patterns, {}, "machine");
    machine.reset();
    if (num_ranks > 1) {
        regions = num_ranks == regions.num_regions() ? one_region : each_alone;
        expect_another(patterns, {}, "topology");
        if (rank == 0) setenv("CROSSDOCK_ROUTE", "hypercube", 1);
        expect_another(patterns, {}, "CROSSDOCK_ROUTE");
        unsetenv("CROSSDOCK_ROUTE");
    }
    if (rank == 0) setenv("CROSSDOCK_FORCE_ROUTE", "grid:2", 1);
    expect_another(patterns, {}, "CROSSDOCK_FORCE_ROUTE");
    unsetenv("CROSSDOCK_FORCE_ROUTE");
    EXPECT_TRUE(start_finds(patterns, {.route = "direct", .name = "another name"}) ||
                num_ranks > 1);  // the name is no part
}

TEST_F(StoredPlan, TwoJobsAtOnceWriteTheSameFiles) {
    setenv(variable, folder.c_str(), 1);  // on rank 0 of either
    const auto half = comm.split(rank < num_ranks / 2 ? 0 : rank < num_ranks / 2 * 2 ? 1 : 2);
    const auto of_half = [&](std::uint64_t seed) {
        return test::random_pattern(half.num_ranks(), seed);
    };
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        meet();
        const communicator fresh = half.split(0);
        const auto all = of_half(seed);
        const auto& own = all[static_cast<std::size_t>(half.rank())];
        neighbor_exchange halo(context(fresh, topology::one_region(half.num_ranks())), own);
        test::expect_delivered(halo, all, half.rank());
        halo.close();
        communicator(fresh).close();
    }
    meet();
    for (const auto& plan : plans()) {
        for (const auto& file : fs::directory_iterator(plan))
            EXPECT_EQ(file.path().filename().string().find('.'), std::string::npos) << file;
    }
    communicator fresh = half.split(0);
    const neighbor_exchange halo(context(fresh, topology::one_region(half.num_ranks())),
                                 of_half(20)[static_cast<std::size_t>(half.rank())]);
    EXPECT_TRUE(is_stored(halo));
    fresh.close();
    communicator(half).close();
}

TEST_F(StoredPlan, AFolderThatCannotBeWrittenIsNoError) {
    meet();
    if (rank == 0) {
        std::ofstream(folder / "file") << "no folder";
        setenv(variable, (folder / "file" / "in it").c_str(), 1);
    }
    EXPECT_FALSE(start_finds(patterns));
    EXPECT_FALSE(start_finds(patterns));
}

TEST_F(StoredPlan, AFullDiskLeavesNoFile) {
    // One of the ranks may write no byte more.
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{0, before.rlim_max};
    start(patterns, {}, [&](auto&) {});  // MPI has what files it wants
    meet();
    if (rank == 0)
        for (const auto& plan : plans()) fs::remove_all(plan);
    communicator fresh(MPI_COMM_WORLD);
    if (is_last) setrlimit(RLIMIT_FSIZE, &none);
    {
        neighbor_exchange halo(context(fresh, regions), mine(patterns),
                               {.executor = "persistent", .prepare = preparation::forward});
        if (is_last) setrlimit(RLIMIT_FSIZE, &before);
        test::expect_delivered(halo, patterns, rank);
    }
    fresh.close();
    std::signal(SIGXFSZ, handler);
    meet();
    EXPECT_FALSE(fs::exists(file_of(last_rank)));
    std::size_t num_files = 0;
    for ([[maybe_unused]] const auto& file : fs::directory_iterator(plans().at(0))) ++num_files;
    EXPECT_EQ(num_files, static_cast<std::size_t>(num_ranks - 1));
}

TEST_F(StoredPlan, AFaultIsThrownByAllRanksAndNothingIsKept) {
    auto wrong = patterns;
    auto& own = wrong.back();
    own.sends.append(num_ranks, std::vector<count_t>{0});
    meet();
    communicator fresh(MPI_COMM_WORLD);
    for (int attempt = 0; attempt < 2; ++attempt) {
        test::expect_thrown(errc::rank_out_of_range, last_rank,
                            [&] { neighbor_exchange(context(fresh, regions), mine(wrong)); });
        EXPECT_EQ(plans().size(), 0u);
        if (num_ranks > 1) {
            test::expect_thrown(errc::invalid_argument, [&] {
                neighbor_exchange(context(fresh, regions), mine(patterns),
                                  {.route = rank == 0 ? "direct" : "grid:2"});
            });
        }
    }
    fresh.close();
}

}  // namespace
}  // namespace crossdock::stored_plan_test
