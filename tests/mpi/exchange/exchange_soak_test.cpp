// Ten thousand exchanges leave nothing behind: no message, and no memory. Replaces the global
// allocation functions to count bytes, hence a program of its own.
#include <gtest/gtest.h>

#include "exchange/sends.hpp"
#include "support/all_ranks.hpp"
#include "support/counted_memory.hpp"
#include "support/topologies.hpp"

namespace crossdock::exchange_soak_test {
namespace {

using test::used_bytes;

// Under a sanitizer everything is slower, and a thousand find as much.
#ifdef __SANITIZE_ADDRESS__
constexpr int num_rounds = 125;
#else
constexpr int num_rounds = 1250;
#endif
constexpr int exchanges_per_round = 4;  // and all rounds twice: 10,000

class ExchangeSoak : public test::AllRanks {
  protected:
    // The same messages by several algorithms: of one size in even rounds, of any in odd ones.
    void run_round(int round) {
        const bool is_one_size = round % 2 == 0;
        const auto seed = static_cast<std::uint64_t>(round);
        const count_t count = round % 7;
        const auto messages = test::make_messages(
            test::skewed_destinations(num_ranks, seed), [&](rank_t source, std::int64_t index) {
                return is_one_size ? count : test::uneven_count(source, index + round);
            });
        const auto sends = test::sends_of(rank, messages);
        const auto expected = test::expected_at(rank, messages);
        const auto& regions = topologies[seed % topologies.size()];
        for (int i = 0; i < exchanges_per_round; ++i) {
            auto options = options_of(exchanges_per_round * round + i);
            if (is_one_size) {
                test::expect_equal(
                    sparse_exchange(context(comm, regions), sends.constant(count), options),
                    expected);
            } else {
                if (options.algorithm.starts_with("rma")) options.algorithm = "nonblocking";
                test::expect_equal(
                    sparse_exchange(context(comm, regions), sends.variable(), options), expected);
            }
        }
    }

    exchange_options options_of(int number) const {
        const auto n = static_cast<std::size_t>(number);
        exchange_options options{.algorithm = algorithms[n % algorithms.size()]};
        if (n % 5 == 0) options.max_message_bytes = 16;
        if (n % 3 == 0) options.max_forwarded_bytes = 16;
        return options;
    }

    // Does the same every time, so that it must leave the same behind.
    std::size_t used_bytes_after_all_rounds() {
        for (int round = 0; round < num_rounds; ++round) run_round(round);
        return used_bytes;
    }

    const std::vector<std::string> algorithms = test::exchange_algorithms();
    const std::vector<topology> topologies = test::conformance_topologies(num_ranks);
};

TEST_F(ExchangeSoak, LeavesNoMessageAndNoMemoryBehind) {
    const std::size_t used_after_half = used_bytes_after_all_rounds();
    EXPECT_EQ(used_bytes_after_all_rounds(), used_after_half);

    MPI_Barrier(MPI_COMM_WORLD);
    test::expect_no_message(MPI_COMM_WORLD);
    test::expect_no_message(comm.get());
}

}  // namespace
}  // namespace crossdock::exchange_soak_test
