// Stands between the library and MPI, hence a program of its own: what an exchange says it sent is
// compared with the calls it made.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "crossdock/exchange_algorithm.hpp"
#include "exchange/sends.hpp"
#include "src/exchange/mailbox_mpi.hpp"
#include "src/model/machine_mpi.hpp"
#include "src/topology/nodes_mpi.hpp"
#include "support/all_ranks.hpp"
#include "support/topologies.hpp"
#include "support/watched_calls.hpp"

namespace crossdock::exchange_calls_test {
namespace {

// What one rank did since `watch()`.
struct watched_calls {
    MPI_Comm comm = MPI_COMM_NULL;  // the library's own
    const topology* regions = nullptr;
    exchange_traffic traffic;
    int longest_reduction = 0;  // in words
    count_t num_sent_before_it = 0;
    int num_elsewhere = 0;  // calls on other communicators
    bool draws_tickets = false;
};
watched_calls calls;

void note_traffic(int destination, int num_messages, int bytes) {
    if (calls.regions == nullptr) return;
    int rank = 0;
    MPI_Comm_rank(calls.comm, &rank);
    calls.traffic.messages += num_messages;
    calls.traffic.message_bytes += bytes;
    if (calls.regions->region_of(rank) == calls.regions->region_of(destination)) return;
    calls.traffic.inter_region_messages += num_messages;
    calls.traffic.inter_region_message_bytes += bytes;
}

void note(const test::mpi_call& call) {
    if (call.comm != calls.comm && call.comm != MPI_COMM_NULL) ++calls.num_elsewhere;
    if (call.is_one_of({"Isend", "Issend"})) note_traffic(call.destination, 1, call.bytes());
    // A ticket is drawn for every message that is put, or it is put at once.
    if (call.name == "Fetch_and_op") {
        calls.draws_tickets = true;
        note_traffic(call.destination, 1, 0);
    }
    if (call.name == "Put")
        note_traffic(call.destination, calls.draws_tickets ? 0 : 1, call.bytes());
    int words = call.is_one_of({"Allreduce", "Iallreduce"}) ? call.count : 0;
    if (call.is_one_of({"Reduce_scatter_block", "Ireduce_scatter_block"})) {
        MPI_Comm_size(call.comm, &words);
        words *= call.count;
    }
    if (words <= calls.longest_reduction) return;
    calls.longest_reduction = words;
    calls.num_sent_before_it = calls.traffic.messages;
}

constexpr int vote_words = 6;
constexpr count_t value_bytes = 8;

class ExchangeCalls : public test::AllRanks, public testing::WithParamInterface<std::string> {
  protected:
    void SetUp() override {
        // Are found out with other communicators, once.
        machine_of(comm);
        nodes_of(comm);
        const auto algorithm = resolve_exchange_algorithm(where, GetParam(), true);
        if (algorithm.method == exchange_method::shared_memory)
            exchange_bytes(where, {}, {.algorithm = GetParam()});
        calls = {};
        calls.comm = comm.get();
        test::on_mpi_call = note;
    }
    void TearDown() override {
        EXPECT_EQ(calls.num_elsewhere, 0);
        test::on_mpi_call = [](const test::mpi_call&) {};
        AllRanks::TearDown();
    }

    // Exchanges a value per destination, and notes what is called meanwhile.
    exchange_traffic run(const topology& regions, const test::all_destinations& destinations,
                         exchange_options options) {
        const auto sends =
            test::sends_of(rank, test::make_messages(destinations, [](auto, auto) { return 1; }));
        exchange_traffic sent;
        options.algorithm = GetParam();
        options.sent = &sent;
        calls.traffic = {};
        calls.longest_reduction = 0;
        calls.regions = &regions;
        static_cast<void>(sparse_exchange(context(comm, regions), sends.constant(1), options));
        calls.regions = nullptr;
        return sent;
    }

    // Calls `use(regions, destinations)` for every topology and some shapes of an exchange.
    template <class Use>
    void for_each_case(Use&& use) {
        const std::set<std::string> shapes{"nothing", "repeated", "all_to_one", "skewed_1"};
        for (const auto& regions : test::conformance_topologies(num_ranks)) {
            for (const auto& [name, destinations] : test::conformance_destinations(num_ranks)) {
                if (!shapes.contains(name)) continue;
                SCOPED_TRACE(name + " on " + regions.to_string());
                use(regions, destinations);
            }
        }
    }

    count_t num_sources(const test::all_destinations& destinations) const {
        count_t sum = 0;
        for (const auto& list : destinations) sum += std::count(list.begin(), list.end(), rank);
        return sum;
    }
};

INSTANTIATE_TEST_SUITE_P(Algorithms, ExchangeCalls, testing::ValuesIn(test::exchange_algorithms()),
                         [](const auto& tested) { return test::test_name(tested.param); });

TEST_P(ExchangeCalls, AreAsManyAsAnExchangeSaysItSent) {
    for_each_case([&](const topology& regions, const test::all_destinations& destinations) {
        for (const count_t max_forwarded_bytes : {count_t{0}, value_bytes}) {
            const auto sent =
                run(regions, destinations, {.max_forwarded_bytes = max_forwarded_bytes});
            EXPECT_EQ(sent, calls.traffic);
        }
    });
}

// With nothing known, and with the number of sources known.
struct reduced_words {
    int usually;
    int with_known_sources;
};

reduced_words expected_reductions(const std::string& algorithm, rank_t num_ranks) {
    if (algorithm == "auto" || algorithm == "shared_memory" || algorithm.starts_with("routed:"))
        return {0, 0};
    if (algorithm == "personalized") return {num_ranks + vote_words, vote_words};
    if (algorithm == "reduce_scatter") return {num_ranks * vote_words, vote_words};
    if (algorithm == "locality_personalized")
        return {num_ranks + vote_words, num_ranks + vote_words};
    return {vote_words, vote_words};
}

TEST_P(ExchangeCalls, ReduceOnlyAsManyWordsAsTheAlgorithmNeeds) {
    const auto [usually, with_known_sources] = expected_reductions(GetParam(), num_ranks);
    for_each_case([&](const topology& regions, const test::all_destinations& destinations) {
        run(regions, destinations, {});
        EXPECT_EQ(calls.longest_reduction, usually);

        run(regions, destinations, {.num_sources = num_sources(destinations)});
        EXPECT_EQ(calls.longest_reduction, with_known_sources);
    });
}

TEST_P(ExchangeCalls, SendBeforeTheReduction) {
    const std::set<std::string> reducing{"personalized", "nonblocking", "reduce_scatter",
                                         "locality_personalized", "locality_nonblocking"};
    if (!reducing.contains(GetParam())) GTEST_SKIP() << "reduces nothing, or when all is put";
    for_each_case([&](const topology& regions, const test::all_destinations& destinations) {
        for (const bool is_known : {false, true}) {
            exchange_options options;
            if (is_known) options.num_sources = num_sources(destinations);
            const auto sent = run(regions, destinations, options);
            // By region, what crosses; the rest is sent inside, when it is known.
            const bool is_by_region = GetParam().starts_with("locality_");
            EXPECT_EQ(calls.num_sent_before_it,
                      is_by_region ? sent.inter_region_messages : sent.messages);
        }
    });
}

class CutMessages : public test::AllRanks {};

// MPI walks over all that waits at a receiver for each probe of another tag: the parts of a message must not pile up.
TEST_F(CutMessages, LeaveAFewPartsAtATimeUntilTheReceiverTakesThem) {
    if (num_ranks == 1) GTEST_SKIP() << "nobody to send to";
    constexpr count_t bytes = 1000;
    const auto tags = comm.reserve_tags(1);
    const int tag = tags.first();
    byte_inbox arrivals;
    mailbox mail(comm, one_region, 1, arrivals);
    std::vector<std::byte> message(bytes);
    for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i);
    if (rank == 0) {
        calls = {};
        calls.comm = comm.get();
        calls.regions = &one_region;
        test::on_mpi_call = note;
        mail.send(byte_message{1, bytes, message.data()}, tag);
        for (int i = 0; i < 100; ++i) EXPECT_FALSE(mail.are_sent());
        EXPECT_EQ(calls.traffic.messages, 65);  // 64 parts, and the word behind the first
        test::on_mpi_call = [](const test::mpi_call&) {};
    }
    MPI_Barrier(comm.get());
    if (rank == 1) {
        const auto came = mail.wait_for_message(tag);
        EXPECT_EQ(std::vector<std::byte>(came.data, came.data + came.bytes), message);
    }
    mail.wait_until([&] { return mail.are_sent(); });
    MPI_Barrier(comm.get());
}

class ExchangeNodes : public test::AllRanks {
  protected:
    // What all ranks send each other in enough exchanges that "auto" would make memory.
    exchange_traffic traffic_of(const context& at, const std::string& algorithm) {
        const auto sends =
            test::sends_of(rank, test::make_messages(ring(), [](auto, auto) { return 1; }));
        exchange_traffic sent;
        for (int i = 0; i < 20; ++i) {
            static_cast<void>(
                sparse_exchange(at, sends.constant(1), {.algorithm = algorithm, .sent = &sent}));
        }
        return sent;
    }

    test::all_destinations ring() const {
        return test::make_destinations(
            num_ranks, [&](rank_t from) { return std::vector<rank_t>{(from + 1) % num_ranks}; });
    }

    const context alone = where.with_nodes(each_alone);
};

TEST_F(ExchangeNodes, OfOneRankShareNoMemory) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank sends nothing";
    for (const std::string algorithm : {"shared_memory", "auto"}) {
        SCOPED_TRACE(algorithm);
        // Two contexts of one communicator in turn: neither gets what the other shares.
        EXPECT_EQ(traffic_of(where, algorithm).messages, 0);
        EXPECT_GT(traffic_of(alone, algorithm).messages, 0);
        EXPECT_EQ(traffic_of(where, algorithm).messages, 0);
    }
    EXPECT_EQ(traffic_of(alone, "shared_memory").messages, num_ranks - 1);
    EXPECT_NE(resolve_exchange_algorithm(alone, "auto", true).method,
              exchange_method::shared_memory);
    EXPECT_EQ(resolve_exchange_algorithm(where, "auto", true).method,
              exchange_method::shared_memory);
}

}  // namespace
}  // namespace crossdock::exchange_calls_test
