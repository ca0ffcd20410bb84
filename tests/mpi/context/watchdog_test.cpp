// CROSSDOCK_WATCHDOG with `throw`, and CROSSDOCK_CHECK. tests/mpi/watchdog has the lines.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "crossdock/crossdock.h"
#include "crossdock/distributed_array.hpp"
#include "crossdock/make_pattern.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::watchdog_test {
namespace {

using test::expect_thrown;
using test::thrown_by;

class Watchdog : public testing::Test {
  protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    }
    void TearDown() override {
        unsetenv("CROSSDOCK_WATCHDOG");
        unsetenv("CROSSDOCK_CHECK");
    }
    bool is_last() const { return rank == num_ranks - 1; }

    int rank = 0;
    int num_ranks = 0;
};

// The last rank starts only after the others have given up once.
TEST_F(Watchdog, AWaitThatHasTimedOutCanBeMadeAgain) {
    setenv("CROSSDOCK_WATCHDOG", "1:throw:/dev/null", 1);
    context where(MPI_COMM_WORLD, {.topology = std::to_string(num_ranks) + "x1"});
    const auto own = test::all_to_all_pattern(num_ranks)[static_cast<std::size_t>(rank)];
    neighbor_exchange halo(where, own, {.route = "direct"});
    const std::vector<double> items(static_cast<std::size_t>(own.num_items), rank);
    std::vector<double> slots(static_cast<std::size_t>(own.num_slots), -1), expected(slots);
    for (std::size_t n = 0; n < own.receives.size(); ++n) {
        for (const count_t slot : own.receives[n])
            expected[static_cast<std::size_t>(slot)] = own.receives.ranks[n];
    }

    if (!is_last()) {
        halo.start(items, slots);
        expect_thrown(errc::timeout, [&] { halo.wait(); });
        EXPECT_TRUE(halo.is_active());
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_last()) halo.start(items, slots);
    while (halo.is_active()) {
        try {
            halo.wait();
        } catch (const error& fault) {  // where the machine is slow
            ASSERT_EQ(fault.code(), errc::timeout);
        }
    }

    EXPECT_EQ(slots, expected);
    where.close();
}

TEST_F(Watchdog, ACollectiveCallThatTimesOutEndsTheContext) {
    if (num_ranks == 1) GTEST_SKIP() << "nobody to wait for";
    setenv("CROSSDOCK_WATCHDOG", "1:throw:/dev/null", 1);
    context where(MPI_COMM_WORLD);

    if (is_last()) {
        MPI_Barrier(MPI_COMM_WORLD);
        expect_thrown(errc::timeout, [&] { where.close(); });
    } else {
        expect_thrown(errc::timeout, [&] { const distributed_array<int> table(where, 8); });
        MPI_Barrier(MPI_COMM_WORLD);
    }

    EXPECT_FALSE(where.comm().is_open());
    expect_thrown(errc::invalid_state, [&] { const distributed_array<int> table(where, 8); });
    where.close();
}

TEST_F(Watchdog, TimesOutInC) {
    if (num_ranks == 1) GTEST_SKIP() << "nobody to wait for";
    setenv("CROSSDOCK_WATCHDOG", "1:throw:/dev/null", 1);
    MPI_Comm user = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &user);
    MPI_Comm_set_errhandler(user, MPI_ERRORS_RETURN);
    crossdock_context* where = nullptr;
    ASSERT_EQ(crossdock_context_create(user, nullptr, &where), CROSSDOCK_SUCCESS);
    crossdock_pattern* made = nullptr;

    if (is_last()) MPI_Barrier(MPI_COMM_WORLD);
    const auto status = is_last()
                            ? crossdock_context_close(where)
                            : crossdock_pattern_from_needed_range(where, 0, 0, 0, nullptr, &made);

    EXPECT_EQ(status, CROSSDOCK_TIMEOUT);
    EXPECT_TRUE(std::string(crossdock_last_error())
                    .starts_with("rank " + std::to_string(rank) + " of " +
                                 std::to_string(num_ranks) +
                                 " has waited 1.0 s for other ranks in crossdock_" +
                                 (is_last() ? "context_close;" : "pattern_from_needed_range;")))
        << crossdock_last_error();
    EXPECT_EQ(made, nullptr);
    if (!is_last()) MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(crossdock_context_close(where), CROSSDOCK_SUCCESS);
    EXPECT_EQ(crossdock_context_free(where), CROSSDOCK_SUCCESS);
    MPI_Comm_free(&user);
}

TEST_F(Watchdog, RefusesATextThatIsNoLimit) {
    for (const char* const text : {"soon", "-1", "0", "1s", "1e99"}) {
        setenv("CROSSDOCK_WATCHDOG", text, 1);

        expect_thrown(errc::invalid_argument, [] { const context where(MPI_COMM_WORLD); });
    }
}

TEST_F(Watchdog, CheckingNamesCallsThatDiffer) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank makes one call";
    setenv("CROSSDOCK_CHECK", "1", 1);
    context where(MPI_COMM_WORLD);

    const auto fault = thrown_by([&] {
        if (is_last()) return where.close();
        static_cast<void>(pattern_from_needed(where.comm(), 0, 0, {}));
    });

    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_EQ(fault.rank(), num_ranks - 1);
    EXPECT_EQ(std::string(fault.what()),
              "rank " + std::to_string(num_ranks - 1) +
                  " is closing a context, but rank 0 is making a pattern; all ranks must make the "
                  "same calls in one order");
    EXPECT_TRUE(where.comm().is_open());
    where.close();
}

}  // namespace
}  // namespace crossdock::watchdog_test
