// Exchanges in flight from two threads of a rank, each on a communicator of its own.
#include <gtest/gtest.h>

#include <future>

#include "exchange/sends.hpp"
#include "support/topologies.hpp"

namespace crossdock::exchange_threads_test {
namespace {

// How many of a thread's exchanges gave something else than they should.
int num_wrong(const communicator& comm, const std::string& algorithm, std::uint64_t first_seed) {
    const auto regions = test::conformance_topologies(comm.num_ranks()).back();
    int result = 0;
    for (std::uint64_t round = 0; round < 10; ++round) {
        const auto messages =
            test::make_messages(test::skewed_destinations(comm.num_ranks(), first_seed + round),
                                [](rank_t, std::int64_t) { return count_t{3}; });
        const auto sends = test::sends_of(comm.rank(), messages);
        const auto actual =
            sparse_exchange(context(comm, regions), sends.constant(3), {.algorithm = algorithm});
        const auto expected = test::expected_at(comm.rank(), messages);
        if (actual.sources != expected.sources || actual.counts != expected.counts ||
            actual.displacements != expected.displacements || actual.values != expected.values)
            ++result;
    }
    return result;
}

class ExchangeInThreads : public testing::TestWithParam<std::string> {
  protected:
    void TearDown() override {
        first.close();
        second.close();
    }

    communicator first{MPI_COMM_WORLD};
    communicator second{MPI_COMM_WORLD};
};

INSTANTIATE_TEST_SUITE_P(Algorithms, ExchangeInThreads,
                         testing::ValuesIn(test::exchange_algorithms()),
                         [](const auto& tested) { return test::test_name(tested.param); });

TEST_P(ExchangeInThreads, WorksOnTwoCommunicatorsAtTheSameTime) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "MPI allows one thread at a time";

    auto wrong = std::async(std::launch::async, [&] { return num_wrong(second, GetParam(), 100); });
    EXPECT_EQ(num_wrong(first, GetParam(), 200), 0);
    EXPECT_EQ(wrong.get(), 0);
}

}  // namespace
}  // namespace crossdock::exchange_threads_test
