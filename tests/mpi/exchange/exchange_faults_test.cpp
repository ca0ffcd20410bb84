// What is wrong on one rank must be told to all, by every algorithm, and must leave no trace.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "exchange/sends.hpp"
#include "support/all_ranks.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::exchange_faults_test {
namespace {

using namespace test;

class ExchangeFaults : public AllRanks, public testing::WithParamInterface<std::string> {
  protected:
    bool takes_any_size() const {
        return GetParam() == "auto" ||
               !takes_one_size_only(parse_exchange_algorithm(GetParam()).method);
    }
    exchange_options by_algorithm() const { return {.algorithm = GetParam()}; }

    template <class T = std::int64_t>
    void send_one_size(std::vector<rank_t> destinations, count_t count, std::vector<T> values,
                       const exchange_options& options) {
        static_cast<void>(
            sparse_exchange(here, constant_messages<T>{destinations, count, values}, options));
    }

    void send_any_size(std::vector<rank_t> destinations, std::vector<count_t> counts,
                       std::vector<count_t> displacements, std::vector<std::int64_t> values) {
        static_cast<void>(sparse_exchange(
            here, variable_messages<std::int64_t>{destinations, counts, displacements, values},
            by_algorithm()));
    }

    void send_datatype(count_t count, const void* values, MPI_Datatype datatype) {
        const std::vector<rank_t> destinations{next};
        static_cast<void>(
            sparse_exchange(here, constant_datatype_messages{destinations, count, values, datatype},
                            by_algorithm()));
    }

    void send_good() { send_one_size({next, rank}, 1, {1, 2}, by_algorithm()); }
    void send_good_of_any_size() { send_any_size({next}, {2}, {}, {1, 2}); }

    void expect_still_works() {
        const auto messages = make_messages(skewed_destinations(num_ranks, 4),
                                            [](rank_t, std::int64_t) { return count_t{2}; });
        const auto sends = sends_of(rank, messages);
        expect_equal(sparse_exchange(here, sends.constant(2), by_algorithm()),
                     expected_at(rank, messages));
    }

    // One rank calls `bad`, the others `good`; all must hear of it, in the error or in its text.
    void expect_heard_by_all(errc code, const std::string& text, const std::function<void()>& bad,
                             const std::function<void()>& good) {
        for (const rank_t faulty : {0, num_ranks / 2, last_rank}) {
            SCOPED_TRACE(faulty);
            const error heard = thrown_by([&] { rank == faulty ? bad() : good(); });
            EXPECT_EQ(heard.code(), code);
            EXPECT_EQ(heard.rank(), faulty);
            EXPECT_NE(std::string_view(heard.what()).find(text), std::string::npos) << heard.what();
            expect_still_works();
        }
    }

    // As above, of shapes: rank 0's is the right one, so that only others may differ from it.
    void expect_difference(const std::string& theirs, const std::function<void()>& bad) {
        if (num_ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
        const error heard = thrown_by([&] { is_last ? bad() : send_good(); });
        EXPECT_EQ(heard.code(), errc::count_mismatch);
        EXPECT_EQ(heard.rank(), last_rank);
        EXPECT_NE(std::string_view(heard.what()).find(" sends " + theirs + " per message"),
                  std::string::npos)
            << heard.what();
        expect_still_works();
    }

    const topology regions = conformance_topologies(num_ranks).back();
    const context here{comm, regions};
};

INSTANTIATE_TEST_SUITE_P(Algorithms, ExchangeFaults, testing::ValuesIn(exchange_algorithms()),
                         [](const auto& tested) { return test_name(tested.param); });

TEST_P(ExchangeFaults, TellAllOfADestinationThatIsNoRank) {
    for (const rank_t destination : {-1, num_ranks}) {
        expect_heard_by_all(
            errc::rank_out_of_range, fmt::format("destination {} of rank", destination),
            [&] {
                send_one_size({next, destination}, 1, {1, 2}, by_algorithm());
            },
            [&] { send_good(); });
    }
}

TEST_P(ExchangeFaults, TellAllOfCountsAndValuesThatDoNotFit) {
    const auto good = [&] { send_good(); };
    expect_heard_by_all(
        errc::invalid_argument, "there are -1 values per message",
        [&] { send_one_size({next}, -1, {1}, by_algorithm()); }, good);
    expect_heard_by_all(
        errc::size_mismatch, " has values [1, 2), but there are 1",
        [&] {
            send_one_size({next, rank}, 1, {1}, by_algorithm());
        },
        good);
}

TEST_P(ExchangeFaults, TellAllOfArraysThatDoNotFit) {
    if (!takes_any_size()) GTEST_SKIP() << "takes no counts";
    const auto expect_heard = [&](errc code, const char* text, std::vector<rank_t> destinations,
                                  std::vector<count_t> counts, std::vector<count_t> displacements,
                                  std::vector<std::int64_t> values) {
        expect_heard_by_all(
            code, text, [&] { send_any_size(destinations, counts, displacements, values); },
            [&] { send_good_of_any_size(); });
    };
    const auto invalid = errc::invalid_argument, mismatch = errc::size_mismatch;
    expect_heard(invalid, " has count -2 and displacement 1", {next, next}, {1, -2}, {}, {1});
    expect_heard(invalid, " has count 1 and displacement -3", {next}, {1}, {-3}, {1});
    expect_heard(mismatch, " has values [2, 4), but there are 3", {next}, {2}, {2}, {1, 2, 3});
    expect_heard(mismatch, "the lengths of counts and destinations are 2 and 1", {next}, {1, 1}, {},
                 {1, 2});
    expect_heard(mismatch, "the lengths of displacements and destinations are 1 and 2",
                 {next, next}, {1, 1}, {0}, {1, 2});
}

TEST_P(ExchangeFaults, TellAllOfABadDatatypeOrNullData) {
    const std::int64_t values[2] = {1, 2};
    MPI_Datatype empty = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    MPI_Datatype sparse = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&sparse);
    const auto expect_heard = [&](const char* text, const void* data, MPI_Datatype datatype) {
        const auto good = datatype == sparse ? sparse : MPI_INT64_T;
        expect_heard_by_all(
            errc::invalid_argument, text, [&] { send_datatype(1, data, datatype); },
            [&] { send_datatype(1, values, good); });
    };

    expect_heard("datatype is MPI_DATATYPE_NULL", values, MPI_DATATYPE_NULL);
    expect_heard("the datatype has 0 bytes", values, empty);
    expect_heard(" has 8 bytes, but its data is a null pointer", nullptr, MPI_INT64_T);
    expect_heard("values is a null pointer", nullptr, sparse);
    MPI_Type_free(&empty);
    MPI_Type_free(&sparse);
}

TEST_P(ExchangeFaults, TellAllOfBadBytes) {
    const std::byte data[8] = {};
    const auto send = [&](count_t bytes, std::optional<error> fault) {
        exchange_bytes(here, {{{next, bytes, data}}, {1, 8}, fault}, by_algorithm());
    };
    const auto good = [&] { send(8, std::nullopt); };
    expect_heard_by_all(
        errc::invalid_argument, " has -4 bytes", [&] { send(-4, std::nullopt); }, good);
    expect_heard_by_all(
        errc::file_error, "no such matrix",
        [&] { send(8, error(errc::file_error, "no such matrix")); }, good);
}

TEST_P(ExchangeFaults, TellAllOfTheLowestRankThatHasOne) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank has one fault";
    const rank_t first = num_ranks - 2;
    expect_thrown(errc::rank_out_of_range, first, [&] {
        if (rank < first) return send_good();
        send_one_size({-1 - rank}, 1, {1}, by_algorithm());
    });
    expect_still_works();
}

TEST_P(ExchangeFaults, TellAllOfACountOrAnItemSizeThatDiffers) {
    expect_difference("2 values of 8 bytes", [&] {
        send_one_size({next}, 2, {1, 2}, by_algorithm());
    });
    expect_difference("1 values of 4 bytes",
                      [&] { send_one_size<std::int32_t>({next}, 1, {1}, by_algorithm()); });
}

TEST_P(ExchangeFaults, TellAllThatOneRankSendsAnyNumberOfValues) {
    const auto any_number = [&] { send_good_of_any_size(); };
    if (takes_any_size()) return expect_difference("any number of values of 8 bytes", any_number);
    expect_heard_by_all(errc::invalid_argument, " exchanges messages of one size only", any_number,
                        [&] { send_good(); });
}

TEST_P(ExchangeFaults, TellAllOfNumbersOfSourcesThatCannotBe) {
    const auto expecting = [&](rank_t destination, count_t num_sources) {
        auto options = by_algorithm();
        options.num_sources = num_sources;
        send_one_size({destination}, 1, {1}, options);
    };
    expect_heard_by_all(
        errc::invalid_argument, " expects -1 messages", [&] { expecting(next, -1); },
        [&] { expecting(next, 1); });
    // Fewer than the rank itself.
    expect_heard_by_all(
        errc::count_mismatch, "the known numbers of sources do not add up",
        [&] { expecting(rank, 0); }, [&] { expecting(rank, 1); });
}

TEST_P(ExchangeFaults, TellAllOfNumbersOfSourcesThatDoNotAddUp) {
    if (GetParam() != "personalized" && GetParam() != "reduce_scatter")
        GTEST_SKIP() << "does not look at the number of sources";
    for (const count_t wrong : {0, 2}) {
        auto options = by_algorithm();
        options.num_sources = rank == num_ranks / 2 ? wrong : 1;
        expect_thrown(errc::count_mismatch, [&] { send_one_size({next}, 1, {1}, options); });
        expect_still_works();
    }
}

TEST_P(ExchangeFaults, TellAllOfMessagesLongerThanAnyMemory) {
    constexpr count_t too_many = (count_t{1} << 61) - 2;
    expect_heard_by_all(
        errc::invalid_argument, fmt::format(" sends {} values of 8 bytes per message", too_many),
        [&] { send_one_size<std::int64_t>({}, too_many, {}, by_algorithm()); },
        [&] { send_good(); });
}

TEST_P(ExchangeFaults, TellAllOfACountThatDiffersByAPowerOfTwo) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
    const count_t count = rank == 1 ? count_t{1} << 32 : 0;

    expect_thrown(errc::count_mismatch, 1,
                  [&] { send_one_size<int>({}, count, {}, by_algorithm()); });
    expect_still_works();
}

TEST_P(ExchangeFaults, RefuseATopologyOfAnotherSize) {
    const context larger(comm, topology::one_region(num_ranks + 1));
    expect_thrown(errc::size_mismatch, [&] {
        return sparse_exchange(larger, {next}, {1}, std::vector<int>{1}, by_algorithm());
    });
    expect_still_works();
}

TEST_P(ExchangeFaults, RefuseALimitThatIsNoLength) {
    for (const count_t limit : {count_t{-1}, count_t{1} << 31}) {
        auto options = by_algorithm();
        options.max_message_bytes = limit;
        expect_thrown(errc::invalid_argument, [&] { send_one_size({next}, 1, {1}, options); });
    }
    expect_still_works();
}

class ExchangeNames : public AllRanks {
  protected:
    error refusal_of(const std::string& algorithm) {
        return thrown_by([&] {
            static_cast<void>(
                sparse_exchange(where, variable_messages<int>{}, {.algorithm = algorithm}));
        });
    }
};

TEST_F(ExchangeNames, AreRefusedIfUnknown) {
    EXPECT_EQ(refusal_of("telepathy").code(), errc::invalid_argument);
    EXPECT_EQ(refusal_of("routed:telepathy").code(), errc::unknown_route);
    EXPECT_EQ(refusal_of("routed:grid:0x0").code(), errc::invalid_route);
    EXPECT_EQ(refusal_of("").code(), errc::invalid_argument);
}

}  // namespace
}  // namespace crossdock::exchange_faults_test
