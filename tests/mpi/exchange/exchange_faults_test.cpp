// What is wrong on one rank must be told to all, by every algorithm, and must leave no trace.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "exchange/sends.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::exchange_faults_test {
namespace {

using test::thrown_by;

class ExchangeFaults : public testing::TestWithParam<std::string> {
  protected:
    void TearDown() override { comm.close(); }

    bool takes_any_size() const {
        return GetParam() == "auto" ||
               !takes_one_size_only(parse_exchange_algorithm(GetParam()).method);
    }
    rank_t next() const { return (comm.rank() + 1) % comm.num_ranks(); }
    exchange_options by_algorithm() const { return {.algorithm = GetParam()}; }

    template <class T = std::int64_t>
    void send_one_size(std::vector<rank_t> destinations, count_t count, std::vector<T> values,
                       const exchange_options& options) {
        static_cast<void>(sparse_exchange(
            context(comm, regions), constant_messages<T>{destinations, count, values}, options));
    }

    void send_any_size(std::vector<rank_t> destinations, std::vector<count_t> counts,
                       std::vector<count_t> displacements, std::vector<std::int64_t> values) {
        static_cast<void>(sparse_exchange(
            context(comm, regions),
            variable_messages<std::int64_t>{destinations, counts, displacements, values},
            by_algorithm()));
    }

    void send_datatype(count_t count, const void* values, MPI_Datatype datatype) {
        const std::vector<rank_t> destinations{next()};
        static_cast<void>(sparse_exchange(
            context(comm, regions),
            constant_datatype_messages{destinations, count, values, datatype}, by_algorithm()));
    }

    void send_good() { send_one_size({next(), comm.rank()}, 1, {1, 2}, by_algorithm()); }
    void send_good_of_any_size() { send_any_size({next()}, {2}, {}, {1, 2}); }

    void expect_still_works() {
        const auto messages = test::make_messages(test::skewed_destinations(comm.num_ranks(), 4),
                                                  [](rank_t, std::int64_t) { return count_t{2}; });
        const auto sends = test::sends_of(comm.rank(), messages);
        test::expect_equal(
            sparse_exchange(context(comm, regions), sends.constant(2), by_algorithm()),
            test::expected_at(comm.rank(), messages));
    }

    // `bad` is called by one rank, `good` by the others; `text(rank)` is what all must hear first of it.
    void expect_heard_by_all(errc code, const std::function<std::string(rank_t)>& text,
                             const std::function<void()>& bad, const std::function<void()>& good) {
        for (const rank_t faulty : {0, comm.num_ranks() / 2, comm.num_ranks() - 1}) {
            SCOPED_TRACE(faulty);
            const error heard = thrown_by([&] { comm.rank() == faulty ? bad() : good(); });
            EXPECT_EQ(heard.code(), code);
            EXPECT_EQ(heard.rank(), faulty);
            EXPECT_TRUE(std::string_view(heard.what()).starts_with(text(faulty))) << heard.what();
            expect_still_works();
        }
    }

    // As above, where the text of a fault that knows no rank gets the faulty one's in front.
    void expect_heard_by_all(errc code, const std::string& text, const std::function<void()>& bad,
                             const std::function<void()>& good) {
        expect_heard_by_all(
            code, [&](rank_t faulty) { return fmt::format("rank {}: {}", faulty, text); }, bad,
            good);
    }

    // As above, of shapes: rank 0's is the right one, so that only others may differ from it.
    void expect_difference(const std::string& theirs, const std::function<void()>& bad) {
        if (comm.num_ranks() == 1) GTEST_SKIP() << "one rank agrees with itself";
        const rank_t faulty = comm.num_ranks() - 1;
        const error heard = thrown_by([&] { comm.rank() == faulty ? bad() : send_good(); });
        EXPECT_EQ(heard.code(), errc::count_mismatch);
        EXPECT_EQ(heard.rank(), faulty);
        EXPECT_EQ(heard.what(), fmt::format("rank {} sends {} per message, rank 0 1 values of 8 "
                                            "bytes per message; give all ranks the same",
                                            faulty, theirs));
        expect_still_works();
    }

    rank_t after(rank_t rank) const { return (rank + 1) % comm.num_ranks(); }

    communicator comm{MPI_COMM_WORLD};
    topology regions = test::conformance_topologies(comm.num_ranks()).back();
};

INSTANTIATE_TEST_SUITE_P(Algorithms, ExchangeFaults, testing::ValuesIn(test::exchange_algorithms()),
                         [](const auto& tested) { return test::test_name(tested.param); });

TEST_P(ExchangeFaults, TellAllOfADestinationThatIsNoRank) {
    const rank_t num_ranks = comm.num_ranks();
    for (const rank_t destination : {-1, num_ranks}) {
        expect_heard_by_all(
            errc::rank_out_of_range,
            [&](rank_t faulty) {
                return fmt::format("destination {} of rank {} is outside [0, {})", destination,
                                   faulty, num_ranks);
            },
            [&] {
                send_one_size({next(), destination}, 1, {1, 2}, by_algorithm());
            },
            [&] { send_good(); });
    }
}

TEST_P(ExchangeFaults, TellAllOfANegativeCount) {
    expect_heard_by_all(
        errc::invalid_argument, "there are -1 values per message",
        [&] { send_one_size({next()}, -1, {1}, by_algorithm()); }, [&] { send_good(); });
    if (!takes_any_size()) return;
    expect_heard_by_all(
        errc::invalid_argument,
        [&](rank_t faulty) {
            return fmt::format("rank {}: message 1 to rank {} has count -2 and displacement 1",
                               faulty, after(faulty));
        },
        [&] {
            send_any_size({next(), next()}, {1, -2}, {}, {1});
        },
        [&] { send_good_of_any_size(); });
    expect_heard_by_all(
        errc::invalid_argument,
        [&](rank_t faulty) {
            return fmt::format("rank {}: message 0 to rank {} has count 1 and displacement -3",
                               faulty, after(faulty));
        },
        [&] { send_any_size({next()}, {1}, {-3}, {1}); }, [&] { send_good_of_any_size(); });
}

TEST_P(ExchangeFaults, TellAllOfTooFewValues) {
    expect_heard_by_all(
        errc::size_mismatch,
        [&](rank_t faulty) {
            return fmt::format(
                "rank {0}: the message to rank {0} has values [1, 2), but there are 1", faulty);
        },
        [&] {
            send_one_size({next(), comm.rank()}, 1, {1}, by_algorithm());
        },
        [&] { send_good(); });
    if (!takes_any_size()) return;
    expect_heard_by_all(
        errc::size_mismatch,
        [&](rank_t faulty) {
            return fmt::format("rank {}: the message to rank {} has values [2, 4), but there are 3",
                               faulty, after(faulty));
        },
        [&] {
            send_any_size({next()}, {2}, {2}, {1, 2, 3});
        },
        [&] { send_good_of_any_size(); });
}

TEST_P(ExchangeFaults, TellAllOfArraysThatDisagreeInLength) {
    if (!takes_any_size()) GTEST_SKIP() << "takes no counts";
    expect_heard_by_all(
        errc::size_mismatch, "the lengths of counts and destinations are 2 and 1",
        [&] {
            send_any_size({next()}, {1, 1}, {}, {1, 2});
        },
        [&] { send_good_of_any_size(); });
    expect_heard_by_all(
        errc::size_mismatch, "the lengths of displacements and destinations are 1 and 2",
        [&] {
            send_any_size({next(), next()}, {1, 1}, {0}, {1, 2});
        },
        [&] { send_good_of_any_size(); });
}

TEST_P(ExchangeFaults, TellAllOfABadDatatype) {
    const std::int64_t value = 1;
    MPI_Datatype empty = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    const auto good = [&] { send_datatype(1, &value, MPI_INT64_T); };

    expect_heard_by_all(
        errc::invalid_argument, "datatype is MPI_DATATYPE_NULL; give the type of the values",
        [&] { send_datatype(1, &value, MPI_DATATYPE_NULL); }, good);
    expect_heard_by_all(
        errc::invalid_argument, "the datatype has 0 bytes; the least is 1",
        [&] { send_datatype(1, &value, empty); }, good);
    MPI_Type_free(&empty);
}

TEST_P(ExchangeFaults, TellAllOfNullDataWithACount) {
    MPI_Datatype sparse = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&sparse);
    const std::int64_t values[2] = {1, 2};

    expect_heard_by_all(
        errc::invalid_argument,
        [&](rank_t faulty) {
            return fmt::format(
                "the message of rank {} to rank {} has 8 bytes, but its data is a "
                "null pointer",
                faulty, after(faulty));
        },
        [&] { send_datatype(1, nullptr, MPI_INT64_T); },
        [&] { send_datatype(1, values, MPI_INT64_T); });
    expect_heard_by_all(
        errc::invalid_argument, "values is a null pointer",
        [&] { send_datatype(1, nullptr, sparse); }, [&] { send_datatype(1, values, sparse); });
    MPI_Type_free(&sparse);
}

TEST_P(ExchangeFaults, TellAllOfBadBytes) {
    const std::byte data[8] = {};
    const auto send = [&](count_t bytes, std::optional<error> fault) {
        exchange_bytes({comm, regions}, {{{next(), bytes, data}}, {1, 8}, fault}, by_algorithm());
    };
    expect_heard_by_all(
        errc::invalid_argument,
        [&](rank_t faulty) {
            return fmt::format("the message of rank {} to rank {} has -4 bytes", faulty,
                               after(faulty));
        },
        [&] { send(-4, std::nullopt); }, [&] { send(8, std::nullopt); });
    expect_heard_by_all(
        errc::file_error, "no such matrix",
        [&] { send(8, error(errc::file_error, "no such matrix")); },
        [&] { send(8, std::nullopt); });
}

TEST_P(ExchangeFaults, TellAllOfTheLowestRankThatHasOne) {
    if (comm.num_ranks() == 1) GTEST_SKIP() << "one rank has one fault";
    const rank_t first = comm.num_ranks() - 2;
    const error heard = thrown_by([&] {
        if (comm.rank() < first) return send_good();
        send_one_size({-1 - comm.rank()}, 1, {1}, by_algorithm());
    });
    EXPECT_EQ(heard.code(), errc::rank_out_of_range);
    EXPECT_EQ(heard.rank(), first);
    EXPECT_EQ(heard.what(), fmt::format("destination {} of rank {} is outside [0, {})", -1 - first,
                                        first, comm.num_ranks()));
    expect_still_works();
}

TEST_P(ExchangeFaults, TellAllOfACountThatDiffers) {
    expect_difference("2 values of 8 bytes", [&] {
        send_one_size({next()}, 2, {1, 2}, by_algorithm());
    });
}

TEST_P(ExchangeFaults, TellAllOfAnItemSizeThatDiffers) {
    expect_difference("1 values of 4 bytes",
                      [&] { send_one_size<std::int32_t>({next()}, 1, {1}, by_algorithm()); });
}

TEST_P(ExchangeFaults, TellAllThatOneRankSendsAnyNumberOfValues) {
    if (!takes_any_size()) {
        expect_heard_by_all(
            errc::invalid_argument,
            [](rank_t) {
                return "the algorithm " + GetParam() + " exchanges messages of one size only";
            },
            [&] { send_good_of_any_size(); }, [&] { send_good(); });
        return;
    }
    expect_difference("any number of values of 8 bytes", [&] { send_good_of_any_size(); });
}

TEST_P(ExchangeFaults, TellAllOfANegativeNumberOfSources) {
    const auto expecting = [&](count_t num_sources) {
        auto options = by_algorithm();
        options.num_sources = num_sources;
        send_one_size({next()}, 1, {1}, options);
    };
    expect_heard_by_all(
        errc::invalid_argument,
        [](rank_t faulty) { return fmt::format("rank {} expects -1 messages", faulty); },
        [&] { expecting(-1); }, [&] { expecting(1); });
}

TEST_P(ExchangeFaults, TellAllOfNumbersOfSourcesThatDoNotAddUp) {
    if (GetParam() != "personalized" && GetParam() != "reduce_scatter")
        GTEST_SKIP() << "does not look at the number of sources";
    for (const count_t wrong : {0, 2}) {
        auto options = by_algorithm();
        options.num_sources = comm.rank() == comm.num_ranks() / 2 ? wrong : 1;
        const error heard = thrown_by([&] { send_one_size({next()}, 1, {1}, options); });
        EXPECT_EQ(heard.code(), errc::count_mismatch);
        EXPECT_STREQ(heard.what(),
                     "the known numbers of sources do not add up to the messages that are sent");
        expect_still_works();
    }
}

TEST_P(ExchangeFaults, TellAllOfFewerSourcesThanTheRankItself) {
    const auto expecting = [&](count_t num_sources) {
        auto options = by_algorithm();
        options.num_sources = num_sources;
        send_one_size({comm.rank()}, 1, {1}, options);
    };
    expect_heard_by_all(
        errc::count_mismatch,
        [](rank_t) {
            return "the known numbers of sources do not add up to the messages that are sent";
        },
        [&] { expecting(0); }, [&] { expecting(1); });
}

TEST_P(ExchangeFaults, TellAllOfMessagesLongerThanAnyMemory) {
    constexpr count_t too_many = (count_t{1} << 61) - 2;
    expect_heard_by_all(
        errc::invalid_argument,
        [&](rank_t faulty) {
            return fmt::format("rank {} sends {} values of 8 bytes per message", faulty, too_many);
        },
        [&] { send_one_size<std::int64_t>({}, too_many, {}, by_algorithm()); },
        [&] { send_good(); });
}

TEST_P(ExchangeFaults, TellAllOfACountThatDiffersByAPowerOfTwo) {
    if (comm.num_ranks() == 1) GTEST_SKIP() << "one rank agrees with itself";
    const count_t count = comm.rank() == 1 ? count_t{1} << 32 : 0;

    const error heard = thrown_by([&] { send_one_size<int>({}, count, {}, by_algorithm()); });

    EXPECT_EQ(heard.code(), errc::count_mismatch);
    EXPECT_STREQ(
        heard.what(),
        "rank 1 sends 4294967296 values of 4 bytes per message, rank 0 0 values of 4 bytes "
        "per message; give all ranks the same");
    expect_still_works();
}

TEST_P(ExchangeFaults, RefuseATopologyOfAnotherSize) {
    const std::vector<rank_t> destinations{next()};
    const std::vector<int> values{1};
    const auto larger = topology::one_region(comm.num_ranks() + 1);
    const error heard = thrown_by([&] {
        static_cast<void>(sparse_exchange(context(comm, larger),
                                          constant_messages<int>{destinations, 1, values},
                                          by_algorithm()));
    });
    EXPECT_EQ(heard.code(), errc::size_mismatch);
    EXPECT_EQ(
        heard.what(),
        fmt::format(
            "the topology \"{}\" has {} ranks, but the communicator {}; give one of all its ranks",
            larger.to_string(), comm.num_ranks() + 1, comm.num_ranks()));
    expect_still_works();
}

TEST_P(ExchangeFaults, RefuseALimitThatIsNoLength) {
    for (const count_t limit : {count_t{-1}, count_t{1} << 31}) {
        auto options = by_algorithm();
        options.max_message_bytes = limit;
        const error heard = thrown_by([&] { send_one_size({next()}, 1, {1}, options); });
        EXPECT_EQ(heard.code(), errc::invalid_argument);
        EXPECT_EQ(heard.what(),
                  fmt::format("max_message_bytes is {}, outside [1, 2147483647]", limit));
    }
    expect_still_works();
}

class ExchangeNames : public testing::Test {
  protected:
    void TearDown() override { comm.close(); }

    error refusal_of(const std::string& algorithm) {
        return thrown_by([&] {
            static_cast<void>(sparse_exchange(context(comm, topology::one_region(comm.num_ranks())),
                                              variable_messages<int>{}, {.algorithm = algorithm}));
        });
    }

    communicator comm{MPI_COMM_WORLD};
};

TEST_F(ExchangeNames, AreRefusedIfUnknown) {
    const error heard = refusal_of("telepathy");
    EXPECT_EQ(heard.code(), errc::invalid_argument);
    EXPECT_EQ(std::string(heard.what()).rfind("no exchange algorithm is called \"telepathy\"", 0),
              0u);
    EXPECT_EQ(refusal_of("routed:telepathy").code(), errc::unknown_route);
    EXPECT_EQ(refusal_of("routed:grid:0x0").code(), errc::invalid_route);
    EXPECT_EQ(refusal_of("").code(), errc::invalid_argument);
}

TEST_F(ExchangeNames, OfOneSizeAreRefusedForMessagesOfAnySize) {
    for (const std::string name : {"rma", "rma_fence"}) {
        const error heard = refusal_of(name);
        EXPECT_EQ(heard.code(), errc::invalid_argument);
        EXPECT_EQ(heard.what(), "the algorithm " + name + " exchanges messages of one size only");
    }
}

}  // namespace
}  // namespace crossdock::exchange_faults_test
